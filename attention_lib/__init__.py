"""The solution library of a course that builds the attention mechanism from the inside.

Every exercise that is a function has its reference here, under the exercise's own name. The
functions live in one module a lesson, in lesson order; `check`, `hint` and `solution` are what
a learner calls from a notebook.
"""

from attention_lib.checks import check, hint, solution
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
    "check",
    "cross_entropy",
    "hint",
    "largest_exponent",
    "log_softmax",
    "logsumexp",
    "masked_softmax",
    "merge_softmax_stats",
    "normalize_by_sum",
    "softmax",
    "solution",
    "stable_softmax",
    "weighted_sum",
]
