"""Load numbers of a trained language model, few enough to be part of the course.

They were computed by `python -m benchmarks.trained` from SmolLM2-135M-Instruct by Hugging Face
(Apache License 2.0), the model of lesson 09.
"""

from __future__ import annotations

import functools
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

__all__ = ["FILE", "Trained", "trained"]

FILE = Path(__file__).parent / "lessons" / "trained.npz"


class Trained(NamedTuple):
    """Four heads of a trained model on a sentence, and one layer's scores on a text.

    The sentence has L words and each head d = 64 components. Everything is float32, and read-only.
    """

    words: tuple[str, ...]  # the sentence's L words
    heads: dict[str, tuple[int, int]]  # the role of each of the four heads: its (layer, head)
    plain_query: NDArray  # (4, L, d), before rotation
    plain_key: NDArray  # (4, L, d)
    query: NDArray  # (4, L, d), rotated
    key: NDArray  # (4, L, d), rotated
    value: NDArray  # (4, L, d)
    text: tuple[str, ...]  # the text's N words
    layer: int  # the layer of the scores
    scores: NDArray  # (9, N, N), one table a head, scaled by 1/√d; NaN above the diagonal


@functools.cache
def trained() -> Trained:
    """Return the numbers of a trained model.

    Examples
    --------
    >>> from attention_lib import trained
    >>> " ".join(trained().words)
    'please study man , please study man'
    >>> list(trained().heads)
    ['the word before', 'induction', 'the first word', 'all words']
    """
    with np.load(FILE) as stored:
        arrays = dict(stored)
    below = np.tril_indices(len(arrays["text"]))
    scores = np.full((9, len(arrays["text"]), len(arrays["text"])), np.nan, np.float32)
    scores[:, *below] = arrays.pop("scores")
    places = (tuple(map(int, place)) for place in arrays.pop("places"))
    heads = dict(zip(map(str, arrays.pop("heads")), places, strict=True))
    texts = {name: tuple(map(str, arrays.pop(name))) for name in ("words", "text")}
    for array in (scores, *arrays.values()):
        array.flags.writeable = False
    return Trained(**texts, heads=heads, layer=int(arrays.pop("layer")), scores=scores, **arrays)
