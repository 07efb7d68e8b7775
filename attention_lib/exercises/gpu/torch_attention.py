"""`torch_attention(query, key, value, is_causal=False)` returns attention's output from tensor primitives.

Query `(..., L, d_k)`, key `(..., S, d_k)`, value `(..., S, d_v)` → `(..., L, d_v)`, in the inputs' dtype,
on the inputs' device. Any floating dtype; differentiable; causal aligned top-left: query i sees the keys
0 to i. No fused attention.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

from numpy.random import Generator

from attention_lib.checks.calls import staging
from attention_lib.checks.calls.case import Answer, Case
from attention_lib.checks.exercise import Exercise, OfAnyNumbers, known_mistakes
from attention_lib.exercises.parts.tensors import (
    LazyReference,
    draw_inputs,
    draw_tensors,
    leaves_device,
    output_magnitude,
)

HINTS = (
    "The steps are those of lesson 05: scaled scores, mask, softmax, mixture. For tensors, "
    "key.transpose(-2, -1) turns the last two axes and torch.softmax(scores, dim=-1) is there.",
    "The causal mask is torch.ones(L, S, dtype=torch.bool, device=query.device).tril(): True "
    "where the key is not after the query.",
    "scores.masked_fill(~mask, float('-inf')) fills what may not be seen. Return the dtype of "
    "value. Half precision may be computed in float32, but float64 may not.",
)


def cases(rng: Generator) -> Iterator[Case]:
    import torch

    query = torch.tensor([[1.0, 0.0], [0.0, 2.0]], dtype=torch.float64)
    key = torch.tensor([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]], dtype=torch.float64)
    value = torch.tensor([[1.0], [2.0], [4.0]], dtype=torch.float64)
    yield Case(query, key, value)
    yield Case(query, key, value, is_causal=True)
    yield Case(*draw_inputs(rng, (), (3, 5, 6, 2)))
    yield Case(*draw_inputs(rng, (2,), (5, 3, 7, 2)), is_causal=True)  # more queries than keys
    yield Case(*draw_inputs(rng, (2, 3), (3, 7, 5, 6)), True)
    yield Case(*draw_inputs(rng, (3,), (3, 3, 3, 3)))  # square: here a lost axis gives numbers
    yield Case(*draw_inputs(rng, (2, 3), (5, 7, 6, 2), "float32"))
    yield Case(*draw_inputs(rng, (3,), (5, 5, 7, 2), "float32"), is_causal=True)
    yield Case(*draw_inputs(rng, (2,), (3, 6, 5, 7), "float16"))
    yield Case(*draw_inputs(rng, (2,), (4, 4, 3, 5), "float16"), is_causal=True)
    yield Case(*draw_inputs(rng, (2,), (6, 6, 5, 3), "bfloat16"), is_causal=True)
    query, key, value = draw_inputs(rng, (2,), (3, 5, 6, 7))
    yield Case(query * 1000.0, key, value)  # exponentials that overflow
    slope = torch.linspace(-1.0, 1.0, 5, dtype=torch.float64)[:, None]
    rising = slope * (1.0 + key.abs())  # the future would take all the weight
    yield Case(1000.0 * (1.0 + query.abs()), rising, value, is_causal=True)
    yield Case(query + 0 * query[:, :1], key - 40.0 * query.mean(), value, False)


NO_GRADIENT = (
    "No gradient flows back through the output: leave detach, no_grad, .item() and NumPy out, and "
    "compute with tensors from the inputs to the output."
)
CHANGED_IN_PLACE = (
    "A tensor that autograd needs for the gradient is changed in place: write x = x / y in place "
    "of x /= y, and leave out functions whose names end with an underscore."
)


def problem_with_gradients(answer: Answer, rng: Generator) -> str | None:
    """Compare the gradients of an answer with those of the reference."""
    import torch

    for is_causal in (False, True):
        inputs = draw_inputs(rng, (2,), (3, 5, 6, 7))
        (toward,) = draw_tensors(rng, (2, 3, 7))
        try:
            got = staging.gradients(answer, inputs, toward, is_causal=is_causal)
        except RuntimeError as error:
            if "inplace operation" in str(error):
                return CHANGED_IN_PLACE
            raise
        if got is None:
            return OfAnyNumbers(NO_GRADIENT)
        right = staging.gradients(EXERCISE.reference, inputs, toward, is_causal=is_causal)
        for name, one, other in zip(("query", "key", "value"), got, right, strict=True):
            if one is None:
                return OfAnyNumbers(f"{NO_GRADIENT} Here it is {name} that gets no gradient.")
            if not torch.allclose(one, other, rtol=1e-6, atol=1e-9):
                return (
                    f"The gradient with respect to {name} is wrong: leave "
                    "nothing of the calculation out of autograd's sight."
                )
    return None


WRONG_DEVICE = (
    "A tensor inside torch_attention is on the CPU whatever device the inputs are on: make each with "
    "device=query.device, and move none."
)


def leaves_its_device(answer: Answer, _rng: Generator) -> str | None:
    shapes = (2, 3, 6), (2, 5, 6), (2, 5, 7)
    left = any(leaves_device(answer, shapes, is_causal) for is_causal in (False, True))
    return OfAnyNumbers(WRONG_DEVICE) if left else None


def plain(query, key, value, is_causal=False):
    import torch

    scale = math.sqrt(query.shape[-1])
    scores = query @ key.transpose(-2, -1) / scale
    if is_causal:
        seen = torch.ones(scores.shape[-2:], dtype=torch.bool, device=query.device).tril()
        scores = scores.masked_fill(~seen, -math.inf)
    weights = torch.softmax(scores, dim=-1)
    return weights @ value


def in_float32(query, key, value, is_causal=False):  # no patch: with others it would hide a dtype
    return plain(query.float(), key.float(), value.float(), is_causal).to(value.dtype)


HIDDEN = "scores.masked_fill(~seen, -math.inf)"
LATE = "return weights => if is_causal:\n        weights = weights * seen"

MISTAKES = known_mistakes(
    plain,
    "fused: fused attention: write it with matrix products and other plain tensor operations.",
    "return weights @ value => "
    "return torch.nn.functional.scaled_dot_product_attention(query, key, value, is_causal=is_causal)",
    "never-scaled: The scores are not scaled: divide them by the square root of d_k.",
    " / scale => ",
    "root-of-d-v: The scores are divided by √d_v: the length of a query counts, query.shape[-1].",
    "(query.shape[-1]) => (value.shape[-1])",
    "divided-by-d-k: The scores are divided by d_k: divide by its square root.",
    "math.sqrt => ",
    "root-of-keys: The scores are divided by the square root of the number of keys: d_k is the "
    "last axis, query.shape[-1].",
    "(query.shape[-1]) => (key.shape[-2])",
    "aligned-bottom-right: The causal mask is aligned at the bottom right: query 0 sees key 0 and "
    "no other, also where L and S differ.",
    ".tril() => .tril(scores.shape[-1] - scores.shape[-2])",
    "causal-ignored: is_causal is ignored: with it, query i sees the keys 0 to i only.",
    ".tril() => ",
    "mask-reversed: The mask is reversed: it hides the past, and the future is seen.",
    ".tril() => .triu()",
    ".tril() => .triu(1)",
    "own-key-missed: Each query misses its own key: key i may be seen by query i.",
    ".tril() => .tril(-1)",
    "one-key-ahead: Each query sees one key of the future: the last one it may see is its own.",
    ".tril() => .tril(1)",
    "masked-scores-zero: Masked scores are set to 0, which softmax gives a weight: fill in -inf.",
    "-math.inf => 0.0",
    "mask-added: The mask's 1 and 0 are added to the scores: fill -inf into those that it hides.",
    f"{HIDDEN} => scores + seen",
    "masked-after-softmax: The mask comes after the softmax: fill -inf into the scores before it, "
    "so that what is hidden takes no part in the sum.",
    f"{HIDDEN} => scores && {LATE}\n    return weights",
    f"{HIDDEN} => scores && {LATE}\n        weights = weights / weights.sum(-1, keepdim=True)\n"
    "    return weights",
    "always-causal: Keys are hidden without is_causal, too: mask only where it is True.",
    "if is_causal => if True",
    "softmax-over-queries: The softmax runs over the queries: it must run over the keys, dim=-1.",
    "dim=-1 => dim=-2",
    "exp-overflows: NaN: exponentials overflow. torch.softmax subtracts each row's maximum first.",
    "torch.softmax(scores, => torch.exp(scores) / torch.sum(torch.exp(scores), keepdim=True,",
    "root-in-float32: The square root has the 7 digits of float32, and float64 inputs lose the "
    "others: torch.tensor(6) is float32 in torch.sqrt. math.sqrt(query.shape[-1]) has all digits.",
    "math.sqrt(query.shape[-1]) => torch.sqrt(torch.tensor(query.shape[-1]))",
    "computed-in-float32: float64 inputs are computed in float32, and half of their digits are "
    "lost: keep the inputs' dtype, or a wider one.",
    in_float32,
    f"no-gradient: {NO_GRADIENT}",
    "weights @ value => (weights @ value).detach()",
    f"changed-in-place: {CHANGED_IN_PLACE}",
    "torch.softmax(scores, dim=-1) => torch.exp(scores - scores.amax(dim=-1, keepdim=True))\n"
    "    weights /= weights.sum(dim=-1, keepdim=True)",
    f"wrong-device: {WRONG_DEVICE}",
    ", device=query.device => ",
    "is_causal=False): => is_causal=False):\n"
    "    query, key, value = query.cpu(), key.cpu(), value.cpu()",
    measured=(
        "fused",
        "no-gradient",
        "changed-in-place",
        "wrong-device",
    ),
)


EXERCISE = Exercise(
    name="torch_attention",
    points=3,
    minutes=10,
    reference=LazyReference("torch_attention"),
    accelerated=True,
    cases=cases,
    magnitude=output_magnitude,
    probes=(problem_with_gradients, leaves_its_device),
    hints=HINTS,
    mistakes=MISTAKES,
)
