"""`flash_kernel` is the inner loop of a Triton forward kernel.

`flash_kernel(query, key_pointers, value_pointers, key_stride, value_stride, start, stop, limit, scale,
output, total, maximum, BLOCK: tl.constexpr, MASKED: tl.constexpr)` takes the keys from `start` to `stop`,
`BLOCK` at a time, into output, total and maximum, and returns the three in this order. Query `(ROWS, d)`;
`key_pointers` and `value_pointers` `(BLOCK, d)` point at the keys 0 to BLOCK − 1, and the strides lead
from one key to the next. `scale` is log2(e)/√d. If `MASKED`, row i may see the keys below `limit[i]` only,
and the last block may be short; if not, every block is whole.
Output `(ROWS, d)`, total `(ROWS,)` and maximum `(ROWS,)` are what the keys before `start` have left.
It is compiled on CUDA, and run in NumPy elsewhere. float32, float16 and bfloat16.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from numpy.random import Generator

from attention_lib.checks.calls import staging
from attention_lib.checks.calls.case import Answer, Case
from attention_lib.checks.exercise import Exercise, known_mistakes
from attention_lib.exercises.parts import kernels
from attention_lib.exercises.parts.kernels import calls_the_library
from attention_lib.exercises.parts.tensors import (
    LazyReference,
    draw_inputs,
    output_magnitude,
)

HINTS = (
    "The loop is for first in range(start, stop, BLOCK). Its keys have the numbers columns = "
    "first + tl.arange(0, BLOCK); those below stop are there.",
    "tl.load(key_pointers + first * key_stride, mask=there, other=0.0), with there = "
    "columns[:, None] < stop, loads a block of keys that may be short, as under MASKED; a whole one "
    "needs no mask. Values go the same way. The scores are tl.dot(query, tl.trans(key)) * scale.",
    "If MASKED, keep scores where columns[None, :] < limit[:, None] and put float('-inf') "
    "elsewhere. Then larger = tl.maximum(maximum, tl.max(scores, axis=1)).",
    "weights = tl.exp2(scores - larger[:, None]) and shrink = tl.exp2(maximum - larger). Both "
    "total and output are multiplied by shrink before this block's share is added; tl.dot "
    "wants weights.to(value.dtype). At the end of the turn, maximum = larger.",
)


def launched(answer: Any) -> Answer:
    """Launch a kernel, or the edited text of the library's."""
    return staging.launched(kernels.as_kernel(answer))


def cases(rng: Generator) -> Iterator[Case]:
    import torch

    query = torch.tensor([[[1.0, 0.0], [0.0, 2.0]]])
    key = torch.tensor([[[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]]])
    value = torch.tensor([[[1.0, 2.0], [3.0, 4.0], [5.0, 7.0]]])
    yield Case(query, key, value)
    yield Case(query, key, value, is_causal=True)
    yield Case(*draw_heads(rng, 1, 3, 64, 32))  # two full blocks
    # Off CUDA each tile takes milliseconds: as few as show what a case is for.
    yield Case(*draw_heads(rng, 2, 10, 45, 32))  # the last block is short
    yield Case(*draw_heads(rng, 1, 37, 37, 64), is_causal=True, tile=(32, 32))
    yield Case(*draw_heads(rng, 1, 32, 32, 32), is_causal=True, tile=(16, 16))
    yield Case(*draw_heads(rng, 1, 18, 50, 40, "float16"), is_causal=True, tile=(32, 16))
    yield Case(*draw_heads(rng, 1, 5, 33, 48, "bfloat16"))
    query, key, value = draw_heads(rng, 1, 7, 70, 32)
    yield Case(40.0 * query, key, value)  # exponentials that overflow without their maximum
    slope = torch.linspace(1.0, -1.0, 70)[:, None]
    for direction in (slope, -slope):  # the largest scores come first, and last
        yield Case(100.0 * query.abs(), direction * key.abs(), value)
    query, key, value = draw_heads(rng, 1, 16, 16, 32)  # hidden scores are far the largest
    rising = torch.linspace(-1.0, 1.0, 16)[:, None] * (1.0 + key.abs())
    yield Case(100.0 * (1.0 + query.abs()), rising, value, is_causal=True, tile=(16, 16))


def draw_heads(
    rng: Generator, heads: int, length: int, keys: int, size: int, dtype: str = "float32"
) -> list[Any]:
    return draw_inputs(rng, (heads,), (length, keys, size, size), dtype)


def magnitude(query: Any, key: Any, value: Any, is_causal: bool = False, tile: Any = None) -> Any:
    return output_magnitude(query, key, value, is_causal)


def exact_attention(
    query: Any, key: Any, value: Any, is_causal: bool = False, tile: Any = None
) -> Any:
    return LazyReference("torch_attention")(query, key, value, is_causal)


FINITE_MASK = (
    "Masked scores become a large negative number, which is a score like any other: below it, real scores lose "
    "to masked ones. float('-inf') is below them all."
)
MASKED_ALWAYS = (
    "limit is looked at where MASKED is False, too: put the mask under if MASKED. Without one, limit is not "
    "set, and each score of each block pays for the mask."
)


def finite_mask(answer: Any, _rng: Generator) -> str | None:
    """Try scores far below any number that masks are made of, float32's smallest apart."""
    import torch

    query = torch.full((1, 16, 16), 1e10)
    value = torch.arange(16.0)[:, None].expand(16, 16)[None].contiguous()
    output = launched(answer)(query, -query, value, is_causal=True, tile=(16, 16))
    return None if torch.isfinite(output).all() and (output[0, 0] == 0.0).all() else FINITE_MASK


def mask_without_need(answer: Any, rng: Generator) -> str | None:
    import torch

    query, key, value = draw_heads(rng, 1, 16, 32, 16)
    output = staging.launched_without_limit(kernels.as_kernel(answer))(query, key, value)
    right = exact_attention(query, key, value)
    return None if torch.allclose(output, right, rtol=1e-3, atol=1e-3) else MASKED_ALWAYS


# Text of attention_lib/lessons/gpu/kernel.py that the mistakes replace; a comment there says so.
LARGER = "tl.maximum(maximum, tl.max(scores, axis=1) * scale)"
OUTPUT = "output * shrink[:, None] + tl.dot(weights.to(value.dtype), value)"
MIXED_OUTPUT = f"{OUTPUT} => (output + tl.dot(weights.to(value.dtype), value)) * shrink[:, None]"
MIXED_TOTAL = (
    "total * shrink + tl.sum(weights, axis=1) => (total + tl.sum(weights, axis=1)) * shrink"
)
NOT_FROM_START = "+= start * key_stride => += 0 && += start * value_stride => += 0"
REFERENCE = LazyReference("flash_kernel", truth=exact_attention)

MISTAKES = known_mistakes(
    REFERENCE,
    "nothing-rescaled: What earlier blocks left is not brought to the new maximum: multiply total "
    "and output by tl.exp2(old maximum - new one), while maximum is the old one.",
    "total * shrink => total && output * shrink[:, None] => output",
    "output-not-rescaled: total is rescaled to the new maximum, and output is not: multiply output by "
    "the same factor, as a column, [:, None].",
    "output * shrink[:, None] => output",
    "total-not-rescaled: output is rescaled to the new maximum, and total is not: multiply total by the "
    "same factor.",
    "total * shrink => total",
    "new-part-rescaled: What the present block adds is multiplied by the factor as well, which belongs "
    "to what earlier blocks left: multiply first, then add.",
    f"{MIXED_TOTAL} && {MIXED_OUTPUT}",
    MIXED_OUTPUT,
    MIXED_TOTAL,
    "no-maximum: No maximum is subtracted, and large scores overflow: keep the running maximum in "
    "the exponent.",
    f"{LARGER} => tl.zeros_like(maximum)",
    "block-maximum: The new maximum is that of this block only: take the larger of it and the one so far.",
    f"{LARGER} => tl.max(scores, axis=1) * scale",
    "maximum-never-updated: maximum is never updated, so every block forgets the ones before: end "
    "the turn with the new one in maximum.",
    "        maximum = larger\n => ",
    "mask-missing: Masked keys keep their scores: if MASKED, row i gets -inf from key limit[i] on.",
    'tl.where(columns[None, :] < limit[:, None], scores, float("-inf")) => scores',
    "limit[:, None] => stop",
    "masked-scores-zero: Masked keys get the score 0, a score like any other: put -inf there.",
    'float("-inf") => 0.0',
    "maximum-before-mask: The maximum is taken before the mask: under a far larger masked score every "
    "exponential of a row is 0. Mask the scores first.",
    "tl.trans(key)) => tl.trans(key))\n        peak = tl.max(scores, axis=1)"
    " && tl.max(scores, axis=1) * scale => peak * scale",
    "one-key-too-many: One key too many is seen: row i may see the keys below limit[i], limit[i] "
    "not among them.",
    "columns[None, :] < => columns[None, :] <=",
    "mask-reversed: The mask is reversed: what is kept are the keys below limit, columns[None, :] "
    "< limit[:, None].",
    "columns[None, :] < => columns[None, :] >=",
    "block-numbered-from-zero: The keys of every block are numbered from 0 where they meet limit: "
    "the first of them is key number first.",
    "columns[None, :] => tl.arange(0, BLOCK)[None, :]",
    "never-scaled: The scores are not scaled: multiply them by scale.",
    "tl.max(scores, axis=1) * scale => tl.max(scores, axis=1) && scores * scale => scores",
    "maximum-before-scale: The maximum is taken before the scores are scaled, and subtracted "
    "after: multiply it by scale as well.",
    "tl.max(scores, axis=1) * scale => tl.max(scores, axis=1)",
    "log2-e-twice: log2 e counts double: scale holds it already, so take tl.exp2 of what scale "
    "makes, tl.exp nowhere, and multiply by nothing else.",
    "tl.exp2(scores => tl.exp(scores && tl.exp2(maximum => tl.exp(maximum",
    "tl.exp2(scores => tl.exp(scores",
    "first-block-every-turn: Every turn loads the first block: move the pointers on by first * "
    "key_stride and first * value_stride.",
    f"{NOT_FROM_START} && += BLOCK * key_stride => += 0 && += BLOCK * value_stride => += 0",
    "start-ignored: The keys are read from number 0 on, whatever start is: before the loop, move "
    "the pointers on by start * key_stride and start * value_stride.",
    NOT_FROM_START,
    "loads-past-end: NaN: the loads read past the last key. Give tl.load mask=there, other=0.0.",
    "key_pointers, mask=there, other=0.0 => key_pointers"
    " && value_pointers, mask=there, other=0.0 => value_pointers",
    "divided-too-early: output is divided by total: the launch does that, once, at the end.",
    "return output => return output / total[:, None]",
    f"{OUTPUT} => ({OUTPUT}) / total[:, None]",
    "begins-anew: The loop begins anew: go on from the output, total and maximum handed in.",
    'for first in => maximum = tl.full(maximum.shape, float("-inf"), tl.float32)\n'
    "    total = total * 0.0\n    output = output * 0.0\n    for first in",
    "one-block-alone: Only the first block is taken: go from start to stop in steps of BLOCK.",
    "range(start, stop => range(start, {tl.minimum(stop, start + BLOCK)|start + BLOCK}",
    "value-stride-of-keys: The values are taken to lie as far apart as the keys: their distance "
    "is value_stride.",
    "start * value_stride => start * key_stride && BLOCK * value_stride => BLOCK * key_stride",
    "moved-by-places: The pointers are moved by places, and a key has many: from one key to the "
    "next it is key_stride, from one value to the next value_stride.",
    "start * key_stride => start && start * value_stride => start"
    " && BLOCK * key_stride => BLOCK && BLOCK * value_stride => BLOCK",
    "results-reordered: What is returned is in another order: output, total, maximum.",
    "return output, total, maximum => return output, maximum, total",
    f"finite-mask: {FINITE_MASK}",
    'float("-inf") => {-1.0e9|-1.0e6}',
    f"masked-always: {MASKED_ALWAYS}",
    "if MASKED:  # => if True:  # && if MASKED:\n => if True:\n",
    measured=("finite-mask", "masked-always"),
)

EXERCISE = Exercise(
    name="flash_kernel",
    points=5,
    minutes=18,
    reference=REFERENCE,
    signature="flash_kernel(query, key_pointers, value_pointers, key_stride, value_stride, start, stop, "
    "limit, scale, output, total, maximum, BLOCK: tl.constexpr, MASKED: tl.constexpr)",
    accelerated=True,
    run=launched,
    run_as="def flash_attention(query, key, value, is_causal=False, tile=(16, 32))",
    cases=cases,
    magnitude=magnitude,
    probes=(
        calls_the_library("flash_kernel", "write the loop with Triton's operations."),
        finite_mask,
        mask_without_need,
    ),
    hints=HINTS,
    mistakes=MISTAKES,
)
