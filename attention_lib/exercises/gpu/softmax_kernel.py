"""`softmax_kernel` is a Triton kernel in which each program writes the softmax of one row.

`softmax_kernel(scores, weights, length, BLOCK: tl.constexpr)`, launched on a grid of `(rows,)`. Program i
writes the softmax of row i of `scores` to row i of `weights`. Both are `(rows, length)`, float32, and
arrive as the addresses of their first numbers, without gaps. `length` is at most BLOCK, a power of 2.
It is stable, and nothing is read or written past a row's end. It is compiled on CUDA, and run in NumPy
elsewhere.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from numpy.random import Generator

from attention_lib.checks.calls import staging
from attention_lib.checks.calls.case import Answer, Case
from attention_lib.checks.exercise import Exercise, known_mistakes
from attention_lib.exercises.parts.kernels import as_kernel, calls_the_library
from attention_lib.exercises.parts.tensors import LazyReference, draw_tensors

HINTS = (
    "One program has one row, and there is no loop over rows: the row's number is tl.program_id(0). A block "
    "tl.arange(0, BLOCK) counts the columns, and some of these may lie past the row's end.",
    "Number j of row i has the place i * length + j. Load and store with the mask columns < length.",
    "What stands past the end must change neither the maximum nor the sum. Which number is below every "
    "score, and has the exponential 0? That is tl.load's other.",
    "tl.max(x, axis=0) and tl.sum(x, axis=0) make one number of a block. Subtract the maximum, take "
    "tl.exp, divide by the sum, store.",
)


def launched(answer: Any) -> Answer:
    """Launch a kernel, or the edited text of the library's."""
    return staging.launched_on_rows(as_kernel(answer))


def cases(rng: Generator) -> Iterator[Case]:
    import torch

    yield Case(torch.tensor([[1.0, 2.0, 3.0]]), block=4)
    yield Case(torch.tensor([[2.0, 0.0], [0.0, 1.0], [-1.0, -1.0]]), block=2)
    yield Case(torch.tensor([[5.0], [-5.0]]), block=4)
    yield Case(*draw_tensors(rng, (4, 16), dtype="float32"), block=16)
    yield Case(*draw_tensors(rng, (5, 5), dtype="float32"), block=8)
    yield Case(*draw_tensors(rng, (3, 17), dtype="float32"), block=32)
    yield Case(*draw_tensors(rng, (2, 100), dtype="float32"), block=512)  # most of it past the end
    (scores,) = draw_tensors(rng, (4, 13), dtype="float32")
    level = torch.tensor([[200.0], [-300.0], [0.0], [5000.0]])
    yield Case(3.0 * scores + level, block=16)
    yield Case(torch.tensor([[-4e10, -3e10, -3e10], [3e37, -3e37, 1.0]]), block=4)


def exact_softmax(scores: Any, block: int) -> Any:
    import torch

    return torch.softmax(scores.double(), dim=-1).to(scores.dtype)


def magnitude(scores: Any, block: int) -> Any:
    """Size each weight: an error in a score, in proportion to it, is one in the weight."""
    largest = scores.abs().amax(dim=-1, keepdim=True).clamp(max=1e4)
    return (2.0 + largest) * exact_softmax(scores, block)


READS_PAST_END = (
    "The load reads past a row's end, where the next row begins, or memory that is not yours: give tl.load "
    "the mask of the columns below length."
)


def reads_past_end(answer: Any, rng: Generator) -> str | None:
    (scores,) = draw_tensors(rng, (2, 5), dtype="float32")
    reads = staging.reads_past_rows(as_kernel(answer), scores, 8)
    return READS_PAST_END if reads else None


# Text of attention_lib/lessons/gpu/kernel.py that the mistakes replace; a comment there says so.
MASKED = ', mask=there, other=float("-inf")'
REFERENCE = LazyReference("softmax_kernel", truth=exact_softmax)

MISTAKES = known_mistakes(
    REFERENCE,
    "no-maximum: No maximum is subtracted, and large scores overflow or vanish: subtract the row's "
    "largest score before tl.exp.",
    "numbers - largest => numbers",
    "row-left-out: Every program has row 0: the number of its row is tl.program_id(0).",
    "row * length => 0",
    "rows-a-block-apart: Row i is read from place i * BLOCK on. The rows lie length numbers apart: it "
    "begins at i * length.",
    "scores + places => scores + row * BLOCK + columns",
    "loaded-without-mask: The load has no mask, so that numbers past the row's end count as scores: give "
    "it mask=columns < length, other=float('-inf').",
    f"{MASKED} => ",
    "nothing-past-end: Past the row's end stand zeros, which count as scores: tl.load's other is float('-inf'), "
    "which has the exponential 0.",
    f"{MASKED} => , mask=there",
    'float("-inf") => 0.0',
    "finite-past-end: Past the row's end stands a finite number, and there are scores below it: tl.load's "
    "other is float('-inf').",
    'float("-inf") => {-1.0e9|-1.0e4|-1.0e6}',
    "padding-in-sum: The places past the row's end count in the sum: there the powers have to be 0.",
    "total = tl.sum(powers, axis=0) => total = tl.sum(tl.where(there, powers, 1.0), axis=0)",
    "not-divided: The powers are not divided by their sum.",
    "powers / total => powers",
    "divided-by-length: The powers are divided by the number of scores, and not by the sum of the powers.",
    "powers / total => powers / length",
    "divided-by-block: The powers are divided by BLOCK, and not by their sum.",
    "powers / total => powers / BLOCK",
    "scores-shared: The scores are divided by their sum: softmax divides their exponentials.",
    "tl.exp(numbers - largest) => tl.where(there, numbers, 0.0)",
    "powers-of-two: These are powers of 2: softmax has powers of e, tl.exp.",
    "tl.exp( => tl.exp2(",
    "maximum-added: The largest score is added, and has to be subtracted.",
    "numbers - largest => numbers + largest",
    "mean-subtracted: A mean is subtracted, and large scores still overflow: subtract the largest.",
    "numbers - largest => numbers - tl.sum(tl.where(there, numbers, 0.0), axis=0) / length",
    "smallest-subtracted: The smallest score is subtracted, so that large ones overflow: subtract the largest.",
    "largest = tl.max(numbers, axis=0) => largest = tl.min(tl.where(there, numbers, float('inf')), axis=0)",
    "stored-over-scores: The result is stored over the scores, and weights stays as it was: store to weights.",
    "weights + places => scores + places",
    "logarithms: These are logarithms of the weights: store the powers divided by their sum.",
    "powers / total => numbers - largest - tl.log(total)",
    f"reads-past-end: {READS_PAST_END}",
    f"tl.load(scores + places{MASKED}) => tl.where(there, tl.load(scores + places), float('-inf'))",
    measured=("reads-past-end",),
)

EXERCISE = Exercise(
    name="softmax_kernel",
    points=2,
    minutes=7,
    reference=REFERENCE,
    signature="softmax_kernel(scores, weights, length, BLOCK: tl.constexpr)",
    accelerated=True,
    run=launched,
    run_as="def softmax(scores, block)",
    cases=cases,
    magnitude=magnitude,
    probes=(
        calls_the_library("softmax_kernel", "write the kernel with Triton's operations."),
        reads_past_end,
    ),
    hints=HINTS,
    mistakes=MISTAKES,
)
