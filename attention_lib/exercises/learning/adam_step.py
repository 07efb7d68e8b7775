"""`adam_step(parameter, gradient, mean, square, step, ...)` takes a step of Kingma and Ba's algorithm 1.

`rate=1e-3, beta1=0.9, beta2=0.999, epsilon=1e-8`, and `step` counts from 1 → `(parameter, mean,
square)`, new arrays in the parameter's dtype, whatever the gradient's.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from attention_lib.checks.calls.case import Answer, Case
from attention_lib.checks.exercise import Exercise, composable, known_mistakes
from attention_lib.exercises.parts.by_name import by_name
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


@by_name(adam_step)
def magnitude(parameter, gradient, mean, square, step, rate, beta1, beta2, epsilon):
    mean_size, square_size = np.abs(mean) + np.abs(gradient), square + gradient**2
    kept1, kept2 = 1 - beta1**step, 1 - beta2**step
    root = np.sqrt((beta2 * square + (1 - beta2) * gradient**2) / kept2)
    forward = (beta1 * np.abs(mean) + (1 - beta1) * np.abs(gradient)) / kept1
    # 1 − β^t has lost digits where β^t is near 1.
    move = rate * forward / (root + epsilon) * (2 + 1 / kept1 + 1 / kept2)
    return np.abs(parameter) + move, mean_size, square_size


@composable
def stepped(
    *,
    mean_of: Callable[..., NDArray] = lambda m, g, b: b * m + (1 - b) * g,
    square_of: Callable[..., NDArray] = lambda v, g, b, m: b * v + (1 - b) * g**2,
    correct: Callable[[float, int], float] = lambda beta, step: 1 - beta**step,
    is_corrected: tuple[bool, bool] = (True, True),  # mean, square
    divisor: Callable[..., NDArray] = lambda v, epsilon, correction: np.sqrt(v) + epsilon,
    sign: float = -1.0,
    used: Callable[[NDArray, NDArray], NDArray] = lambda new, old: new,
    end: Callable[..., tuple[NDArray, ...]] = lambda theta, m, v, m_hat, v_hat: (theta, m, v),
    step_of: Callable[[NDArray, NDArray], NDArray] = lambda m_hat, gradient: m_hat,
) -> Answer:
    """Make a step from its parts; a mistake replaces one of them."""

    @by_name(adam_step)
    def answer(parameter, gradient, mean, square, step, rate, beta1, beta2, epsilon):
        new_mean = mean_of(mean, gradient, beta1)
        new_square = square_of(square, gradient, beta2, new_mean)
        m_hat = used(new_mean, mean) / (correct(beta1, step) if is_corrected[0] else 1)
        correction = correct(beta2, step) if is_corrected[1] else 1
        v_hat = used(new_square, square) / correction
        with np.errstate(invalid="ignore"):
            size = rate * step_of(m_hat, gradient) / divisor(v_hat, epsilon, correction)
        moved = parameter + sign * size
        results = end(moved, new_mean, new_square, m_hat, v_hat)
        return tuple(array.astype(parameter.dtype) for array in results)

    return answer


def with_settings(change: Callable[[float, float, float, float], tuple[float, ...]]) -> Answer:
    """Take a right step with other settings than those that are given."""

    @by_name(adam_step)
    def answer(parameter, gradient, mean, square, step, rate, beta1, beta2, epsilon):
        settings = change(rate, beta1, beta2, epsilon)
        return adam_step(parameter, gradient, mean, square, step, *settings)

    return answer


MISTAKES = known_mistakes(
    "no-correction: The correction for the start at 0 is missing: divide mean by 1 − beta1**step "
    "and square by 1 − beta2**step before the step.",
    stepped(is_corrected=(False, False)),
    "square-uncorrected: square is not corrected for its start at 0: divide it by 1 − beta2**step "
    "before the step.",
    stepped(is_corrected=(True, False)),
    "mean-uncorrected: mean is not corrected for its start at 0: divide it by 1 − beta1**step "
    "before the step.",
    stepped(is_corrected=(False, True)),
    "corrected-returned: A corrected mean is returned: it serves this step only. Return the running means "
    "as they are.",
    stepped(end=lambda theta, m, v, m_hat, v_hat: (theta, m_hat, v_hat)),
    stepped(end=lambda theta, m, v, m_hat, v_hat: (theta, m_hat, v)),
    stepped(end=lambda theta, m, v, m_hat, v_hat: (theta, m, v_hat)),
    "correction-without-step: The correction divides by 1 − beta in every step: it is 1 − "
    "beta**step, which grows to 1.",
    stepped(correct=lambda beta, step: 1 - beta),
    "correction-multiplied: The correction multiplies: divide by 1 − beta**step, which makes the "
    "running means larger.",
    stepped(correct=lambda beta, step: 1 / (1 - beta**step)),
    "step-from-zero: The steps are counted from 0 in the correction: step is 1 for the first one, "
    "and beta**step is taken as it is.",
    stepped(correct=lambda beta, step: 1 - np.float64(beta) ** (step - 1)),
    stepped(correct=lambda beta, step: 1 - beta ** (step + 1)),
    "uphill: The step goes uphill: subtract it from the parameter.",
    stepped(sign=1.0),
    "no-root: The root is missing: divide by the root of the corrected square, plus epsilon.",
    stepped(divisor=lambda v, epsilon, _: v + epsilon),
    "epsilon-under-root: epsilon is added under the root: add it to the root.",
    stepped(divisor=lambda v, epsilon, _: np.sqrt(v + epsilon)),
    "epsilon-missing: epsilon is missing: add it to the root, so that an entry without gradients "
    "divides by no 0.",
    stepped(divisor=lambda v, epsilon, _: np.sqrt(v)),
    "epsilon-before-correction: epsilon is added to the root before the correction: correct "
    "square first, then take the root and add epsilon.",
    stepped(divisor=lambda v, epsilon, correction: np.sqrt(v) + epsilon / np.sqrt(correction)),
    "root-corrected: The root is divided by 1 − beta2**step: divide square by it, then take the root.",
    stepped(divisor=lambda v, epsilon, correction: np.sqrt(v / correction) + epsilon),
    "mean-unused: The step goes along the gradient: it goes along the corrected mean.",
    stepped(step_of=lambda m_hat, gradient: gradient),
    "gradient-not-squared: The gradient is not squared in square, the running mean of gradient**2.",
    stepped(square_of=lambda v, g, b, m: b * v + (1 - b) * g),
    stepped(square_of=lambda v, g, b, m: b * v + (1 - b) * np.abs(g)),
    "square-centered: The gradient less its running mean is squared: square is the running mean of "
    "gradient**2.",
    stepped(square_of=lambda v, g, b, m: b * v + (1 - b) * (g - m) ** 2),
    "mean-squared: The running mean itself is squared: square is the running mean of gradient**2.",
    stepped(square_of=lambda v, g, b, m: b * v + (1 - b) * m**2),
    "new-share-missing: The factor 1 − beta before the gradient is missing: mean = beta1 * mean + "
    "(1 - beta1) * gradient, and square alike.",
    stepped(mean_of=lambda m, g, b: b * m + g, square_of=lambda v, g, b, m: b * v + g**2),
    stepped(mean_of=lambda m, g, b: b * m + g),
    stepped(square_of=lambda v, g, b, m: b * v + g**2),
    "betas-reversed: beta weighs the new gradient here: it says how much of the old mean is kept.",
    stepped(
        mean_of=lambda m, g, b: (1 - b) * m + b * g,
        square_of=lambda v, g, b, m: (1 - b) * v + b * g**2,
    ),
    "old-averages-used: The step uses mean and square as they were: bring them up to date first.",
    stepped(used=lambda new, old: old),
    "old-averages-returned: The old mean and square are returned: return the new ones.",
    lambda parameter, gradient, mean, square, *args, **kwargs: (
        adam_step(parameter, gradient, mean, square, *args, **kwargs)[0],
        mean.astype(parameter.dtype),
        square.astype(parameter.dtype),
    ),
    "betas-exchanged: beta1 and beta2 are exchanged: beta1 belongs to mean, beta2 to square.",
    with_settings(lambda rate, beta1, beta2, epsilon: (rate, beta2, beta1, epsilon)),
    "defaults-always: rate, beta1, beta2 or epsilon is always its default: use the argument.",
    with_settings(lambda rate, beta1, beta2, epsilon: (1e-3, beta1, beta2, epsilon)),
    with_settings(lambda rate, beta1, beta2, epsilon: (rate, 0.9, beta2, epsilon)),
    with_settings(lambda rate, beta1, beta2, epsilon: (rate, beta1, 0.999, epsilon)),
    with_settings(lambda rate, beta1, beta2, epsilon: (rate, beta1, beta2, 1e-8)),
    "parameter-alone: Only the parameter is returned: return the three, (parameter, mean, square).",
    lambda *args, **kwargs: adam_step(*args, **kwargs)[0],
    "results-reordered: The three results are in another order: return (parameter, mean, square).",
    lambda *args, **kwargs: tuple(adam_step(*args, **kwargs)[i] for i in (0, 2, 1)),
    lambda *args, **kwargs: tuple(adam_step(*args, **kwargs)[i] for i in (1, 2, 0)),
)

EXERCISE = Exercise(
    name="adam_step",
    points=2,
    minutes=8,
    reference=adam_step,
    cases=cases,
    magnitude=magnitude,
    hints=HINTS,
    mistakes=MISTAKES,
)
