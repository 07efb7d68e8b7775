"""Train small models of attention alone on words that repeat: the machinery of lesson 08.

A model is a list of float32 arrays: the embedding, the positions, the readout, and matrices of attention,
w_q, w_k, w_v and w_o a layer. A *form* says how these matrices are used. From vectors, matrices and parts
it makes the last layer's vectors, and a function that carries their gradient back.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.random import Generator
from numpy.typing import ArrayLike, NDArray

from attention_lib.lessons import learning
from attention_lib.lessons.attention import attention, causal_mask
from attention_lib.lessons.gradients import attention_backward, cross_entropy_grad

__all__ = [
    "LENGTH",
    "NAMES",
    "WORDS",
    "Parts",
    "best_loss",
    "draw",
    "gradients",
    "guided",
    "heads",
    "key_of_two_words",
    "layers_of",
    "scores_of",
    "share_right",
    "side_by_side",
    "stacked",
    "start",
    "train",
    "vectors_of",
]

WORDS, LENGTH = 32, 32
NAMES = "abcdefghijklmnopqrstuvwxyz012345"  # the words 0 to 31, as they are printed
SHORTEST = 3  # the shortest period

Model = Sequence[NDArray]
Back = Callable[[NDArray], tuple[NDArray, list[NDArray]]]
Form = Callable[[NDArray, Model, "Parts"], tuple[NDArray, Back]]


class Parts(NamedTuple):
    """The functions that training calls: a learner's, or the library's."""

    embed: Callable[..., NDArray] = learning.embed
    attention_layer: Callable[..., NDArray] = learning.attention_layer
    attention_layer_backward: Callable[..., Any] = learning.attention_layer_backward
    next_word_loss: Callable[..., Any] = learning.next_word_loss
    adam_step: Callable[..., Any] = learning.adam_step


LIBRARY = Parts()


def draw(
    rng: Generator, count: int, words: int = WORDS, length: int = LENGTH
) -> tuple[NDArray[np.integer], NDArray[np.integer]]:
    """Draw sequences (count, length) that repeat, and their periods (count,)."""
    periods = rng.integers(SHORTEST, length // 2 + 1, size=count)
    order = rng.permuted(np.tile(np.arange(words), (count, 1)), axis=1)  # (count, words)
    places = np.arange(length) % periods[:, None]  # (count, length)
    return np.take_along_axis(order, places, axis=1), periods


def best_loss(seen: int, period: int, words: int = WORDS, length: int = LENGTH) -> float:
    """Return the loss of the best reader at the word after `seen` words of a sequence."""
    if seen > period:
        return 0.0
    # All periods are equally likely: after `seen` different ones, these are left.
    left = length // 2 - seen + 1 if seen >= SHORTEST else math.inf
    return -math.log(1 / left if seen == period else (1 - 1 / left) / (words - seen))


def start(
    rng: Generator,
    layers: int = 2,
    *,
    words: int = WORDS,
    length: int = LENGTH,
    width: int = 64,
    head: int = 64,
    size: float = 0.5,
) -> list[NDArray]:
    """Draw a model's first numbers; `size` is that of the word and position vectors' components."""
    shapes = [
        (width, words),
        *[(width, head), (width, head), (width, head), (head, width)] * layers,
    ]
    tables = [size * rng.normal(size=(rows, width)) for rows in (words, length)]
    matrices = [rng.normal(size=shape) / math.sqrt(shape[0]) for shape in shapes]
    return [array.astype(np.float32) for array in tables + matrices]


def layers_of(model: Model) -> list[Model]:
    """Return the four matrices of each layer."""
    return [model[i : i + 4] for i in range(3, len(model), 4)]


def scores_of(
    model: Model, tokens: NDArray, replace: Sequence[Any] = (), masks: Sequence[Any] = ()
) -> tuple[list[NDArray], NDArray]:
    """Return each layer's weights and the scores.

    `replace` holds for each layer a function that makes other weights of its own, or None; `masks` is as
    in `guided`.
    """
    x, maps = learning.embed(tokens, *model[:2]), []
    for number, (w_q, w_k, w_v, w_o) in enumerate(layers_of(model)):
        mask = _of_layer(masks, number, causal_mask(x.shape[-2]))
        _, weights = attention(x @ w_q, x @ w_k, x @ w_v, mask)
        weights = _of_layer(replace, number, lambda own: own)(weights)
        maps.append(weights)
        x = x + weights @ (x @ w_v) @ w_o
    return maps, x @ model[2]


def _of_layer(given: Sequence[Any], number: int, otherwise: Any) -> Any:
    found = given[number] if number < len(given) else None
    return otherwise if found is None else found


def heads(model: Model, tokens: NDArray, masks: Sequence[Any] = ()) -> dict[str, float]:
    """Measure the two heads: layer 1's weight on the place before, and layer 2's induction score."""
    (first, second), _ = scores_of(model, tokens, masks=masks)
    before = np.diagonal(first, -1, axis1=1, axis2=2).mean(axis=0)  # from place 1 on
    induction = [learning.induction_score(*pair) for pair in zip(second, tokens, strict=True)]
    return {
        "layer 1, places 1 to 6": float(before[:6].mean()),
        "layer 1, places 7 to 15": float(before[6:15].mean()),
        "layer 2, induction score": float(np.mean(induction)),
    }


def vectors_of(model: Model, tokens: NDArray, form: Form) -> NDArray:
    """Return the vectors after the last layer."""
    return form(learning.embed(tokens, *model[:2]), model[3:], LIBRARY)[0]


def share_right(scores: NDArray, tokens: NDArray, periods: NDArray) -> float:
    """Return the share of right answers among the words that can be known."""
    right = scores[:, :-1].argmax(axis=-1) == tokens[:, 1:]
    return float(right[np.arange(1, tokens.shape[1]) > periods[:, None]].mean())


def stacked(x: NDArray, matrices: Model, parts: Parts) -> tuple[NDArray, Back]:
    """Put the layers one above the other."""
    layers = [matrices[i : i + 4] for i in range(0, len(matrices), 4)]
    inputs = [x]
    for layer in layers:
        inputs.append(parts.attention_layer(inputs[-1], *layer))

    def back(grad: NDArray) -> tuple[NDArray, list[NDArray]]:
        found: list[NDArray] = []
        for vectors, layer in zip(inputs[-2::-1], layers[::-1], strict=True):
            grad, *own = parts.attention_layer_backward(vectors, *layer, grad)
            found = own + found
        return grad, found

    return inputs[-1], back


def side_by_side(x: NDArray, matrices: Model, parts: Parts) -> tuple[NDArray, Back]:
    """Make heads of one layer of them: all read the same vectors."""
    heads = [matrices[i : i + 4] for i in range(0, len(matrices), 4)]

    def back(grad: NDArray) -> tuple[NDArray, list[NDArray]]:
        found = [parts.attention_layer_backward(x, *head, grad) for head in heads]
        grad_x = grad + sum(grads[0] - grad for grads in found)
        return grad_x, [matrix for grads in found for matrix in grads[1:]]

    return x + sum(parts.attention_layer(x, *head) - x for head in heads), back


def key_of_two_words(x: NDArray, matrices: Model, _: Parts) -> tuple[NDArray, Back]:
    """Make one layer whose keys see the word before too: the last matrix is for that one."""
    return _layer(x, *matrices[:4], causal_mask(x.shape[-2]), matrices[4])


def guided(*masks: NDArray | None) -> Form:
    """Return a form of stacked layers with a mask each, `(L, L)`; where there is none, the causal one.

    A row of a mask that allows one key only sets the weights of that row, whatever is learned.
    """

    def form(x: NDArray, matrices: Model, _: Parts) -> tuple[NDArray, Back]:
        backs = []
        for number in range(len(matrices) // 4):
            mask = _of_layer(masks, number, causal_mask(x.shape[-2]))
            x, back = _layer(x, *matrices[4 * number : 4 * number + 4], mask)
            backs.append(back)

        def back(grad: NDArray) -> tuple[NDArray, list[NDArray]]:
            found: list[NDArray] = []
            for through in backs[::-1]:
                grad, own = through(grad)
                found = own + found
            return grad, found

        return x, back

    return form


def _layer(
    x: NDArray,
    w_q: NDArray,
    w_k: NDArray,
    w_v: NDArray,
    w_o: NDArray,
    mask: NDArray,
    w_before: NDArray | None = None,
) -> tuple[NDArray, Back]:
    """Add masked attention's output to x; with `w_before`, keys see the vectors before too."""
    query, key, value = x @ w_q, x @ w_k, x @ w_v
    before = np.zeros_like(x)
    before[..., 1:, :] = x[..., :-1, :]
    if w_before is not None:
        key = key + before @ w_before
    mixture, _ = attention(query, key, value, mask)

    def rows(array: NDArray) -> NDArray:
        return array.reshape(-1, array.shape[-1])

    def back(grad: NDArray) -> tuple[NDArray, list[NDArray]]:
        grads = attention_backward(query, key, value, grad @ w_o.T, mask)
        matrices = [w_q, w_k, w_v]
        grad_x = grad + sum(g @ w.T for g, w in zip(grads, matrices, strict=True))
        found = [*(rows(x).T @ rows(g) for g in grads), rows(mixture).T @ rows(grad)]
        if w_before is not None:
            grad_x[..., :-1, :] += (grads[1] @ w_before.T)[..., 1:, :]
            found.append(rows(before).T @ rows(grads[1]))
        return grad_x, found

    return x + mixture @ w_o, back


def gradients(
    model: Model, tokens: NDArray, form: Form = stacked, parts: Parts = LIBRARY
) -> tuple[float, list[NDArray]]:
    """Return the loss, and its gradient with respect to each array of the model."""
    embedding, positions, readout, *matrices = model
    last, back = form(parts.embed(tokens, embedding, positions), matrices, parts)
    scores = last @ readout  # (N, L, V)
    rows = scores[:, :-1].reshape(-1, scores.shape[-1])
    grad_scores = np.zeros_like(scores)  # the last rows predict nothing: their gradient is 0
    grad_rows = cross_entropy_grad(rows, tokens[:, 1:].reshape(-1))
    grad_scores[:, :-1] = grad_rows.reshape(scores[:, :-1].shape)
    grad_readout = np.tensordot(last, grad_scores, axes=((0, 1), (0, 1)))  # (D, V)
    grad_x, found = back(grad_scores @ readout.T)
    # A word's vector is used wherever the word stands: one-hot rows add these places up.
    one_hot = np.eye(len(embedding), dtype=grad_x.dtype)[tokens]  # (N, L, V)
    grad_embedding = np.tensordot(one_hot, grad_x, axes=((0, 1), (0, 1)))  # (V, D)
    loss = float(parts.next_word_loss(scores, tokens))
    return loss, [grad_embedding, grad_x.sum(axis=0), grad_readout, *found]


def train(
    model: Model,
    rng: Generator,
    steps: int = 300,
    *,
    rate: ArrayLike = 4e-3,
    count: int = 16,
    look: Callable[[int, Model], Any] | None = None,
    form: Form = stacked,
    parts: Parts = LIBRARY,
) -> tuple[Model, list[float]]:
    """Train with Adam on `count` new sequences a step; return the model and the loss of each step.

    `rate` is one number, or one for each array. Every ten steps, and at the end, `look` is called with the
    step and the model. Training ends early if it returns True.
    """
    words, length = len(model[0]), len(model[1])
    rates = np.broadcast_to(rate, len(model))
    memory = [(np.zeros_like(array), np.zeros_like(array)) for array in model]
    losses: list[float] = []
    for step in range(1, steps + 1):
        if look and step % 10 == 1 and look(step - 1, model):
            return model, losses
        tokens, _ = draw(rng, count, words, length)
        loss, grads = gradients(model, tokens, form, parts)
        losses.append(loss)
        stepped = [
            parts.adam_step(array, grad, *kept, step, own) if own else (array, *kept)
            for array, grad, kept, own in zip(model, grads, memory, rates, strict=True)
        ]
        model, memory = [new[0] for new in stepped], [new[1:] for new in stepped]
    if look:
        look(steps, model)
    return model, losses
