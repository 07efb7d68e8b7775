"""`patched_loss(model, tokens, layer, replace)` returns the loss with one layer's weights replaced.

`model` is a list: the embedding `(V, D)`, the positions `(T, D)`, the readout `(D, V)`, then w_q, w_k, w_v
and w_o of each layer, as in `attention_layer`. `tokens` are integers `(..., L)`, `layer` is counted from
0. → `next_word_loss` of the scores, the last layer's vectors times the readout, where layer `layer` mixes by
`replace(weights)` in place of its own weights `(..., L, L)`. Layers after it make their weights from the
vectors that they then get. Nothing that is passed in is changed. The answer uses its own `embed`,
`attention_layer` and `next_word_loss`, and not `attention_lib`'s.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from attention_lib.checks.calls.case import Case
from attention_lib.checks.exercise import Exercise, known_mistakes
from attention_lib.lessons.attention import attention, causal_mask
from attention_lib.lessons.learning import patched_loss
from attention_lib.lessons.stability import log_softmax

HINTS = (
    "attention_layer gives no weights: for the chosen layer, lesson 05's attention makes output and "
    "weights from x @ w_q, x @ w_k, x @ w_v and the causal mask.",
    "With the new weights that layer adds replace(weights) @ (x @ w_v) @ w_o to x. All other layers are "
    "attention_layer as before.",
    "The matrices of layer i are model[3 + 4 * i : 7 + 4 * i]. The scores are x @ readout, and "
    "next_word_loss takes scores and tokens.",
)


def average(weights: NDArray) -> NDArray:
    """Give all visible places equal weights."""
    visible = np.tri(weights.shape[-1], dtype=weights.dtype)
    return np.zeros_like(weights) + visible / visible.sum(axis=-1, keepdims=True)


def moved_back(weights: NDArray) -> NDArray:
    """Move each row's weights one place back; what would leave stays at place 0."""
    moved = np.concatenate([weights[..., 1:], np.zeros_like(weights[..., :1])], axis=-1)
    moved[..., 0] += weights[..., 0]
    return moved


def place_before(weights: NDArray) -> NDArray:
    """Give all weight to the place before."""
    moved = np.eye(weights.shape[-1], k=-1, dtype=weights.dtype)
    moved[0, 0] = 1
    return np.zeros_like(weights) + moved


def sharper(weights: NDArray) -> NDArray:
    """Square the weights, and let each row sum to 1 again."""
    squares = weights**2
    return squares / squares.sum(axis=-1, keepdims=True)


def unchanged(weights: NDArray) -> NDArray:
    """Return a copy."""
    return weights.copy()


def halved(weights: NDArray) -> NDArray:
    """Take half of the weights away."""
    return weights / 2


def cases(rng: Generator) -> Iterator[Case]:
    yield drawn(rng, 1, (3,), 0, place_before)
    yield drawn(rng, 2, (4,), 0, average)
    yield drawn(rng, 2, (2, 5), 1, average)
    yield drawn(rng, 2, (3, 4), 0, moved_back)
    yield drawn(rng, 2, (3, 4), 1, moved_back)
    yield drawn(rng, 2, (4,), 0, unchanged)
    yield drawn(rng, 3, (2, 6), 1, place_before)
    yield drawn(rng, 3, (6,), 2, sharper)
    yield drawn(rng, 3, (2, 2, 5), 0, sharper)
    yield drawn(rng, 2, (2, 4), 1, halved)
    yield drawn(rng, 2, (4,), 0, average, width=5, head=5)  # square: no shape shows an exchange
    yield drawn(rng, 2, (3, 5), 0, moved_back, dtype=np.float32)


def drawn(
    rng: Generator,
    layers: int,
    shape: tuple[int, ...],
    layer: int,
    replace: Any,
    *,
    width: int = 6,
    head: int = 4,
    dtype: Any = np.float64,
) -> Case:
    words, room, d_v = 5, shape[-1] + 2, head if width == head else 3
    sizes = [(width, head), (width, head), (width, d_v), (d_v, width)] * layers
    shapes = [(words, width), (room, width), (width, words), *sizes]
    model = [rng.normal(0.0, 0.7, size).astype(dtype) for size in shapes]
    return Case(model, rng.integers(words, size=shape), layer, replace)


def magnitude(model: list[NDArray], tokens: NDArray, layer: int, replace: Any) -> NDArray:
    """Size the scores, as if no two terms canceled and all layers read the same word."""
    sizes = [np.abs(array.astype(float)) for array in model]
    x = sizes[0][tokens] + sizes[1][: tokens.shape[-1]]
    for i in range(3, len(sizes), 4):
        w_q, w_k, w_v, w_o = sizes[i : i + 4]
        scores = (x @ w_q).max() * (x @ w_k).max() * w_q.shape[1] ** 0.5
        x = x + (1 + scores) * ((x @ w_v).max(axis=-2, keepdims=True) @ w_o)
    return np.asarray(1 + (x @ sizes[2]).mean())


def plain(model, tokens, layer, replace):
    x = model[0][tokens] + model[1][: tokens.shape[-1]]
    intact = x
    count = (len(model) - 3) // 4
    for number in range(count):
        w_q, w_k, w_v, w_o = model[3 + 4 * number : 7 + 4 * number]
        query, key, value = x @ w_q, x @ w_k, x @ w_v
        mask = causal_mask(x.shape[-2])
        output, weights = attention(query, key, value, mask)
        used = weights
        if number == layer:
            used = replace(weights)
        intact = intact + output @ w_o
        x = x + used @ value @ w_o
    scores = x @ model[2]
    rows, words = scores[..., :-1, :], tokens[..., 1:]
    each = -np.take_along_axis(log_softmax(rows), words[..., None], axis=-1)
    return each.mean()


MISTAKES = known_mistakes(
    plain,
    "nothing-replaced: The weights are not replaced: the layer mixes by replace(weights).",
    "used = replace(weights) => replace(weights)",
    "every-layer: The weights of every layer are replaced: only layer `layer` is, counted from 0.",
    "if number == layer => if True",
    "counted-from-1: Another layer is replaced: they are counted from 0, so 0 is the first.",
    "number == layer => number + 1 == layer",
    "counted-from-the-end: Layers are counted from the end here: 0 is the first, which reads the words.",
    "number == layer => count - 1 - number == layer",
    "later-layers-too: The weights of the layers after it are replaced too: those are their own.",
    "number == layer => number >= layer",
    "earlier-layers-too: The weights of the layers before it are replaced too: those are their own.",
    "number == layer => number <= layer",
    "stops-there: The layers after layer `layer` are left out: they work on what comes of the change.",
    "range(count) => range(layer + 1)",
    "later-weights-kept: The layers after it keep the weights of the intact model: they make theirs from "
    "the vectors that they now get.",
    "attention(query, key, value, mask) => attention(intact @ w_q, intact @ w_k, intact @ w_v, mask)",
    "residual-missing: x is not added: each layer adds to the vectors that are there.",
    "x = x + used => x = used",
    "mask-missing: The causal mask is missing in the weights that replace gets.",
    "key, value, mask) => key, value)",
    "output-replaced: replace gets the layer's output: it takes the weights, (..., L, L).",
    "used = replace(weights) => value = replace(output)\n            used = np.eye(x.shape[-2])",
    "own-word: Each row is compared with its own word: row t guesses word t + 1, as in next_word_loss.",
    "scores[..., :-1, :], tokens[..., 1:] => scores, tokens",
    "tokens[..., 1:] => tokens[..., :-1]",
    "summed: The losses are added up: take their mean, as next_word_loss does.",
    "each.mean() => each.sum()",
    "scores-returned: These are the scores: return the loss, one number.",
    "return each.mean() => return scores",
    "weights-returned: These are weights: return the loss, one number.",
    "return each.mean() => return used",
)


EXERCISE = Exercise(
    name="patched_loss",
    points=2,
    minutes=8,
    reference=patched_loss,
    cases=cases,
    magnitude=magnitude,
    hints=HINTS,
    mistakes=MISTAKES,
    built_on=("embed", "attention_layer", "next_word_loss"),
)
