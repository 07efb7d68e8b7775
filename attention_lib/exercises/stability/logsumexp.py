"""`logsumexp(scores, axis=-1, keepdims=False)` returns the logarithm of the sum of exponentials of each row.

It is finite whenever the true value is. A row of `-inf` gives `-inf`.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from attention_lib.checks.calls.case import Case
from attention_lib.checks.exercise import Exercise, known_mistakes
from attention_lib.exercises.parts.cases import drawn_again, other_scores
from attention_lib.exercises.parts.hidden_nan import remark_on_hidden_nan
from attention_lib.exercises.parts.magnitudes import logarithms_magnitude
from attention_lib.lessons.stability import logsumexp

HINTS = (
    "Shift by each row's maximum m: the sum of exp(s - m) is at least 1.",
    "e^m is a common factor of the sum, so its logarithm comes out in front: m + log(sum).",
    "Take the maximum and the sum with keepdims=True, so that they line up. Where keepdims is False, "
    "np.squeeze(result, axis=axis) drops that axis at the end.",
    "A row of -inf has maximum -inf, and -inf - (-inf) is NaN: shift such a row by 0 instead.",
    "Then its sum is 0, and np.log(0) is -inf, as it should be, but warns: take the logarithm "
    'under `with np.errstate(divide="ignore"):`.',
)


def cases(rng: Generator) -> Iterator[Case]:
    yield Case(np.array([1000.0, 1000.0]))
    yield Case(np.array([-1000.0, -1001.0, -1002.0]))
    yield Case(np.array([[1.0, 2.0, 3.0], [-1e4, -1e4, -1e4]]))
    yield Case(np.array([[1.0, 2.0, 3.0], [-1e4, -1e4, -1e4]]), keepdims=True)
    yield Case(np.array([[-np.inf, -np.inf, -np.inf], [-np.inf, 699.0, 700.0]]))
    yield Case(np.array([-np.inf, -np.inf]))
    yield Case(np.array([[-np.inf, -2e9], [-2e9, -2e9]]))
    yield Case(np.array([[3, 1, 2], [0, 800, 900]]))
    yield Case(rng.normal(0.0, 3.0, (1, 5)))  # only the axis summed over goes away
    yield Case(rng.normal(0.0, 3.0, (3, 1, 2)), axis=2, keepdims=False)
    yield Case(rng.normal(0.0, 3.0, (2, 3, 5)), axis=1)
    yield Case(rng.normal(0.0, 3.0, (3, 2, 5)), axis=0, keepdims=True)
    yield Case(rng.normal(0.0, 3.0, (5, 3)) + np.array([-900.0, 0.0, 1200.0]), 0)
    yield Case((rng.normal(0.0, 3.0, (3, 6)) + 120.0).astype(np.float32))
    yield Case(rng.normal(0.0, 3.0, (6, 2)).astype(np.float32), axis=-2, keepdims=True)
    yield Case(np.array([[8e307, -8e307, 3e307], [-8e307, -8.5e307, -8.9e307]]))


def magnitude(scores: NDArray, axis: int = -1, keepdims: bool = False) -> NDArray:
    size = logarithms_magnitude(scores, axis)
    return size if keepdims else np.squeeze(size, axis=axis)


def plain(scores, axis=-1, keepdims=False):
    maximum = np.max(scores, axis=axis, keepdims=True)
    shift = np.where(np.isneginf(maximum), 0.0, maximum)
    total = np.sum(np.exp(scores - shift), axis=axis, keepdims=True)
    result = np.log(total) + shift
    return result if keepdims else np.squeeze(result, axis=axis)


SHIFT = "np.where(np.isneginf(maximum), 0.0, maximum)"

MISTAKES = known_mistakes(
    plain,
    "exp-overflows: exp overflows or underflows: shift each row by its maximum first.",
    f"{SHIFT} => 0.0",
    "maximum-not-added-back: The maximum is subtracted but never added back: the result is m + "
    "log(sum of exp(s - m)).",
    f" + shift =>  && {SHIFT} => maximum",
    " + shift => ",
    "empty-row-nan: A row of -inf gives NaN: its maximum is -inf, and -inf - (-inf) is NaN. Shift "
    "such a row by 0 instead; its result is -inf.",
    f"{SHIFT} => maximum",
    "empty-row-for-all: One row of only -inf makes every result -inf: such a row has a result of its "
    "own. Ask for each, as np.where does.",
    "+ shift => + (-np.inf if np.any(total == 0) else shift)",
    "keepdims-ignored: keepdims is ignored: with keepdims=True the summed axis stays, of length 1.",
    "result if keepdims else  => ",
    "keepdims-always: The summed axis is always kept: without keepdims=True it goes away.",
    " if keepdims else np.squeeze(result, axis=axis) => ",
    "maximum-keeps-axis: The maximum keeps the summed axis, and the logarithm has lost it: add both with "
    "keepdims=True, and drop the axis after that.",
    "np.squeeze(result, => shift + np.squeeze(np.log(total),",
    "last-axis-only: You always work along the last axis: use the axis you are given.",
    "keepdims=False): => keepdims=False):\n    axis = -1",
    "one-maximum: You shift by the maximum of the whole array: a row far below it underflows to "
    "log(0). Take each row's own maximum.",
    f"{SHIFT} => np.max(scores)",
    "maximum-from-zero: The search for the maximum begins at 0, above every score of some rows: "
    "begin at -inf, or with the first score.",
    f"{SHIFT} => np.maximum(maximum, 0)",
    "maximum-alone: This is only the maximum: add log(sum of exp(s - m)).",
    "np.log(total) + shift => maximum",
    "no-logarithm: This is the sum of the exponentials: return its logarithm.",
    "np.log(total) + shift => np.sum(np.exp(scores), axis=axis, keepdims=True)",
    "mean: The mean is in place of the sum: the logarithm of the number of entries is missing.",
    "np.sum => np.mean",
    f"np.sum => np.mean && {SHIFT} => maximum",
    "log1p: np.log1p adds 1 to the sum: use np.log.",
    f"np.log => np.log1p && {SHIFT} => maximum",
    "np.log(total) => np.where(total == 0, -np.inf, np.log1p(total))",
)

EXERCISE = Exercise(
    name="logsumexp",
    points=2,
    minutes=7,
    reference=logsumexp,
    cases=drawn_again(cases, other_scores),
    magnitude=magnitude,
    hints=HINTS,
    mistakes=MISTAKES,
    remarks=(remark_on_hidden_nan("logsumexp", np.array([[np.nan, 1.0, 2.0]])),),
)
