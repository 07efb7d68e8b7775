"""`temperature_for_entropy(scores, target)` finds a temperature whose weights have that entropy.

`(n,)` distinct scores, neighbors 1e-3 to 1e3 apart, and 0 < target < log n → one number, at which the
entropy is within 1e-6 nats of the target. A target outside raises `ValueError`.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Iterator

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from attention_lib.checks.calls.case import Case
from attention_lib.checks.exercise import Exercise, known_mistakes
from attention_lib.lessons.scaling import temperature_for_entropy

HINTS = (
    "Entropy rises with the temperature. So if it is too low at some T, which side is the answer?",
    "Keep a low and a high temperature with the answer between them. Try the middle, and let it "
    "replace the one or the other.",
    "Where to begin: start with low = 1 and high = 2. Halve both while the entropy at low is above "
    "the target, or double both while the entropy at high is below it. Then sixty halvings are "
    "plenty.",
    'raise ValueError("...") for a target of 0 or below, and of np.log(len(scores)) or above, '
    "before you search: no temperature reaches them.",
)

CLOSE_ENOUGH = 2e-6  # nats: the contract's 1e-6, and room for a learner's own rounding


def cases(rng: Generator) -> Iterator[Case]:
    yield case_for(np.array([3.0, 1.0, 0.0]), 0.5)
    yield case_for(np.array([2.0, 4.0, 3.0, 7.0, 1.0]), 1.2)
    yield case_for(np.array([3, 1, 0, -2]), 1.0)
    for outside in (0.0, -0.5, math.log(8), 3.0):
        yield Case(spaced(rng, 8, 1.0), outside, raises=ValueError)
    yield case_for(spaced(rng, 2, 1.0), math.log(2) - float(rng.uniform(1e-5, 2e-5)))
    yield case_for(spaced(rng, 5, 2e-3), float(rng.uniform(0.8, 1.2)))
    yield case_for(spaced(rng, 7, 600.0), float(rng.uniform(0.2, 0.5)))
    yield case_for(spaced(rng, 6, 1.0) + rng.choice([-500.0, 500.0]), float(rng.uniform(1.0, 1.3)))
    yield case_for(spaced(rng, 12, 2e-3), float(rng.uniform(1e-3, 2e-3)))  # temperatures near 2e-4
    yield case_for(spaced(rng, 9, 600.0), math.log(9) - float(rng.uniform(1e-4, 2e-4)))  # near 1e5
    # Two scores close together at the top: between their gap and the others nothing happens.
    close = float(rng.uniform(1e-3, 2e-3))
    yield case_for(np.array([-5.0, 1.0, 1.0 - close]), float(rng.uniform(0.3, 0.5)))
    yield case_for(spaced(rng, 31, 3.0), float(rng.uniform(0.5, 3.0)))


def spaced(rng: Generator, count: int, gap: float) -> NDArray:
    """Draw distinct scores in random order, neighbors about `gap` apart."""
    scores = gap * np.cumsum(rng.uniform(0.5, 1.5, count))
    return rng.permutation(scores - scores.mean())


def case_for(scores: NDArray, target: float) -> Case:
    return Case(scores, target, verify=functools.partial(problem_with, scores, target))


def problem_with(scores: NDArray, target: float, got: object) -> str | None:
    number = np.asarray(None if isinstance(got, (tuple, list)) else got)
    if number.ndim or number.dtype.kind not in "fiu":
        return "temperature_for_entropy should return one number, the temperature."
    temperature = float(number)
    if not 0 < temperature < math.inf:
        return (
            f"temperature_for_entropy returned {temperature}: a temperature is above 0 and finite."
        )
    reached = entropy_at(scores, temperature)
    if abs(reached - target) <= CLOSE_ENOUGH:
        return None
    measured = (
        f"At the temperature {temperature:.6g} the entropy is {reached:.7g}, not {target:.7g}"
    )
    if math.isclose(temperature, target, abs_tol=1e-5):
        return f"{measured}: you returned an entropy. Return the temperature that leads to it."
    spread = float(np.ptp(scores))
    misses = {
        1 / temperature: "you returned 1/T: return what the scores are divided by.",
        temperature * spread: "the scores were divided by their range: multiply by it again.",
        temperature
        * np.std(scores): "the scores were divided by their spread: multiply by it again.",
    }
    for other, reason in misses.items():
        if abs(entropy_at(scores, other) - target) <= CLOSE_ENOUGH:
            return f"{measured}: {reason}"
    if abs(reached / math.log(2) - target) <= 1e-5:
        return f"{measured}: your entropy is in bits. Count it in nats, with np.log."
    low_or_high, other = ("low", "high") if reached < target else ("high", "low")
    if math.isclose(temperature, 1.0):
        return f"{measured}: the search ends at 1, and {other}er temperatures are needed here."
    if abs(reached - target) <= 0.05:
        coarse = "a fixed grid, or a tolerance of the search, may be too coarse"
        return f"{measured}: close, but 1e-6 nats are asked for: {coarse}."
    sentence = f"{measured}: the temperature is too {low_or_high}, and entropy rises with it."
    if not 1e-2 <= spread <= 1e2:
        # Only scores of an unusual size give reason to ask how far the search goes.
        sentence += (
            f" The scores differ by about {spread:.0e}: does the search reach temperatures that are "
            f"{other} enough for them, in steps that are fine enough?"
        )
    return sentence


def entropy_at(scores: NDArray, temperature: float) -> float:
    """Measure the entropy of a row as log Z minus the mean of its exponents, without the weights."""
    if not 0 < temperature < math.inf:
        return math.nan
    with np.errstate(all="ignore"):  # exponents of -inf, where exp is 0 far before
        exponents = np.maximum((scores - scores.max()) / temperature, -1e4)
    shares = np.exp(exponents)
    return float(np.log(shares.sum()) - (shares @ exponents) / shares.sum())


def plain(scores, target):
    limit = math.log(scores.size)
    if not 0 < target < limit:
        raise ValueError("no temperature has this entropy")
    target = min(
        max(target, 1e-9), limit * (1 - 1e-9)
    )  # the search ends if one outside is accepted
    low, high = 1.0, 2.0
    while entropy_at(scores, low) > target:
        low /= 2
    while entropy_at(scores, high) < target:
        high *= 2
    for _ in range(100):
        middle = (low + high) / 2
        if entropy_at(scores, middle) < target:
            low = middle
        else:
            high = middle
    return middle


NEVER_WIDENED = "low /= 2 => break && high *= 2 => break && 1.0, 2.0 => "

MISTAKES = known_mistakes(
    plain,
    "inverse: This is 1/T, the factor on the scores: return what they are divided by.",
    "return middle => return 1 / middle",
    "bits: Your entropy is in bits: count it in nats, with np.log.",
    "max(target, => max(target * math.log(2),",
    "fraction-of-log-n: The target is read as a share of log n: it is the entropy itself, in nats.",
    "max(target, => max(target * limit,",
    "fixed-range: The search ends at the edge of a fixed range: scores of another size need other "
    "temperatures. Widen the range until the target lies inside.",
    f"{NEVER_WIDENED}{{1e-6|1e-3|0.01|0.1}}, {{10.0|100.0|1e3}}",
    "wrong-direction: The search goes the wrong way: entropy rises with the temperature, so where "
    "it is too low, go higher.",
    f"{NEVER_WIDENED}{{1e-6, 1e6|1e-3, 1e3}} && middle) < target => middle) >= target",
    "stops-early: The search stops early: go on until the entropy is within 1e-6 of the target.",
    f"{NEVER_WIDENED}1e-6, 1e6 && 100 => {{10|20|30}}",
    "never-raises: A target of 0 or below, or of log n or above, must raise ValueError: no "
    "temperature reaches it.",
    "not 0 < target < limit => False",
    'raise ValueError("no temperature has this entropy") => return math.nan',
    "too-high-accepted: A target of log n or above must raise ValueError too: only equal weights "
    "have entropy log n, and no temperature makes them equal.",
    "0 < target < limit => 0 < target",
    "log-n-accepted: A target of log n must raise ValueError too: no temperature reaches it.",
    "target < limit => target <= limit",
    "zero-accepted: A target of exactly 0 must raise ValueError too: no temperature reaches it.",
    "0 < target => 0 <= target",
    "spread-not-undone: The scores were divided by their spread before the search: the "
    "temperature must be multiplied by it again.",
    "return middle => return middle / np.{std|ptp}(scores)",
    "entropy-returned: This is the entropy at temperature 1: the temperature is asked for.",
    "return middle => return entropy_at(scores, 1.0)",
)

EXERCISE = Exercise(
    name="temperature_for_entropy",
    points=3,
    minutes=12,
    reference=temperature_for_entropy,
    cases=cases,
    hints=HINTS,
    mistakes=MISTAKES,
    built_on=("entropy", "softmax_with_temperature"),
)
