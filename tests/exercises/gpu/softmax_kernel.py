"""Right and wrong answers to `softmax_kernel`."""

from attention_lib.lessons.gpu import launch
from tests.exercises.answers import patched

jit, tl = launch.jit, launch.tl


@jit
def right_in_powers_of_two(scores, weights, length, BLOCK: tl.constexpr):
    columns = tl.arange(0, BLOCK)
    scores += tl.program_id(0) * length
    weights += tl.program_id(0) * length
    row = tl.load(scores + columns, mask=columns < length, other=-float("inf"))
    powers = tl.exp2((row - tl.max(row)) * 1.4426950408889634)
    tl.store(weights + columns, powers * (1.0 / tl.sum(powers)), mask=columns < length)


@jit
def right_masked_afterwards(scores, weights, length, BLOCK: tl.constexpr):
    start = tl.program_id(axis=0) * length
    places = start + tl.arange(0, BLOCK)
    inside = places < start + length
    row = tl.load(scores + places, mask=inside, other=0.0)
    row = tl.where(inside, row, float("-inf"))
    powers = tl.where(inside, tl.exp(row - tl.max(row, 0)), 0.0)
    tl.store(weights + places, powers / tl.sum(powers, 0), mask=inside)


@jit
def right_by_logsumexp(scores, weights, length, BLOCK: tl.constexpr):
    j = tl.arange(0, BLOCK)
    i = tl.program_id(0)
    x = tl.load(scores + i * length + j, mask=j < length, other=float("-inf"))
    x = x - tl.max(x, axis=0)
    tl.store(
        weights + i * length + j, tl.exp(x - tl.log(tl.sum(tl.exp(x), axis=0))), mask=j < length
    )


WRONG = {
    "stores past the row's end": patched(
        "softmax_kernel", "powers / total, mask=there => powers / total"
    ),
    "one column too many": patched("softmax_kernel", "columns < length => columns <= length"),
    "the last column left out": patched(
        "softmax_kernel", "columns < length => columns < length - 1"
    ),
    "absolute maximum": patched(
        "softmax_kernel",
        "largest = tl.max(numbers, axis=0) => largest = tl.max(tl.where(there, tl.abs(numbers), 0.0), axis=0)",
    ),
    "small constant in the sum": patched(
        "softmax_kernel", "powers / total => powers / (total + 1e-4)"
    ),
    "exponent cut off": patched(
        "softmax_kernel", "tl.exp(numbers - largest) => tl.exp(tl.minimum(numbers, 80.0))"
    ),
}
