"""`log_softmax(scores, axis=-1)` returns the logarithms of the softmax weights.

It is accurate where softmax itself underflows: `[0, -1000]` → `[0, -1000]`.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from attention_lib.checks.calls.case import Answer, Case
from attention_lib.checks.exercise import Exercise, composable, known_mistakes
from attention_lib.exercises.parts.cases import drawn_again, other_scores
from attention_lib.exercises.parts.magnitudes import logarithms_magnitude
from attention_lib.exercises.parts.softmax import EPSILONS, plain_softmax
from attention_lib.lessons.stability import log_softmax, logsumexp, stable_softmax

TINY = (*EPSILONS, 1e-15, 1e-16, 1e-20, 1e-30)  # what learners add, or take for a limit

HINTS = (
    "Write log(e^s_i / sum) as a difference: no weight needs to be computed at all.",
    "log p_i = s_i - logsumexp(s). With which keepdims does the subtraction line up?",
)


def cases(rng: Generator) -> Iterator[Case]:
    yield Case(np.array([0.0, -1000.0]))
    yield Case(np.array([1000.0, 0.0, 1000.0]))  # log 2 counts where the weight is 0 as well
    yield Case(np.array([[1000.0, 0.0, -1.0], [-2000.0, -2001.0, -2003.0]]))
    yield Case(np.array([[3, 1, 2], [0, 800, 900]]))
    yield Case(rng.normal(0.0, 3.0, (3, 3)))  # square: here a lost axis gives numbers, not an error
    yield Case(rng.normal(0.0, 3.0, (2, 3, 5)), axis=1)
    yield Case(rng.normal(0.0, 3.0, (5, 3)) + np.array([-900.0, 0.0, 1200.0]), 0)
    yield Case(rng.normal(0.0, 2.0, (3, 7)))
    yield Case((rng.normal(0.0, 40.0, (3, 6)) + 120.0).astype(np.float32))
    yield Case(rng.normal(0.0, 3.0, (6, 2)).astype(np.float32), axis=-2)
    yield Case(np.array([[8e307, -8e307, 3e307], [-8e307, -8.5e307, -8.9e307]]))


@composable
def shifted(
    outside: float = 1.0,
    sum_axis: Answer = lambda axis: axis,
    log: Answer = np.log,
    of_weights: Answer | None = None,
) -> Answer:
    """Subtract the maximum and the logarithm of the sum, with a step replaced by a wrong one.

    With `of_weights` it takes the logarithm of what that makes of the weights.
    """

    def answer(scores: NDArray, axis: int = -1) -> NDArray:
        top = scores.max(axis=axis, keepdims=True)
        total = np.exp(scores - top).sum(axis=sum_axis(axis), keepdims=True)
        if of_weights is not None:
            return np.log(of_weights(np.exp(scores - top) / total))
        return scores - outside * top - log(total)

    return answer


MISTAKES = known_mistakes(
    "log-of-zero: This is the logarithm of the computed weights: a weight that underflows to 0 "
    "has logarithm -inf. Subtract logsumexp from the scores instead.",
    shifted(of_weights=np.positive),
    "exp-overflows: exp overflows before the shift: subtract each row's largest score first.",
    lambda scores, axis=-1: scores - np.log(np.exp(scores).sum(axis=axis, keepdims=True)),
    lambda scores, axis=-1: np.log(plain_softmax(scores, axis)),
    "small-constant: The logarithm of 0 is avoided by adding a small constant, which changes the "
    "result: subtract logsumexp from the scores instead.",
    *(
        shifted(of_weights=lambda weights, e=epsilon: weights + e)
        for epsilon in (*TINY, 1e-300)  # as a limit, the last gives the same
    ),
    "lower-limit: A lower limit on the weights avoids the logarithm of 0, and cuts off the logarithms "
    "below it: subtract logsumexp from the scores instead.",
    *(shifted(of_weights=lambda weights, e=epsilon: np.maximum(weights, e)) for epsilon in TINY),
    lambda scores, axis=-1: np.maximum(
        log_softmax(scores, axis), np.log(np.finfo(np.result_type(scores, np.float32)).tiny)
    ),
    shifted(of_weights=lambda w: np.where(w > 0, w, np.finfo(w.dtype).tiny)),
    "weights: These are the weights: return their logarithms.",
    lambda scores, axis=-1: stable_softmax(scores, axis),
    "maximum-inside-exp-only: The maximum is subtracted in exp only: subtract it outside as well.",
    shifted(outside=0),
    "maximum-twice: The maximum is subtracted twice: the scores less the maximum go with the logarithm "
    "of the sum alone.",
    shifted(outside=2),
    "sum-along-last-axis: The exponentials are added up along the last axis: use the axis you are given.",
    shifted(sum_axis=lambda axis: -1),
    "maximum-outside-exp-only: The maximum is subtracted outside of exp only: subtract it inside as "
    "well, where exp overflows.",
    lambda scores, axis=-1: (
        log_softmax(scores, axis)
        + logsumexp(scores, axis, True)
        - scores.max(axis=axis, keepdims=True)
        - np.log(np.exp(scores).sum(axis=axis, keepdims=True))
    ),
    "one-maximum: You subtract the maximum of the whole array: a row far below it underflows to "
    "log(0). Take each row's own maximum, along axis.",
    lambda scores, axis=-1: (
        scores - scores.max() - np.log(np.exp(scores - scores.max()).sum(axis=axis, keepdims=True))
    ),
    "logarithm-missing: The sum of the exponentials is subtracted: subtract its logarithm.",
    shifted(log=np.positive),
    "only-maximum: Only the maximum is subtracted: the logarithm of the sum is missing.",
    shifted(log=np.zeros_like),
    "last-axis-only: You always work along the last axis: use the axis you are given.",
    lambda scores, axis=-1: log_softmax(scores, -1),
    "whole-array: You take the whole array as one row: use the axis you are given.",
    lambda scores, axis=-1: log_softmax(scores, None),
    "keepdims-missing: logsumexp has lost its axis, so it does not line up with the scores: use "
    "keepdims=True.",
    lambda scores, axis=-1: scores - logsumexp(scores, axis),
    "sign-reversed: The sign is reversed: a logarithm of a weight is never positive.",
    lambda scores, axis=-1: -log_softmax(scores, axis),
    "base-2: These are logarithms to base 2: use the natural logarithm.",
    lambda scores, axis=-1: log_softmax(scores, axis) / np.log(2.0),
    "divided-by-logsumexp: You divide by logsumexp: the logarithm of a quotient is a difference.",
    lambda scores, axis=-1: scores / logsumexp(scores, axis, True),
)

EXERCISE = Exercise(
    name="log_softmax",
    points=2,
    minutes=4,
    reference=log_softmax,
    signature="log_softmax(scores, axis=-1)",
    cases=drawn_again(cases, other_scores),
    magnitude=logarithms_magnitude,
    hints=HINTS,
    mistakes=MISTAKES,
    built_on=("logsumexp",),
)
