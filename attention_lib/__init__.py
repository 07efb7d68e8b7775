"""The solution library of a course that builds the attention mechanism from the inside.

Every exercise that is a function has its reference here, under the exercise's own name. The
functions live in one module a lesson, in lesson order; `check`, `hint` and `solution` are what
a learner calls from a notebook, and come with the first use of one of them.
"""

from __future__ import annotations

import importlib
from typing import Any

from attention_lib.attention import (
    attention,
    causal_mask,
    cross_attention,
    padding_mask,
    self_attention,
)
from attention_lib.flash import (
    attention_bytes,
    online_softmax_stats,
    tiled_attention,
    tiled_attention_backward,
    tiled_causal_attention,
)
from attention_lib.gradients import (
    attention_backward,
    cross_entropy_grad,
    numerical_gradient,
    softmax_jacobian,
    softmax_vjp,
)
from attention_lib.multihead import (
    decode_step,
    grouped_query_attention,
    merge_heads,
    multi_head_attention,
    rotary_embedding,
    split_heads,
)
from attention_lib.scaling import (
    dot_product_scores,
    entropy,
    scaled_scores,
    score_std,
    softcap,
    softmax_with_temperature,
    temperature_for_entropy,
)
from attention_lib.softmax import normalize_by_sum, softmax, weighted_sum
from attention_lib.stability import (
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
    "causal_mask",
    "check",
    "cross_attention",
    "cross_entropy",
    "cross_entropy_grad",
    "decode_step",
    "dot_product_scores",
    "entropy",
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
    "weighted_sum",
]

# Names that are fetched when first used, so that importing the library stays light.
_LATER = {
    "check": "attention_lib.checks",
    "hint": "attention_lib.checks",
    "solution": "attention_lib.checks",
}


def __getattr__(name: str) -> Any:
    if name not in _LATER:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(_LATER[name]), name)
