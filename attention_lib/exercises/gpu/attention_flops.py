"""`attention_flops(batch, heads, length, head_dim, is_causal=False)` counts attention's operations.

Floating-point operations of the two matrix products of one forward pass (a multiply and an add are two),
L = S, causal counted as half.
"""

from __future__ import annotations

from collections.abc import Iterator

from numpy.random import Generator

from attention_lib.checks.calls.case import Case
from attention_lib.checks.exercise import Exercise, known_mistakes
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


def plain(batch, heads, length, head_dim, is_causal=False):
    pairs = length * length
    if is_causal:
        pairs = pairs / 2
    a_pair = 4 * head_dim
    return a_pair * pairs * batch * heads


MISTAKES = known_mistakes(
    plain,
    "half: Half of it: there are two products, and a multiply and an add are two operations.",
    "4 * => 2 *",
    "quarter: A quarter of it: there are two products, and each of their steps is a "
    "multiplication and an addition.",
    "4 * => ",
    "double: Twice the count: two products of two operations a step make 4 · head_dim for a pair.",
    "4 * => 8 *",
    "causal-ignored: is_causal is ignored: it leaves half of the pairs.",
    "pairs / 2 => pairs",
    "causal-a-quarter: A causal mask halves the pairs, and so the operations, once: not the two "
    "products each by four.",
    "pairs / 2 => pairs / 4",
    "causal-rounded: Half of the pairs is rounded to a whole number before it is multiplied: an odd "
    "length has an odd number of pairs, so divide last.",
    "pairs / 2 => pairs // 2",
    "pairs / 2 => (pairs + 1) // 2",
    "batch-or-heads-missing: The batch or the heads are left out: every head of every sequence "
    "has its own products.",
    " * batch => ",
    " * heads => ",
    " * batch * heads => ",
    "length-not-squared: This grows with the length, not its square: every query meets every key.",
    "length * length => length",
    "softmax-counted: Softmax's operations are counted as well: only the matrix products count.",
    "return a_pair => return (a_pair + {1|2|3|4|5})",
    "causal-diagonal-counted: The causal pairs are counted one by one, the diagonal included: "
    "here causal counts as exactly half.",
    "pairs / 2 => (pairs + length) / 2",
    "one-addition-less: The last addition of each dot product is left out: count as many "
    "additions as multiplications.",
    "return a_pair => return (a_pair - 2)",
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
