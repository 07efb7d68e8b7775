"""`gated_feed_forward(x, w_gate, w_up, w_down)` is the layer beside attention in each block.

`(..., D)`, `(D, F)`, `(D, F)`, `(F, D)` → (silu(x w_gate) · (x w_up)) w_down, of shape `(..., D)`, where
silu(z) = z / (1 + e^(−z)). No gate overflows, up to 1e4 in size.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from attention_lib.checks.calls.case import Case
from attention_lib.checks.exercise import Exercise, known_mistakes
from attention_lib.lessons.model import gated_feed_forward

HINTS = (
    "Three products: two make F numbers of each vector, the third leads back to D. Between them, each "
    "number of the one is multiplied by silu of its partner in the other.",
    "1 / (1 + e^-z) lies between 0 and 1: it says how much of z passes. e^-z overflows for a z of -1000, "
    "e^z for 1000. Which of the two is safe for which sign?",
    "e^-|z| never overflows. For z >= 0 the share is 1 / (1 + e^-|z|), for z < 0 it is e^-|z| / "
    "(1 + e^-|z|). np.where chooses.",
)


def cases(rng: Generator) -> Iterator[Case]:
    one = np.eye(2)
    yield Case(np.array([[1.0, -1.0]]), one, one, one)
    yield Case(np.array([[2.0, 0.0], [0.0, -3.0]]), one, 2 * one, one[::-1])
    yield Case(*drawn(rng, (3,), 4, 6))
    yield Case(*drawn(rng, (5,), 5, 5))  # square: a transposed matrix fits as well
    yield Case(*drawn(rng, (2, 3), 4, 9))
    yield Case(*drawn(rng, (), 3, 5))
    yield Case(*drawn(rng, (2, 2, 3), 6, 4))
    large = drawn(rng, (4,), 3, 7)
    yield Case(*large[:1], 4e3 * large[1], *large[2:])  # gates of thousands, of both signs
    yield Case(
        np.array([[1.0, -1.0]]), np.array([[1e4, -1e4, 0.0], [0.0, 0.0, 800.0]]), *large_pair()
    )
    yield Case(*(array.astype(np.float32) for array in drawn(rng, (3,), 6, 8)))
    yield Case(*(array.astype(np.float32) for array in (large[0], 500 * large[1], *large[2:])))
    yield Case(rng.integers(-3, 4, (3, 2)), *(rng.integers(-2, 3, shape) for shape in SHAPES))


SHAPES = (2, 5), (2, 5), (5, 2)


def large_pair() -> tuple[NDArray, NDArray]:
    return np.array([[1.0, 2.0, 3.0], [0.5, 0.25, 1.0]]), np.array(
        [[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]]
    )


def drawn(rng: Generator, leading: tuple[int, ...], width: int, inner: int) -> list[NDArray]:
    shapes = (width, inner), (width, inner), (inner, width)
    x = rng.normal(size=(*leading, width))
    return [x, *(1.5 * rng.normal(size=shape) / math.sqrt(shape[0]) for shape in shapes)]


def magnitude(x: NDArray, w_gate: NDArray, w_up: NDArray, w_down: NDArray) -> NDArray:
    gate, up, down = (np.abs(w) for w in (w_gate, w_up, w_down))
    return 2 * (np.abs(x) @ gate) * (np.abs(x) @ up) @ down


def plain(x, w_gate, w_up, w_down):
    z = x @ w_gate
    up = x @ w_up
    small = np.exp(-np.abs(z))
    share = np.where(z >= 0, 1, small) / (1 + small)
    passed = z * share
    inner = passed * up
    return inner @ w_down


SHARE = "np.where(z >= 0, 1, small) / (1 + small)"

MISTAKES = known_mistakes(
    plain,
    "overflow: A large gate overflows to infinity, and infinity over infinity is NaN: use e^(-|z|), "
    "which never overflows.",
    f"{SHARE} => np.exp(z) / (1 + np.exp(z))",
    f"{SHARE} => np.exp(z) / (np.exp(z) + 1.0)",
    "gate-and-up-exchanged: silu is taken of x w_up: the gate is x w_gate.",
    "z = x @ w_gate => z = x @ w_up && up = x @ w_up => up = x @ w_gate",
    "share-alone: The gate's share 1 / (1 + e^-z) multiplies x w_up: silu is z times that share.",
    "z * share => share",
    "silu-missing: The gate passes as it is: take silu of it.",
    "z * share => z",
    "sign-in-exponent: The share is 1 / (1 + e^z): the exponent is -z.",
    "np.where(z >= 0, 1, small) => np.where(z >= 0, small, 1)",
    "silu-of-both: silu is taken of both halves: x w_up passes as it is.",
    "inner = passed * up => inner = passed * (up / (1 + np.exp(-up)))",
    "silu-of-product: silu is taken of the product: take it of the gate only, then multiply.",
    "z = x @ w_gate => z = (x @ w_gate) * (x @ w_up) && passed * up => passed",
    "added: The two halves are added: multiply them.",
    "passed * up => passed + up",
    "up-missing: x w_up is missing: silu of the gate multiplies it.",
    "passed * up => passed",
    "gate-missing: The gate is missing: x w_up is multiplied by silu of x w_gate.",
    "passed * up => up",
    "relu: The gate is cut at 0: silu is smooth, z / (1 + e^-z).",
    "z * share => np.maximum(z, 0)",
    "gelu: This is another gate, gelu: silu is z / (1 + e^-z).",
    "z * share => z * (0.5 * (1 + np.tanh(0.7978845608028654 * (z + 0.044715 * z**3))))",
    "z * share => z / (1 + np.exp(-np.clip(1.702 * z, -700, 700)))",
    "tanh: The gate is tanh: silu is z / (1 + e^-z).",
    "z * share => np.tanh(z)",
    "softmax: The gate is softmax, which lets numbers compete: each gate opens by itself here.",
    "z * share => {1|z} * np.exp(z - z.max(-1, keepdims=True)) "
    "/ np.exp(z - z.max(-1, keepdims=True)).sum(-1, keepdims=True)",
    "gate-clipped: The gate itself is cut off before it multiplies: only the exponent may be held back.",
    "passed = => z = np.clip(z, {-50|-100|-500|-700|-88}, {50|100|500|700|88})\n    passed =",
    "w-down-missing: w_down is missing: it leads back to D components.",
    "inner @ w_down => inner",
    "w-down-transposed: w_down is transposed: it multiplies from the right as it is.",
    "inner @ w_down => inner @ w_down.T",
    "x-added: x is added: that is the block's part, not this layer's.",
    "inner @ w_down => inner @ w_down + x",
)

EXERCISE = Exercise(
    name="gated_feed_forward",
    points=2,
    minutes=7,
    reference=gated_feed_forward,
    cases=cases,
    magnitude=magnitude,
    hints=HINTS,
    mistakes=MISTAKES,
)
