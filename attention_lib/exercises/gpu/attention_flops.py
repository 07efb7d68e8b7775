"""`attention_flops(batch, heads, length, head_dim, is_causal=False)` counts attention's operations.

Floating-point operations of the two matrix products of one forward pass (a multiply and an add are two),
L = S, causal counted as half.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator

from numpy.random import Generator

from attention_lib.checks.calls.case import Answer, Case
from attention_lib.checks.exercise import Exercise, composable, known_mistakes
from attention_lib.exercises.parts.tensors import LazyReference

HINTS = (
    "One entry of QKᵀ is a dot product of head_dim components: as many multiplications, and "
    "about as many additions. How many entries are there?",
    "The second product, of weights and values, costs the same. A causal mask leaves about "
    "half of the pairs.",
)


def cases(rng: Generator) -> Iterator[Case]:
    yield Case(1, 1, 2, 3)
    yield Case(1, 1, 2, 3, is_causal=True)
    yield Case(2, 3, 5, 7)
    yield Case(3, 2, 7, 5, True)  # an odd number of pairs
    yield Case(4, 16, 4096, 64)
    yield Case(1, 8, 1_048_576, 128, is_causal=True)
    sizes = [int(size) for size in rng.integers(2, 50, 4)]
    yield Case(*sizes, is_causal=False)
    yield Case(*sizes, is_causal=True)


@composable
def flops(
    factor: float = 4.0,
    extra: float = 0.0,
    stacked: Callable[[int, int], int] = operator.mul,
    pairs: Callable[[int], float] = lambda n: n * n,
    causal: Callable[[float, int], float] = lambda pairs, n: pairs / 2,
) -> Answer:
    """Make an answer from what a pair costs, factor * head_dim + extra, and how pairs are counted."""

    def count(b: int, h: int, n: int, d: int, is_causal: bool = False) -> float:
        found = causal(pairs(n), n) if is_causal else pairs(n)
        return (factor * d + extra) * stacked(b, h) * found

    return count


MISTAKES = known_mistakes(
    "half: Half of it: there are two products, and a multiply and an add are two operations.",
    flops(2.0),
    "quarter: A quarter of it: there are two products, and each of their steps is a "
    "multiplication and an addition.",
    flops(1.0),
    "double: Twice the count: two products of two operations a step make 4 · head_dim for a pair.",
    flops(8.0),
    "causal-ignored: is_causal is ignored: it leaves half of the pairs.",
    flops(causal=lambda pairs, n: pairs),
    "causal-a-quarter: A causal mask halves the pairs, and so the operations, once: not the two "
    "products each by four.",
    flops(causal=lambda pairs, n: pairs / 4),
    "causal-rounded: Half of the pairs is rounded to a whole number before it is multiplied: an odd "
    "length has an odd number of pairs, so divide last.",
    flops(causal=lambda pairs, n: pairs // 2),
    flops(causal=lambda pairs, n: (pairs + 1) // 2),
    "batch-or-heads-missing: The batch or the heads are left out: every head of every sequence "
    "has its own products.",
    flops(stacked=lambda b, h: h),
    flops(stacked=lambda b, h: b),
    flops(stacked=lambda b, h: 1),
    "length-not-squared: This grows with the length, not its square: every query meets every key.",
    flops(pairs=float),
    "softmax-counted: Softmax's operations are counted as well: only the matrix products count.",
    *(flops(extra=extra) for extra in (1.0, 2.0, 3.0, 4.0, 5.0)),
    "causal-diagonal-counted: The causal pairs are counted one by one, the diagonal included: "
    "here causal counts as exactly half.",
    flops(causal=lambda pairs, n: (pairs + n) / 2),
    "one-addition-less: The last addition of each dot product is left out: count as many "
    "additions as multiplications.",
    flops(extra=-2.0),
)

EXERCISE = Exercise(
    name="attention_flops",
    points=1,
    minutes=5,
    reference=LazyReference("attention_flops"),
    accelerated=True,
    cases=cases,
    hints=HINTS,
    mistakes=MISTAKES,
)
