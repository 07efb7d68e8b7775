"""`score_std(d_k, component_std=1.0)` predicts the standard deviation of a dot product.

The two vectors have `d_k` independent components each, with mean 0 and standard deviation `component_std`.
The result is one number.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

from numpy.random import Generator

from attention_lib.checks.calls.case import Answer, Case
from attention_lib.checks.exercise import Exercise, composable, known_mistakes
from attention_lib.lessons.scaling import score_std

HINTS = (
    "Each component has variance component_std**2. For a product the two variances multiply.",
    "A dot product adds d_k independent products, and their variances add. The standard "
    "deviation is the square root of that sum.",
)


def cases(rng: Generator) -> Iterator[Case]:
    yield Case(64)
    yield Case(9, 2.0)
    yield Case(100, component_std=0.5)
    yield Case(1, 3.0)
    yield Case(2)
    yield Case(4096, 0.1)
    yield Case(int(rng.integers(5, 999)))
    yield Case(int(rng.integers(5, 999)), float(rng.uniform(0.2, 3.0)))
    yield Case(int(rng.integers(5, 999)), component_std=float(rng.uniform(1.2, 3.0)))


def magnitude(d_k: int, component_std: float = 1.0) -> float:
    return math.sqrt(d_k) * component_std**2 * (1 + d_k)  # d_k variances may be added one by one


@composable
def predicted(
    width: Answer = math.sqrt, spread: Answer = lambda component_std: component_std**2
) -> Answer:
    """Predict from d_k and component_std, with one of the factors replaced by a wrong one."""
    return lambda d_k, component_std=1.0: width(d_k) * spread(component_std)


MISTAKES = known_mistakes(
    "variance: This is the variance: the standard deviation is its square root.",
    lambda d_k, component_std=1.0: d_k * component_std**4,
    "component-std-ignored: component_std is ignored: each product of two components has variance "
    "component_std**4.",
    predicted(spread=lambda component_std: 1.0),
    "component-std-once: component_std enters once only: both vectors have components of this size, "
    "and their product has standard deviation component_std**2.",
    predicted(spread=lambda component_std: component_std),
    "grows-like-d-k: This grows like d_k: variances add, standard deviations do not. Take the "
    "square root of d_k.",
    predicted(width=lambda d_k: d_k),
    "root-cut-off: The root is cut off to a whole number: math.isqrt is exact for squares alone.",
    predicted(width=lambda d_k: math.isqrt(int(d_k))),
    "variance-under-root: component_std**4 is the variance of one product: under the square root it "
    "becomes component_std**2.",
    predicted(spread=lambda component_std: component_std**4),
    "variance-twice: The variance of one product is counted twice: for means of 0 it is component_std**4.",
    predicted(width=lambda d_k: math.sqrt(2 * d_k)),
    "component-std-squared: The variance of one product is component_std**4: take the root of d_k times that.",
    lambda d_k, component_std=1.0: math.sqrt(d_k * component_std),
    lambda d_k, component_std=1.0: math.sqrt(2 * d_k) * component_std,
    "scale-returned: This is the scale that undoes the growth: return the standard deviation.",
    predicted(width=lambda d_k: 1 / math.sqrt(d_k), spread=lambda component_std: 1.0),
    lambda d_k, component_std=1.0: 1 / (math.sqrt(d_k) * component_std**2),
    "after-scaling: This is the standard deviation after dividing by √d_k: here the plain dot "
    "product is meant.",
    predicted(width=lambda d_k: 1.0),
)

EXERCISE = Exercise(
    name="score_std",
    points=1,
    minutes=4,
    reference=score_std,
    cases=cases,
    magnitude=magnitude,
    hints=HINTS,
    mistakes=MISTAKES,
)
