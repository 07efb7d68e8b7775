"""`score_std(d_k, component_std=1.0)` predicts the standard deviation of a dot product.

The two vectors have `d_k` independent components each, with mean 0 and standard deviation `component_std`.
The result is one number.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

from numpy.random import Generator

from attention_lib.checks.calls.case import Case
from attention_lib.checks.exercise import Exercise, known_mistakes
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


def plain(d_k, component_std=1.0):
    width = math.sqrt(d_k)
    spread = component_std**2
    return width * spread


MISTAKES = known_mistakes(
    plain,
    "variance: This is the variance: the standard deviation is its square root.",
    "return width * spread => return d_k * component_std**4",
    "component-std-ignored: component_std is ignored: each product of two components has variance "
    "component_std**4.",
    "component_std**2 => 1.0",
    "component-std-once: component_std enters once only: both vectors have components of this size, "
    "and their product has standard deviation component_std**2.",
    "component_std**2 => component_std",
    "grows-like-d-k: This grows like d_k: variances add, standard deviations do not. Take the "
    "square root of d_k.",
    "math.sqrt(d_k) => d_k",
    "root-cut-off: The root is cut off to a whole number: math.isqrt is exact only for squares.",
    "math.sqrt(d_k) => math.isqrt(int(d_k))",
    "variance-under-root: component_std**4 is the variance of one product: under the square root it "
    "becomes component_std**2.",
    "component_std**2 => component_std**4",
    "variance-twice: The variance of one product is counted twice: for means of 0 it is component_std**4.",
    "math.sqrt(d_k) => math.sqrt(2 * d_k)",
    "component-std-squared: The variance of one product is component_std**4: take the root of d_k times that.",
    "return width * spread => return math.sqrt(d_k * component_std)",
    "return width * spread => return math.sqrt(2 * d_k) * component_std",
    "scale-returned: This is the scale that undoes the growth: return the standard deviation.",
    "return width * spread => return 1 / width",
    "return width * spread => return 1 / (width * spread)",
    "after-scaling: This is the standard deviation after dividing by √d_k: here the plain dot "
    "product is meant.",
    "math.sqrt(d_k) => 1.0",
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
