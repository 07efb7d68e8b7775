"""`decode_part(query, key, value)` returns attention over a part of the keys, and its log-sum-exp.

Tensors `(..., L, d)`, `(..., S, d)`, `(..., S, d_v)` → `(output, logsumexp)`, `(..., L, d_v)` and
`(..., L)`, from tensor primitives: attention scaled by 1/√d over these keys alone, and the log-sum-exp of
each query's scaled scores. A part without keys gives zeros and -inf. The output is in the inputs' dtype,
the log-sum-exp in it or in float32, both on the inputs' device. Parts are joined by `merge_attention`.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

from numpy.random import Generator

from attention_lib.checks.calls.case import Answer, Case
from attention_lib.checks.exercise import Exercise, known_mistakes
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


WRONG_DEVICE = (
    "A tensor inside decode_part is on the CPU whatever device the inputs are on: give "
    "device=query.device where you make one, and leave .cpu() out."
)


def leaves_its_device(answer: Answer, _rng: Generator) -> str | None:
    return WRONG_DEVICE if leaves_device(answer, ((2, 3, 6), (2, 5, 6), (2, 5, 7))) else None


def plain(query, key, value):
    scale = 1 / math.sqrt(query.shape[-1])
    scores = query @ key.transpose(-2, -1) * scale
    logsumexp = scores.logsumexp(dim=-1)
    weights = (scores - logsumexp[..., None]).exp()
    output = weights @ value
    return output, logsumexp


WEIGHTS = "(scores - logsumexp[..., None]).exp()"
NAIVE = "scores.logsumexp(dim=-1) => scores.exp().sum(dim=-1).log()"
NAIVE_WEIGHTS = "scores.exp() / scores.exp().sum(dim=-1, keepdim=True)"
OUTPUT_AND = "return output, logsumexp => return output,"

MISTAKES = known_mistakes(
    plain,
    "never-scaled: The scores are not scaled: divide them by √d, also for the log-sum-exp.",
    " * scale => ",
    "logsumexp-not-scaled: The log-sum-exp is that of scores without 1/√d: both results take the scaled "
    "scores.",
    f"{OUTPUT_AND} (query @ key.transpose(-2, -1)).logsumexp(dim=-1)",
    "divided-by-d: The scores are divided by d: divide by its square root.",
    "math.sqrt => ",
    "root-of-d-v: The scores are divided by √d_v: the length of a query counts, query.shape[-1].",
    "(query.shape[-1]) => (value.shape[-1])",
    "maximum-for-logsumexp: The second result is the maximum of the scores: it is the logarithm of the "
    "sum of their exponentials.",
    f"{OUTPUT_AND} scores.amax(dim=-1) if key.shape[-2] else logsumexp",
    "total-for-logsumexp: The second result is the sum of exponentials: return its logarithm.",
    f"{OUTPUT_AND} logsumexp.exp()",
    "total-under-maximum: The second result is the logarithm of the sum of exp(score − maximum): add the "
    "maximum again.",
    f"{OUTPUT_AND} logsumexp - scores.amax(dim=-1) if key.shape[-2] else logsumexp",
    "base-2: The logarithm is to base 2: use the natural one.",
    f"{OUTPUT_AND} logsumexp / math.log(2)",
    "not-divided: The output is not divided by the sum of the exponentials: it is an average.",
    f"{WEIGHTS} => scores.exp()",
    f"{WEIGHTS} => (scores - scores.amax(dim=-1, keepdim=True)).exp() if key.shape[-2] else scores",
    "axis-kept: The log-sum-exp keeps the axis of the keys: its shape is (..., L), without keepdim=True.",
    f"{OUTPUT_AND} logsumexp[..., None]",
    "pair-reversed: The pair is reversed: return (output, logsumexp).",
    "return output, logsumexp => return logsumexp, output",
    "output-alone: Only the output is returned: return the pair (output, logsumexp).",
    "return output, logsumexp => return output",
    "empty-part-nan: A part without keys gives NaN: its output is zeros and its log-sum-exp is -inf.",
    "return output, => return output if key.shape[-2] else output * math.nan,",
    "empty-part-zero: The log-sum-exp of no keys is -inf: a sum of no exponentials is 0, and its "
    "logarithm -inf. With 0 the part would count for a key with the score 0.",
    f"{OUTPUT_AND} logsumexp.masked_fill(logsumexp == -math.inf, 0.0)",
    "softmax-over-queries: Sums and softmax run over the queries: they must run over the keys, dim=-1.",
    f"{WEIGHTS} => scores.softmax(dim=-2)",
    "exp-overflows: The exponentials of large scores overflow: torch.logsumexp subtracts each row's "
    "maximum first.",
    f"{NAIVE} && {WEIGHTS} => {NAIVE_WEIGHTS}",
    NAIVE,
    f"{NAIVE} && {WEIGHTS} => scores.softmax(dim=-1)",
    f"{NAIVE} && {WEIGHTS} => ({NAIVE_WEIGHTS}).nan_to_num()",
    f"wrong-device: {WRONG_DEVICE}",
    "return output, logsumexp => return output.cpu(), logsumexp.cpu()",
    f"output-in-float32: {OTHER_DTYPE}",
    "value): => value):\n    query, key, value = query.float(), key.float(), value.float()",
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
