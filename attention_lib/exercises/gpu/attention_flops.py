"""`attention_flops(batch, heads, length, head_dim, is_causal=False)` counts attention's operations.

Floating-point operations of the two matrix products of one forward pass (a multiply and an add are two),
L = S, causal counted as half.
"""

from __future__ import annotations

from collections.abc import Iterator

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
    yield Case(3, 2, 6, 5, True)
    yield Case(4, 16, 4096, 64)
    yield Case(1, 8, 1_048_576, 128, is_causal=True)
    sizes = [int(size) for size in rng.integers(2, 50, 4)]
    yield Case(*sizes, is_causal=False)
    yield Case(*sizes, is_causal=True)


@composable
def flops(factor: float = 4, causal: float = 0.5, length: float = 2, extra: float = 0.0) -> Answer:
    """Make an answer from its factor of head_dim, of causal attention, and the power of length."""

    def count(b: int, h: int, n: int, d: int, is_causal: bool = False) -> float:
        pairs = b * h * n**length
        return (factor * d + extra) * pairs * (causal if is_causal else 1)

    return count


MISTAKES = known_mistakes(
    "half: Half of it: there are two products, and a multiply and an add are two operations.",
    flops(2),
    "quarter: A quarter of it: there are two products, and each of their steps is a "
    "multiplication and an addition.",
    flops(1),
    "double: Twice the count: two products of two operations a step make 4 · head_dim for a pair.",
    flops(8),
    "causal-ignored: is_causal is ignored: it leaves half of the pairs.",
    flops(causal=1.0),
    "causal-a-quarter: A causal mask halves the pairs, and so the operations, once: not the two "
    "products each by four.",
    flops(causal=0.25),
    "batch-or-heads-missing: The batch or the heads are left out: every head of every sequence "
    "has its own products.",
    lambda b, h, n, d, is_causal=False: flops(4)(1, h, n, d, is_causal),
    lambda b, h, n, d, is_causal=False: flops(4)(b, 1, n, d, is_causal),
    lambda b, h, n, d, is_causal=False: flops(4)(1, 1, n, d, is_causal),
    "length-not-squared: This grows with the length, not its square: every query meets every key.",
    flops(length=1),
    "softmax-counted: Softmax's operations are counted as well: only the matrix products count.",
    *(flops(extra=extra) for extra in (1, 2, 3, 4, 5)),
    "causal-diagonal-counted: The causal pairs are counted one by one, the diagonal included: "
    "here causal counts as exactly half.",
    lambda b, h, n, d, is_causal=False: 4 * b * h * d * (n * (n + 1) // 2 if is_causal else n * n),
    "one-addition-less: The last addition of each dot product is left out: count as many "
    "additions as multiplications.",
    lambda b, h, n, d, is_causal=False: 2 * b * h * n * n * (2 * d - 1) / (2 if is_causal else 1),
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
