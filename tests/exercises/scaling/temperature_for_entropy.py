"""Right and wrong answers to `temperature_for_entropy`."""

import math

import numpy as np

from attention_lib.lessons.softmax import softmax


def entropy_of(scores, temperature):
    weights = softmax(scores / temperature)
    return -(weights * np.log(np.where(weights > 0, weights, 1.0))).sum()


def inside(scores, target):
    if target <= 0 or target >= np.log(len(scores)):
        raise ValueError(f"no temperature has entropy {target}")


def right_found_between_neighboring_powers_of_two(scores, target):
    """Let both ends of the bracket move, so that 60 halvings do."""
    inside(scores, target)
    low, high = 1.0, 2.0
    while entropy_of(scores, low) > target:
        low, high = low / 2, low
    while entropy_of(scores, high) < target:
        low, high = high, high * 2
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if entropy_of(scores, middle) < target else (low, middle)
    return middle


def right_found_in_the_logarithm(scores, target):
    inside(scores, target)
    low, high = -300.0, 300.0  # about all that float64 has
    for _ in range(80):
        middle = (low + high) / 2
        low, high = (middle, high) if entropy_of(scores, 10.0**middle) < target else (low, middle)
    return np.float64(10.0**middle)


def right_found_in_a_range_of_the_scores_size(scores, target):
    if not 0 < target < math.log(scores.size):
        raise ValueError("target out of range")
    spread = np.ptp(scores.astype(float))
    low, high = 1e-6 * spread, 1e6 * spread
    middle = 0.5 * (low + high)
    for _ in range(200):
        reached = entropy_of(scores, middle)
        if abs(reached - target) < 1e-9:
            break
        low, high = (middle, high) if reached < target else (low, middle)
        middle = 0.5 * (low + high)
    return np.array(middle)


def right_found_only_just(scores, target):
    """Stop as soon as the contract is met."""
    inside(scores, target)
    low, high = 1e-150, 1e150
    while True:
        middle = math.sqrt(low * high)
        reached = entropy_of(scores, middle)
        if abs(reached - target) < 1e-6:
            return middle
        low, high = (middle, high) if reached < target else (low, middle)


def right_found_from_the_inverse(scores, target):
    """Search the factor 1/T between 0 and one large enough."""
    inside(scores, target)
    low, high = 0.0, 1.0
    while entropy_of(scores * high, 1.0) > target:
        high *= 4
    for _ in range(500):  # halving from 1 down to 1e-100 takes 330
        middle = (low + high) / 2
        if entropy_of(scores * middle, 1.0) > target:
            low = middle
        else:
            high = middle
    return 1 / middle


def right_found_by_guarded_newton(scores, target):
    """Newton's method in log T, whose slope is the variance of the quotients."""
    inside(scores, target)
    x = math.log(np.ptp(scores))
    low, high = x - 30.0, x + 30.0
    for _ in range(300):
        quotients = scores / math.exp(x)
        weights = softmax(quotients)
        miss = entropy_of(scores, math.exp(x)) - target
        if abs(miss) < 1e-10:
            break
        low, high = (x, high) if miss < 0 else (low, x)
        mean = (weights * quotients).sum()
        slope = (weights * (quotients - mean) ** 2).sum()
        x = x - miss / slope if slope > 1e-12 else (low + high) / 2
        if not low < x < high:
            x = (low + high) / 2
    return math.exp(x)


def entropy_at(scores, temperature):
    shifted = (scores - scores.max()) / temperature
    exponentials = np.exp(shifted)
    total = exponentials.sum()
    return math.log(total) - float((exponentials * shifted).sum() / total)


def searched(
    low=1e-9, high=1e9, steps=200, measure=entropy_at, refused=lambda target, limit: False
):
    """Halve a range around the temperature; `low` and `high` count in units of the range."""

    def answer(scores, target):
        limit = math.log(scores.size)
        if target <= 0 or target >= limit or refused(target, limit):
            raise ValueError("The target is outside.")
        scores = scores.astype(float)
        below, above = low * np.ptp(scores), high * np.ptp(scores)
        for _ in range(steps):
            middle = math.sqrt(below * above)
            if measure(scores, middle) < target:
                below = middle
            else:
                above = middle
        return middle

    return answer


search = searched()


def in_a_fixed_range(low, high, root=True, steps=200):
    """Halve a range that is the same for all scores, in its logarithm or as it is."""

    def answer(scores, target):
        inside(scores, target)
        below, above = low, high
        for _ in range(steps):
            middle = math.sqrt(below * above) if root else (below + above) / 2
            if entropy_at(scores, middle) < target:
                below = middle
            else:
                above = middle
        return middle

    return answer


def right_bracketed_with_one_end_at_1(scores, target):
    """Halve 100 times from 1."""
    inside(scores, target)
    low = high = 1.0
    while entropy_at(scores, low) > target:
        low /= 2
    while entropy_at(scores, high) < target:
        high *= 2
    for _ in range(100):
        middle = (low + high) / 2
        low, high = (middle, high) if entropy_at(scores, middle) < target else (low, middle)
    return middle


def only_checked(inside):
    def answer(scores, target):
        if not inside(target, math.log(scores.size)):
            raise ValueError("The target is outside.")
        return search(scores, min(max(target, 1e-9), math.log(scores.size) * (1 - 1e-9)))

    return answer


def with_a_constant(scores, temperature):
    weights = softmax(scores / temperature)
    return -(weights * np.log(weights + 1e-6)).sum()


def wrong_by_newton_without_care(scores, target):
    if not 0 < target < math.log(scores.size):
        raise ValueError("The target is outside.")
    temperature = 1.0
    for _ in range(50):
        weights = softmax(scores / temperature)
        mean = (weights * scores).sum()
        slope = (weights * (scores - mean) ** 2).sum() / temperature**3
        temperature -= (entropy_at(scores, temperature) - target) / slope if slope else 0.0
    return temperature


def wrong_sorts_its_scores(scores, target):
    result = search(scores, target)
    scores.sort()
    return result


RIGHT = {
    "by halving": in_a_fixed_range(1e-6, 1e6, root=False),
    "by halving at the root": in_a_fixed_range(1e-12, 1e12),
}

WRONG = {
    "20 steps": searched(steps=20),
    "a hundredth to a hundred": searched(1e-2, 1e2),
    "low end missing": searched(1e-2, 1e4),
    "constant in the logarithm": searched(measure=with_a_constant),
    "temperature squared": searched(measure=lambda s, t: entropy_at(s, math.sqrt(t))),
    "fraction of log n": searched(measure=lambda s, t: entropy_at(s, t) / math.log(s.size)),
    "far inside only": searched(refused=lambda target, limit: not 0.01 < target < limit - 0.01),
    "0 allowed": only_checked(lambda target, limit: 0 <= target < limit),
    "log n allowed": only_checked(lambda target, limit: 0 < target <= limit),
    "limit in bits": only_checked(lambda target, limit: 0 < target < limit / math.log(2)),
    "negative": lambda scores, target: -search(scores, target),
    "four digits": lambda scores, target: round(search(scores, target), 4),
    "an array": lambda scores, target: np.array([search(scores, target)]),
}
