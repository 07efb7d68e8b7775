"""`adam_step(parameter, gradient, mean, square, step, ...)` takes a step of Kingma and Ba's algorithm 1.

`rate=1e-3, beta1=0.9, beta2=0.999, epsilon=1e-8`, and `step` counts from 1 → `(parameter, mean,
square)`, new arrays in the parameter's dtype, whatever the gradient's.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from attention_lib.checks.calls.case import Case
from attention_lib.checks.exercise import Exercise, known_mistakes
from attention_lib.lessons.learning import adam_step

HINTS = (
    "mean = beta1 * mean + (1 - beta1) * gradient, a new array. square is made in the same way, "
    "with beta2 and gradient**2.",
    "Both start at 0, so early on they are too small. mean / (1 - beta1**step) and "
    "square / (1 - beta2**step) make up for that, in the step only: what you return is mean and "
    "square themselves.",
    "The step goes against the gradient: parameter - rate * corrected mean / (root of the "
    "corrected square + epsilon).",
    "array.astype(parameter.dtype) for each of the three: the gradient may have another dtype.",
)

Step = tuple[NDArray, NDArray, NDArray]


def cases(rng: Generator) -> Iterator[Case]:
    yield Case(np.array([1.0, 1.0]), np.array([0.5, -40.0]), np.zeros(2), np.zeros(2), 1)
    yield drawn(rng, (3,), 2)
    yield drawn(rng, (2, 5), 7, rate=0.1)
    yield drawn(rng, (3, 3), 1, rate=0.01, beta1=0.5, beta2=0.75)
    yield drawn(rng, (4,), 3, 0.02, 0.8, 0.9, 0.1)
    yield drawn(rng, (2, 3, 4), 500, epsilon=1.0)
    yield drawn(rng, (5,), 10, beta1=0.0)
    parameter, _, mean, square, _ = drawn(rng, (3, 2), 4).args
    yield Case(parameter, np.zeros((3, 2)), np.zeros((3, 2)), np.zeros((3, 2)), 4)
    gradient = 1e-9 * rng.uniform(1.0, 3.0, (3, 2))  # of a size at which epsilon counts
    yield Case(parameter, gradient, 0.5 * gradient, gradient**2, 3, rate=1.0)
    yield Case(parameter, np.array([[1, -2], [0, 3], [-1, 1]]), mean, square, 6)
    single = [array.astype(np.float32) for array in (parameter, parameter + 1, mean, square)]
    yield Case(*single, 5, rate=0.05)
    yield Case(single[0], rng.normal(size=(3, 2)), *single[2:], 2, rate=0.05)  # a float64 gradient
    yield Case(*(a.astype(np.float64) for a in single[:1]), *single[1:], 2)


def drawn(
    rng: Generator, shape: tuple[int, ...], step: int, *settings: float, **named: float
) -> Case:
    parameter, gradient, mean = rng.normal(size=(3, *shape))
    return Case(parameter, gradient, mean, rng.uniform(0.2, 4.0, shape), step, *settings, **named)


def magnitude(
    parameter, gradient, mean, square, step, rate=1e-3, beta1=0.9, beta2=0.999, epsilon=1e-8
):
    mean_size, square_size = np.abs(mean) + np.abs(gradient), square + gradient**2
    kept1, kept2 = 1 - beta1**step, 1 - beta2**step
    root = np.sqrt((beta2 * square + (1 - beta2) * gradient**2) / kept2)
    forward = (beta1 * np.abs(mean) + (1 - beta1) * np.abs(gradient)) / kept1
    # 1 − β^t has lost digits where β^t is near 1.
    move = rate * forward / (root + epsilon) * (2 + 1 / kept1 + 1 / kept2)
    return np.abs(parameter) + move, mean_size, square_size


def plain(parameter, gradient, mean, square, step, rate=1e-3, beta1=0.9, beta2=0.999, epsilon=1e-8):
    new_mean = beta1 * mean + (1 - beta1) * gradient
    new_square = beta2 * square + (1 - beta2) * gradient**2
    kept1, kept2 = beta1**step, beta2**step
    correction1, correction2 = 1 - kept1, 1 - kept2
    m_hat = new_mean / correction1
    v_hat = new_square / correction2
    divisor = np.sqrt(v_hat) + epsilon
    moved = parameter - rate * m_hat / divisor
    results = moved, new_mean, new_square
    return tuple(array.astype(parameter.dtype) for array in results)


KEPT = "beta1**step, beta2**step"

MISTAKES = known_mistakes(
    plain,
    "no-correction: The correction for the start at 0 is missing: divide mean by 1 − beta1**step "
    "and square by 1 − beta2**step before the step.",
    "1 - kept1, 1 - kept2 => 1, 1",
    "square-uncorrected: square is not corrected for its start at 0: divide it by 1 − beta2**step "
    "before the step.",
    ", 1 - kept2 => , 1",
    "mean-uncorrected: mean is not corrected for its start at 0: divide it by 1 − beta1**step "
    "before the step.",
    "1 - kept1, => 1,",
    "corrected-returned: A corrected mean is returned: it serves this step only. Return the running means "
    "as they are.",
    "moved, new_mean, new_square => {moved, m_hat, v_hat|moved, m_hat, new_square|moved, new_mean, v_hat}",
    "correction-without-step: The correction divides by 1 − beta in every step: it is 1 − "
    "beta**step, which grows to 1.",
    f"{KEPT} => beta1, beta2",
    "correction-multiplied: The correction multiplies: divide by 1 − beta**step, which makes the "
    "running means larger.",
    "1 - kept1, 1 - kept2 => 1 / (1 - kept1), 1 / (1 - kept2)",
    "step-from-zero: The steps are counted from 0 in the correction: step is 1 for the first one, "
    "and beta**step is taken as it is.",
    f"{KEPT} => np.float64(beta1) ** (step - 1), np.float64(beta2) ** (step - 1)",
    f"{KEPT} => beta1 ** (step + 1), beta2 ** (step + 1)",
    "uphill: The step goes uphill: subtract it from the parameter.",
    "parameter - => parameter +",
    "no-root: The root is missing: divide by the root of the corrected square, plus epsilon.",
    "np.sqrt(v_hat) => v_hat",
    "epsilon-under-root: epsilon is added under the root: add it to the root.",
    "np.sqrt(v_hat) + epsilon => np.sqrt(v_hat + epsilon)",
    "epsilon-missing: epsilon is missing: add it to the root, so that an entry without gradients "
    "divides by no 0.",
    " + epsilon => ",
    "epsilon-before-correction: epsilon is added to the root before the correction: correct "
    "square first, then take the root and add epsilon.",
    "+ epsilon => + epsilon / np.sqrt(correction2)",
    "root-corrected: The root is divided by 1 − beta2**step: divide square by it, then take the root.",
    "np.sqrt(v_hat) => np.sqrt(v_hat / correction2)",
    "mean-unused: The step goes along the gradient: it goes along the corrected mean.",
    "rate * m_hat => rate * gradient",
    "gradient-not-squared: The gradient is not squared in square, the running mean of gradient**2.",
    "gradient**2 => {gradient|np.abs(gradient)}",
    "square-centered: The gradient less its running mean is squared: square is the running mean of "
    "gradient**2.",
    "gradient**2 => (gradient - new_mean) ** 2",
    "mean-squared: The running mean itself is squared: square is the running mean of gradient**2.",
    "gradient**2 => new_mean**2",
    "new-share-missing: The factor 1 − beta before the gradient is missing: mean = beta1 * mean + "
    "(1 - beta1) * gradient, and square alike.",
    "(1 - beta1) * => && (1 - beta2) * => ",
    "(1 - {beta1|beta2}) * => ",
    "betas-reversed: beta weighs the new gradient here: it says how much of the old mean is kept.",
    "beta1 * mean + (1 - beta1) => (1 - beta1) * mean + beta1"
    " && beta2 * square + (1 - beta2) => (1 - beta2) * square + beta2",
    "old-averages-used: The step uses mean and square as they were: bring them up to date first.",
    "= new_mean => = mean && = new_square => = square",
    "old-averages-returned: The old mean and square are returned: return the new ones.",
    "moved, new_mean, new_square => moved, mean, square",
    "betas-exchanged: beta1 and beta2 are exchanged: beta1 belongs to mean, beta2 to square.",
    "epsilon=1e-8): => epsilon=1e-8):\n    beta1, beta2 = beta2, beta1",
    "defaults-always: rate, beta1, beta2 or epsilon is always its default: use the argument.",
    "epsilon=1e-8): => epsilon=1e-8):\n    {rate = 1e-3|beta1 = 0.9|beta2 = 0.999|epsilon = 1e-8}",
    "parameter-alone: Only the parameter is returned: return the three, (parameter, mean, square).",
    "results = moved, new_mean, new_square\n"
    "    return tuple(array.astype(parameter.dtype) for array in results) => "
    "return moved.astype(parameter.dtype)",
    "results-reordered: The three results are in another order: return (parameter, mean, square).",
    "moved, new_mean, new_square => {moved, new_square, new_mean|new_mean, new_square, moved}",
)


EXERCISE = Exercise(
    name="adam_step",
    points=2,
    minutes=7,
    reference=adam_step,
    cases=cases,
    magnitude=magnitude,
    hints=HINTS,
    mistakes=MISTAKES,
)
