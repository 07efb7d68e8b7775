"""`scaled_scores(query, key, scale=None)` returns the dot products of queries and keys, scaled.

`(..., L, d_k)` and `(..., S, d_k)` → `(..., L, S)`, times `scale`, which may be 0 or negative, and times 1/√d_k
when `scale` is None.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from attention_lib.checks.calls.case import Case
from attention_lib.checks.exercise import Exercise, known_mistakes
from attention_lib.exercises.parts.cases import drawn_again, in_float32, other_arrays
from attention_lib.exercises.parts.magnitudes import products_magnitude
from attention_lib.lessons.scaling import scaled_scores

HINTS = (
    "The dot products come first, as in the exercise before; then one multiplication.",
    "d_k is the length of a query, query.shape[-1]. Only when scale is None do you use it.",
    "math.sqrt(d_k) is a Python number and leaves float32 scores in float32; np.sqrt(d_k) is a "
    "float64 number and turns them into float64.",
)


def cases(rng: Generator) -> Iterator[Case]:
    yield Case(np.array([[1.0, 2.0], [0.0, 1.0], [3.0, -1.0]]), np.array([[2.0, 2.0], [4.0, 0.0]]))
    yield Case(rng.normal(size=(2, 5)), rng.normal(size=(3, 5)))
    yield Case(rng.normal(size=(2, 5)), rng.normal(size=(3, 5)), scale=0.3)
    yield Case(rng.normal(size=(5, 3)), rng.normal(size=(2, 3)), -2.0)
    yield Case(rng.normal(size=(3, 6)), rng.normal(size=(5, 6)), scale=0.0)
    yield Case(rng.normal(size=(2, 3, 7)), rng.normal(size=(2, 5, 7)))
    yield Case(rng.normal(size=(2, 3, 5, 6)), rng.normal(size=(2, 3, 7, 6)))
    yield Case(rng.normal(size=(3, 3, 3)), rng.normal(size=(3, 3, 3)))  # see dot_product_scores
    yield Case(np.array([[1, 2, 0], [3, 1, 1]]), np.array([[2, 1, 5], [0, 4, 1]]))
    yield Case(*in_float32((rng.normal(size=(5, 3)), rng.normal(size=(2, 3)))))
    yield Case(*in_float32((rng.normal(size=(2, 7)), rng.normal(size=(3, 7)))), scale=0.3)


def magnitude(query: NDArray, key: NDArray, scale: float | None = None) -> NDArray:
    scale = 1 / math.sqrt(query.shape[-1]) if scale is None else scale
    return abs(scale) * products_magnitude(query, key)


def plain(query, key, scale=None):
    default = 1 / math.sqrt(query.shape[-1])
    factor = default if scale is None else scale
    scores = query @ key.mT * factor
    return scores


MISTAKES = known_mistakes(
    plain,
    "default-scale-missing: The scores are not scaled when scale is None: multiply by 1/√d_k then.",
    "1 / math.sqrt(query.shape[-1]) => 1.0",
    "divided-by-d-k: You divide by d_k: divide by its square root.",
    "math.sqrt(query.shape[-1]) => query.shape[-1]",
    "multiplied-by-root: You multiply by √d_k: the default scale is 1/√d_k.",
    "1 / math.sqrt(query.shape[-1]) => math.sqrt(query.shape[-1])",
    "root-of-keys: This is the root of S, the number of keys: d_k is query.shape[-1].",
    "query.shape[-1] => {key.shape[-2]|len(key)}",
    "root-of-queries: This is the root of L, the number of queries: d_k is query.shape[-1].",
    "query.shape[-1] => {query.shape[-2]|len(query)}",
    "d-k-from-axis-1: d_k is taken from axis 1, which is right without a batch only: it is the "
    "last axis, query.shape[-1].",
    "query.shape[-1] => query.shape[1]",
    "scale-ignored: scale is ignored: when it is given, multiply by it in place of 1/√d_k.",
    "default if scale is None else scale => default",
    "given-scale-unused: A scale that is given changes nothing: multiply the products by it.",
    "else scale => else 1.0",
    "zero-scale-ignored: A scale of 0 is treated as no scale: ask for `scale is None`, since 0 "
    "counts as false.",
    "scale is None => not scale",
    "scale-on-top: scale comes on top of 1/√d_k: when it is given, it takes its place.",
    "else scale => else default * scale",
    "divided-by-scale: You divide by scale: multiply by it. The default is 1/√d_k, not √d_k.",
    "else scale => else {1 / np.float64(scale)|scale and 1 / scale}",
    "keys-not-transposed: The keys are not transposed: use query @ np.swapaxes(key, -1, -2).",
    "key.mT => key",
    "key-t-reverses-batch: key.T reverses the batch dimensions as well: swap the last two axes "
    "only, with key.mT or np.swapaxes(key, -1, -2).",
    "key.mT => key.T",
    "cosines: These are cosines: divide by √d_k, not by the lengths of the vectors.",
    "math.sqrt(query.shape[-1]) => "
    "(np.linalg.norm(query, axis=-1)[..., :, None] * np.linalg.norm(key, axis=-1)[..., None, :])",
    "softmax-weights: These are softmax weights: return the scaled scores themselves.",
    "return scores => return softmax(scores)",
)

EXERCISE = Exercise(
    name="scaled_scores",
    points=2,
    minutes=4,
    reference=scaled_scores,
    cases=drawn_again(cases, other_arrays),
    magnitude=magnitude,
    hints=HINTS,
    mistakes=MISTAKES,
    built_on=("dot_product_scores",),
)
