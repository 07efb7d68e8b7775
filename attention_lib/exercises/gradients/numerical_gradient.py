"""`numerical_gradient(f, x, eps=1e-6)` computes the gradient of a function by central differences.

`f` takes an array and returns a number. `x` is float64 of any shape, also a transposed or strided view, and
the result has its shape; `x` comes back unchanged.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from attention_lib.checks.calls.case import Answer, Case
from attention_lib.checks.calls.staging import on_strided_arrays
from attention_lib.checks.exercise import Exercise, known_mistakes
from attention_lib.lessons.gradients import numerical_gradient

HINTS = (
    "for index in np.ndindex(x.shape) visits every entry of an array of any shape; "
    "x[index] is that entry.",
    "Copy x, move one entry of the copy up by eps, call f; then another copy, moved down. "
    "The entry of the result is (above - below) / (2 * eps).",
    "Take fresh copies for every entry, so that only one entry is moved at a time.",
)


def sum_of_squares(x: NDArray) -> float:
    return np.sum(x**2)


def sum_of_cubes(x: NDArray) -> float:
    return np.sum(x**3)


def square_of_the_sum(x: NDArray) -> float:
    return np.sum(x) ** 2


def product(x: NDArray) -> float:
    return np.prod(x)


def weighted_powers_with(coefficients: NDArray, power: int) -> Callable[[NDArray], float]:
    def weighted_powers(x: NDArray) -> float:
        if x.shape != coefficients.shape:
            raise ValueError(
                f"f was called with shape {x.shape}; it takes arrays of x's shape, "
                f"{coefficients.shape}."
            )
        return float(np.sum(coefficients * x**power))

    return weighted_powers


def loss_with(target: NDArray) -> Callable[[NDArray], float]:
    def loss_of_tanh(x: NDArray) -> float:
        return np.sum((np.tanh(x) - target) ** 2)

    return loss_of_tanh


def cases(rng: Generator) -> Iterator[Case]:
    yield Case(sum_of_squares, np.array([1.0, -3.0]), eps=0.5)  # any eps is exact here
    yield Case(sum_of_cubes, np.array([1.0, 2.0, -0.5]), eps=0.5)
    yield Case(square_of_the_sum, np.array([[1.0, 0.5, 2.0], [0.25, -1.0, 3.0]]), eps=0.125)
    yield Case(product, rng.uniform(0.5, 1.5, (3, 2)), eps=1e-3)
    yield Case(
        weighted_powers_with(rng.uniform(1.0, 3.0, (3, 3)), 3), rng.uniform(-1.0, 1.0, (3, 3)), 0.25
    )
    yield Case(
        weighted_powers_with(rng.uniform(1.0, 3.0, (2, 3, 5)), 2), rng.normal(size=(2, 3, 5))
    )
    yield Case(
        weighted_powers_with(rng.uniform(1.0, 3.0, (5, 1, 2)), 4),
        rng.normal(size=(5, 1, 2)),
        eps=1e-2,
    )
    yield Case(loss_with(np.tanh(rng.normal(size=(2, 5)))), rng.normal(size=(2, 5)))
    # Transposed: here a flat array of the entries is a copy, and in another order than in memory.
    yield Case(weighted_powers_with(rng.uniform(1.0, 3.0, (5, 2)), 3), rng.normal(size=(2, 5)).T)
    # At 0 the quotient of eps * x³ is eps², which tells one eps from another.
    yield Case(weighted_powers_with(rng.uniform(1e12, 2e12, (1, 3)), 3), np.zeros((1, 3)))


STRIDED_ARRAY = (
    "The flat array of a strided x is a copy, and moving its entries leaves x as it is: move x[index], for "
    "index in np.ndindex(x.shape)."
)


def fails_on_a_strided_array(answer: Answer, rng: Generator) -> str | None:
    """Try the answer where x is every second column of a wider array, and the slopes are 2 to 12."""
    x, coefficients = np.ones((2, 3)), rng.uniform(1.0, 6.0, (2, 3))
    try:
        slopes = on_strided_arrays(answer)(weighted_powers_with(coefficients, 2), x, 0.25)
    except (AttributeError, ValueError, IndexError):  # such as an array that cannot be reshaped
        slopes = None
    if slopes is not None and np.allclose(slopes, 2 * coefficients):
        return None
    return (
        "numerical_gradient is right for an array of its own and for a transposed one, but not where x is "
        f"every second column of another array. {STRIDED_ARRAY}"
    )


def magnitude(f: Answer, x: NDArray, eps: float = 1e-6) -> NDArray:
    """Size the rounding of f, and that of x ± eps, both divided by eps."""
    slopes = np.abs(numerical_gradient(f, x, eps))
    size = np.empty(x.shape)
    for index in np.ndindex(x.shape):
        moved = x.copy()
        moved[index] += eps
        size[index] = 1.0 + 2.0 * abs(f(moved)) + slopes[index] * (1.0 + abs(x[index]))
    return size / eps


def plain(f, x, eps=1e-6):
    gradient = np.zeros(x.shape)
    for index in np.ndindex(x.shape):
        above, below = x.copy(), x.copy()
        above[index] += eps
        below[index] -= eps
        gradient[index] = (f(above) - f(below)) / (2 * eps)
    return gradient


QUOTIENT = "(f(above) - f(below)) / (2 * eps)"
COPIES_BEFORE_THE_LOOP = (
    "for index in np.ndindex(x.shape):\n        above, below = x.copy(), x.copy() => "
    "above, below = x.copy(), x.copy()\n    for index in np.ndindex(x.shape):"
)
OTHER_STEPS = "{1e-2|1e-3|1e-4|1e-5|1e-7|1e-8}"
SIZE = "{max(1, abs(x[index]))|(1 + abs(x[index]))}"

MISTAKES = known_mistakes(
    plain,
    f"strided-array: {STRIDED_ARRAY}",
    "+= eps => += eps * x.flags.forc && -= eps => -= eps * x.flags.forc",
    "one-sided: This difference is one-sided, from x to x + eps or to x − eps: take f at both x + "
    "eps and x − eps.",
    f"{QUOTIENT} => (f(above) - f(x)) / eps",
    f"{QUOTIENT} => (f(x) - f(below)) / eps",
    "twice-too-large: These are twice too large: from x − eps to x + eps is 2 * eps. Divide by it.",
    "(2 * eps) => eps",
    "one-sided-and-halved: These are half too small: from x to x + eps is one eps, and one-sided. "
    "Take f(x + eps) − f(x − eps) and divide by 2 * eps.",
    "f(below) => f(x)",
    "f(above) => f(x)",
    "not-divided: The differences are not divided by 2 * eps.",
    " / (2 * eps) => ",
    "(2 * eps) => 2",
    "brackets-missing: / 2 * eps divides by 2 and then multiplies by eps: write / (2 * eps).",
    "(2 * eps) => 2 * eps",
    "same-array: All differences are 0, as if the points above and below were one and the same "
    "array: give each a copy of its own, x.copy().",
    "above, below = x.copy(), x.copy() => above = below = x.copy()",
    "sign-reversed: The sign is reversed: subtract f(x − eps) from f(x + eps).",
    "f(above) - f(below) => f(below) - f(above)",
    "all-entries-at-once: All entries are moved at once: move one entry at a time, each has its "
    "own derivative.",
    "return gradient => return (f(x + eps) - f(x - eps)) / (2 * eps)",
    "above[index] => above && below[index] => below",
    "not-put-back: An entry moved for one derivative is still moved for the next: put it back, or "
    "begin each with fresh copies.",
    COPIES_BEFORE_THE_LOOP,
    f"{COPIES_BEFORE_THE_LOOP} && / (2 * eps) => / (2 * eps)\n        above[index] = below[index]",
    f"{COPIES_BEFORE_THE_LOOP} && / (2 * eps) => / (2 * eps)\n        below[index] = above[index]",
    "whole-rows-moved: x[i] is a whole row when x has two axes: move one entry, such as x[index] "
    "for index in np.ndindex(x.shape).",
    "np.ndindex(x.shape) => range(len(x))",
    "flat-copy-moved: The flat array of a transposed array is a copy, be it x or a gradient shaped like "
    "it: what is written there never arrives. Write at [index], for index in np.ndindex(x.shape).",
    "+= eps => += eps * x.flags.c_contiguous && -= eps => -= eps * x.flags.c_contiguous",
    "orders-mixed: The entries are counted row by row in one place and column by column in another, so "
    "derivatives stand at the wrong entries: use one order.",
    'return gradient => return gradient.ravel("F").reshape(x.shape)',
    'return gradient => return gradient.ravel().reshape(x.shape, order="F")',
    "one-entry-passed: f is called with one entry of x: it takes all of x, with that entry moved.",
    f"{QUOTIENT} => (f(x[index] + eps) - f(x[index] - eps)) / (2 * eps)",
    "eps-ignored: You always take the same step: use the eps you are given.",
    "eps=1e-6): => eps=1e-6):\n    eps = 1e-6",
    f"eps=1e-6): => eps=1e-6):\n    eps = {OTHER_STEPS}",
    "default-of-eps: The default of eps is not 1e-6: begin def numerical_gradient(f, x, eps=1e-6).",
    f"eps=1e-6 => eps={OTHER_STEPS}",
    "half-a-step: Half a step is taken to either side: go from x − eps to x + eps.",
    "eps=1e-6): => eps=1e-6):\n    eps = eps / 2",
    "relative-step: The step is made larger or smaller with x: it is eps for every entry.",
    f"+= eps => += eps * {SIZE} && -= eps => -= eps * {SIZE} && (2 * eps) => (2 * eps * {SIZE})",
    measured=("strided-array",),
    about={"same-array": "changed", "not-put-back": "changed"},
)

EXERCISE = Exercise(
    name="numerical_gradient",
    points=2,
    minutes=7,
    reference=numerical_gradient,
    cases=cases,
    magnitude=magnitude,
    probes=(fails_on_a_strided_array,),
    hints=HINTS,
    mistakes=MISTAKES,
)
