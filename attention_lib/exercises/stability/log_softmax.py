"""`log_softmax(scores, axis=-1)` returns the logarithms of the softmax weights.

It is accurate where softmax itself underflows: `[0, -1000]` → `[0, -1000]`.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.random import Generator

from attention_lib.checks.calls.case import Case
from attention_lib.checks.exercise import Exercise, known_mistakes
from attention_lib.exercises.parts.cases import drawn_again, other_scores
from attention_lib.exercises.parts.choices import TINIER, TINY
from attention_lib.exercises.parts.magnitudes import logarithms_magnitude
from attention_lib.lessons.stability import log_softmax

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


def plain(scores, axis=-1):
    maximum = np.max(scores, axis=axis, keepdims=True)
    powers = np.exp(scores - maximum)
    total = np.sum(powers, axis=axis, keepdims=True)
    result = scores - maximum - np.log(total)
    return result


DIFFERENCE = "scores - maximum - np.log(total)"

MISTAKES = known_mistakes(
    plain,
    "log-of-zero: This is the logarithm of the computed weights: a weight that underflows to 0 "
    "has logarithm -inf. Subtract logsumexp from the scores instead.",
    f"{DIFFERENCE} => np.log(powers / total)",
    "exp-overflows: exp overflows before the shift: subtract each row's largest score first.",
    f"(scores - maximum) => (scores) && {DIFFERENCE} => scores - np.log(total)",
    f"(scores - maximum) => (scores) && {DIFFERENCE} => np.log(powers / total)",
    "small-constant: The logarithm of 0 is avoided by adding a small constant, which changes the "
    "result: subtract logsumexp from the scores instead.",
    f"{DIFFERENCE} => np.log(powers / total + {TINIER})",  # as a limit, the last gives the same
    "lower-limit: A lower limit on the weights avoids the logarithm of 0, and cuts off the logarithms "
    "below it: subtract logsumexp from the scores instead.",
    f"{DIFFERENCE} => np.log(np.maximum(powers / total, {TINY}))",
    "return result => return np.maximum(result, np.log(np.finfo(result.dtype).tiny))",
    f"{DIFFERENCE} => np.log(np.where(powers > 0, powers / total, np.finfo(total.dtype).tiny))",
    "weights: These are the weights: return their logarithms.",
    f"{DIFFERENCE} => powers / total",
    "maximum-inside-exp-only: The maximum is subtracted in exp only: subtract it outside as well.",
    "= scores - maximum => = scores",
    "maximum-twice: The maximum is subtracted twice: the scores less the maximum go with the logarithm "
    "of the sum alone.",
    "= scores - maximum => = scores - 2 * maximum",
    "sum-along-last-axis: The exponentials are added up along the last axis: use the axis you are given.",
    "(powers, axis=axis => (powers, axis=-1",
    "maximum-outside-exp-only: The maximum is subtracted outside of exp only: subtract it inside as "
    "well, where exp overflows.",
    "(scores - maximum) => (scores)",
    "one-maximum: You subtract the maximum of the whole array: a row far below it underflows to "
    "log(0). Take each row's own maximum, along axis.",
    "(scores, axis=axis, keepdims=True) => (scores)",
    "logarithm-missing: The sum of the exponentials is subtracted: subtract its logarithm.",
    "np.log(total) => total",
    "only-maximum: Only the maximum is subtracted: the logarithm of the sum is missing.",
    " - np.log(total) => ",
    "last-axis-only: You always work along the last axis: use the axis you are given.",
    "axis=-1): => axis=-1):\n    axis = -1",
    "whole-array: You take the whole array as one row: use the axis you are given.",
    "axis=-1): => axis=-1):\n    axis = None",
    "keepdims-missing: logsumexp has lost its axis, so it does not line up with the scores: use "
    "keepdims=True.",
    f"{DIFFERENCE} => scores - logsumexp(scores, axis)",
    "sign-reversed: The sign is reversed: a logarithm of a weight is never positive.",
    "return result => return -result",
    "base-2: These are logarithms to base 2: use the natural logarithm.",
    "return result => return result / np.log(2.0)",
    "divided-by-logsumexp: You divide by logsumexp: the logarithm of a quotient is a difference.",
    f"{DIFFERENCE} => scores / (maximum + np.log(total))",
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
