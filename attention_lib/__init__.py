"""The solution library of a course that builds the attention mechanism from the inside.

Every exercise that is a function has its reference here, under the exercise's own name. The
functions live in one module a lesson, in lesson order; `check`, `hint` and `solution` are what
a learner calls from a notebook. These three, and the last lesson with its PyTorch, come with the
first use of one of them.
"""

from __future__ import annotations

import importlib
from typing import Any

from attention_lib.lessons.attention import (
    attention,
    causal_mask,
    cross_attention,
    padding_mask,
    self_attention,
)
from attention_lib.lessons.flash import (
    attention_bytes,
    online_softmax_stats,
    tiled_attention,
    tiled_attention_backward,
    tiled_causal_attention,
)
from attention_lib.lessons.gradients import (
    attention_backward,
    cross_entropy_grad,
    numerical_gradient,
    softmax_jacobian,
    softmax_vjp,
)
from attention_lib.lessons.multihead import (
    decode_step,
    grouped_query_attention,
    merge_heads,
    multi_head_attention,
    rotary_embedding,
    split_heads,
)
from attention_lib.lessons.scaling import (
    dot_product_scores,
    entropy,
    scaled_scores,
    score_std,
    softcap,
    softmax_with_temperature,
    temperature_for_entropy,
)
from attention_lib.lessons.softmax import normalize_by_sum, softmax, weighted_sum
from attention_lib.lessons.stability import (
    cross_entropy,
    largest_exponent,
    log_softmax,
    logsumexp,
    masked_softmax,
    merge_softmax_stats,
    stable_softmax,
)

__all__ = [
    "attention",
    "attention_backward",
    "attention_bytes",
    "attention_flops",
    "causal_mask",
    "check",
    "cross_attention",
    "cross_entropy",
    "cross_entropy_grad",
    "decode_step",
    "dot_product_scores",
    "entropy",
    "flash_attention",
    "flash_kernel",
    "grouped_query_attention",
    "hint",
    "largest_exponent",
    "log_softmax",
    "logsumexp",
    "masked_softmax",
    "merge_heads",
    "merge_softmax_stats",
    "multi_head_attention",
    "normalize_by_sum",
    "numerical_gradient",
    "online_softmax_stats",
    "padding_mask",
    "pick_device",
    "rotary_embedding",
    "scaled_scores",
    "score_std",
    "self_attention",
    "softcap",
    "softmax",
    "softmax_jacobian",
    "softmax_vjp",
    "softmax_with_temperature",
    "solution",
    "split_heads",
    "stable_softmax",
    "temperature_for_entropy",
    "tiled_attention",
    "tiled_attention_backward",
    "tiled_causal_attention",
    "time_milliseconds",
    "torch_attention",
    "weighted_sum",
]

# Names that are fetched when first used, so that importing the library stays light.
_LATER = {
    "attention_flops": "attention_lib.lessons.gpu",
    "check": "attention_lib.checks.commands",
    "flash_attention": "attention_lib.lessons.gpu.launch",
    "flash_kernel": "attention_lib.lessons.gpu.kernel",
    "hint": "attention_lib.checks.commands",
    "pick_device": "attention_lib.lessons.gpu",
    "solution": "attention_lib.checks.commands",
    "time_milliseconds": "attention_lib.lessons.gpu",
    "torch_attention": "attention_lib.lessons.gpu",
}


def __getattr__(name: str) -> Any:
    if name not in _LATER:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(_LATER[name]), name)
