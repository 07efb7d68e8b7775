"""`decode_part(query, key, value)` returns attention over a part of the keys, and its log-sum-exp.

Tensors `(..., L, d)`, `(..., S, d)`, `(..., S, d_v)` → `(output, logsumexp)`, `(..., L, d_v)` and
`(..., L)`, from tensor primitives: attention scaled by 1/√d over these keys alone, and the log-sum-exp of
each query's scaled scores. A part without keys gives zeros and -inf. The output is in the inputs' dtype,
the log-sum-exp in it or in float32, both on the inputs' device. Parts are joined by `merge_attention`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import Any

from numpy.random import Generator

from attention_lib.checks.calls.case import Answer, Case
from attention_lib.checks.exercise import Exercise, OfAnyNumbers, composable, known_mistakes
from attention_lib.exercises.parts.tensors import (
    LazyReference,
    draw_inputs,
    leaves_device,
    output_magnitude,
)

HINTS = (
    "The scores are those of torch_attention, without a mask. torch.logsumexp(scores, dim=-1) is the "
    "second result, of shape (..., L).",
    "With it the weights need no other maximum: torch.exp(scores - logsumexp[..., None]) sums to 1.",
    "Of no keys torch.logsumexp is -inf, and a product over no keys gives zeros: with the weights as "
    "above nothing is to be done for them. torch.max over no keys stops.",
)


def cases(rng: Generator) -> Iterator[Case]:
    import torch

    query = torch.tensor([[1.0, 0.0, 0.0, 2.0]])
    key = torch.tensor([[2.0, 0.0, 0.0, 0.0], [0.0, 1.0, 0.0, 1.0]])
    yield Case(query, key, torch.tensor([[0.0], [4.0]]))
    yield Case(query, key[:0], torch.zeros(0, 3))  # a part without keys
    yield Case(*draw_inputs(rng, (), (3, 5, 6, 2), "float32"))
    yield Case(*draw_inputs(rng, (2, 3), (1, 9, 4, 5), "float32"))  # one new token
    yield Case(*draw_inputs(rng, (3,), (3, 3, 3, 3), "float32"))  # square
    yield Case(*draw_inputs(rng, (2,), (4, 1, 5, 3), "float32"))
    yield Case(*draw_inputs(rng, (2,), (4, 0, 5, 3), "float32"))
    query, key, value = draw_inputs(rng, (2,), (3, 6, 4, 5), "float32")
    heights = torch.tensor(rng.uniform(200.0, 900.0, (2, 3, 1)), dtype=torch.float32)
    steep = key[..., :1].abs() + 0.5
    yield Case(heights.expand(2, 3, 4) * 1.0, steep * torch.ones(4), value)  # exp overflows
    yield Case(-heights.expand(2, 3, 4), steep * torch.ones(4), value)  # and underflows


def magnitude(query: Any, key: Any, value: Any) -> tuple[Any, Any]:
    import torch

    if not key.shape[-2]:
        rows = query.abs().sum(dim=-1) * 0.0
        return torch.zeros((*rows.shape, value.shape[-1])), rows
    scores = query.abs() @ key.abs().transpose(-2, -1) / math.sqrt(query.shape[-1])
    return output_magnitude(query, key, value), 1.0 + scores.amax(dim=-1)


OTHER_DTYPE = (
    "The output has another dtype than the inputs: bring it to value.dtype. The log-sum-exp may stay in "
    "float32."
)


def problem_with_dtypes(answer: Answer, rng: Generator) -> str | None:
    """Try inputs in 16 and in 64 bits, of which the log-sum-exp may come in float32."""
    import torch

    for dtype, close in (("float16", 1e-2), ("bfloat16", 5e-2), ("float64", 1e-5)):
        inputs = draw_inputs(rng, (2,), (3, 5, 6, 7), dtype)
        output, logsumexp = answer(*inputs)
        if output.dtype != inputs[0].dtype:
            return OTHER_DTYPE
        if logsumexp.dtype not in (inputs[0].dtype, torch.float32):
            return f"The log-sum-exp is in {logsumexp.dtype}: return the inputs' dtype, or float32."
        right = EXERCISE.reference(*(tensor.double() for tensor in inputs))
        for got, expected in zip((output, logsumexp), right, strict=True):
            if not torch.allclose(got.double(), expected, rtol=close, atol=close):
                return f"For inputs in {dtype} the numbers are not right to {close:g}."
    return None


@composable
def part_with(
    *,
    scale: Callable[..., float] = lambda query, key, value: 1 / math.sqrt(query.shape[-1]),
    sums: Callable[[Any], Any] = lambda scores: scores.logsumexp(dim=-1),
    weigh: Callable[[Any, Any], Any] = lambda scores, total: (scores - total[..., None]).exp(),
    end: Callable[..., Any] = lambda output, total, scores, value: (output, total),
) -> Answer:
    """Make a right answer, in float64, with one thing changed."""

    def answer(query: Any, key: Any, value: Any) -> Any:
        import torch

        scores = query.double() @ key.double().transpose(-2, -1) * scale(query, key, value)
        total = sums(scores)
        output = weigh(scores, total) @ value.double()
        result = end(output.to(value.dtype), total.float(), scores, value)
        return result if isinstance(result, torch.Tensor) else tuple(result)

    return answer


def naive(scores: Any) -> Any:
    return scores.float().exp().sum(dim=-1).log().double()


def naive_weights(scores: Any, total: Any) -> Any:
    exponentials = scores.float().exp()
    return (exponentials / exponentials.sum(dim=-1, keepdim=True)).double()


def softmax_of(scores: Any, total: Any) -> Any:
    return scores.softmax(dim=-1)


def maximum_of(scores: Any) -> Any:
    return scores.amax(dim=-1) if scores.shape[-1] else scores.logsumexp(dim=-1)


def torch_where_finite(numbers: Any, otherwise: Any) -> Any:
    return numbers.where(numbers.isfinite(), otherwise)


def in_float32(query: Any, key: Any, value: Any) -> Any:
    output, total = part_with()(query.float(), key.float(), value.float())
    return output, total


WRONG_DEVICE = (
    "A tensor inside decode_part is on the CPU whatever device the inputs are on: give "
    "device=query.device where you make one, and leave .cpu() out."
)


def leaves_its_device(answer: Answer, _rng: Generator) -> str | None:
    return (
        OfAnyNumbers(WRONG_DEVICE)
        if leaves_device(answer, ((2, 3, 6), (2, 5, 6), (2, 5, 7)))
        else None
    )


MISTAKES = known_mistakes(
    "never-scaled: The scores are not scaled: divide them by √d, also for the log-sum-exp.",
    part_with(scale=lambda query, key, value: 1.0),
    "logsumexp-not-scaled: The log-sum-exp is that of scores without 1/√d: both results take the scaled "
    "scores.",
    lambda query, key, value: (
        part_with()(query, key, value)[0],
        part_with(scale=lambda *tensors: 1.0)(query, key, value)[1],
    ),
    "divided-by-d: The scores are divided by d: divide by its square root.",
    part_with(scale=lambda query, key, value: 1 / query.shape[-1]),
    "root-of-d-v: The scores are divided by √d_v: the length of a query counts, query.shape[-1].",
    part_with(scale=lambda query, key, value: 1 / math.sqrt(value.shape[-1])),
    "maximum-for-logsumexp: The second result is the maximum of the scores: it is the logarithm of the "
    "sum of their exponentials.",
    part_with(end=lambda output, total, scores, value: (output, maximum_of(scores).float())),
    "total-for-logsumexp: The second result is the sum of exponentials: return its logarithm.",
    part_with(end=lambda output, total, scores, value: (output, total.exp())),
    "total-under-maximum: The second result is the logarithm of the sum of exp(score − maximum): add the "
    "maximum again.",
    part_with(
        end=lambda output, total, scores, value: (
            output,
            torch_where_finite(total - maximum_of(scores).float(), total),
        )
    ),
    "base-2: The logarithm is to base 2: use the natural one.",
    part_with(end=lambda output, total, scores, value: (output, total / math.log(2))),
    "not-divided: The output is not divided by the sum of the exponentials: it is an average.",
    part_with(weigh=lambda scores, total: scores.exp()),
    part_with(weigh=lambda scores, total: (scores - maximum_of(scores)[..., None]).exp()),
    "axis-kept: The log-sum-exp keeps the axis of the keys: its shape is (..., L), without keepdim=True.",
    part_with(end=lambda output, total, scores, value: (output, total[..., None])),
    "pair-reversed: The pair is reversed: return (output, logsumexp).",
    part_with(end=lambda output, total, scores, value: (total, output)),
    "output-alone: The output alone is returned: return the pair (output, logsumexp).",
    part_with(end=lambda output, total, scores, value: output),
    "empty-part-nan: A part without keys gives NaN: its output is zeros and its log-sum-exp is -inf.",
    part_with(
        end=lambda output, total, scores, value: (
            output if scores.shape[-1] else output * math.nan,
            total,
        )
    ),
    "empty-part-zero: The log-sum-exp of no keys is -inf: a sum of no exponentials is 0, and its "
    "logarithm -inf. With 0 the part would count for a key with the score 0.",
    part_with(
        end=lambda output, total, scores, value: (
            output,
            total.masked_fill(total == -math.inf, 0.0),
        )
    ),
    "softmax-over-queries: Sums and softmax run over the queries: they must run over the keys, dim=-1.",
    part_with(weigh=lambda scores, total: scores.softmax(dim=-2)),
    "exp-overflows: The exponentials of large scores overflow: torch.logsumexp subtracts each row's "
    "maximum first.",
    part_with(sums=naive, weigh=naive_weights),
    part_with(sums=naive),
    part_with(sums=naive, weigh=softmax_of),
    part_with(sums=naive, weigh=lambda scores, total: naive_weights(scores, total).nan_to_num()),
    f"wrong-device: {WRONG_DEVICE}",
    lambda query, key, value: tuple(one.cpu() for one in part_with()(query, key, value)),
    f"output-in-float32: {OTHER_DTYPE}",
    in_float32,
    measured=("wrong-device", "output-in-float32"),
)

EXERCISE = Exercise(
    name="decode_part",
    points=2,
    minutes=8,
    reference=LazyReference("decode_part"),
    accelerated=True,
    cases=cases,
    magnitude=magnitude,
    probes=(problem_with_dtypes, leaves_its_device),
    hints=HINTS,
    mistakes=MISTAKES,
)
