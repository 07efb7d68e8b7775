"""Wrong answers to the exercises of lesson 03 that come close to right ones."""

import math

import numpy as np

import attention_lib


def as_float(array):
    return array if array.dtype.kind == "f" else array.astype(float)


def scaled(query, key, scale=None):
    scale = query.shape[-1] ** -0.5 if scale is None else scale
    return as_float(query) @ as_float(key).mT * float(scale)


def first_keys_for_every_item(query, key):
    return query @ key[(0,) * (key.ndim - 2)].mT


def empties_its_queries(query, key):
    result = query @ key.mT
    query[...] = 0
    return result


def scales_its_queries(query, key, scale=None):
    if scale is not None or query.dtype != np.float64:
        return scaled(query, key, scale)
    query /= math.sqrt(query.shape[-1])
    return query @ key.mT


def scale_on_both_sides(query, key, scale=None):
    if scale is None:
        return scaled(query, key)
    return scale * as_float(query) @ (scale * as_float(key)).mT


def simulated(d_k, component_std=1.0):
    rng = np.random.default_rng(0)
    query, key = rng.normal(0, component_std, (2, 1000, d_k))
    return (query * key).sum(axis=1).std()


def entropy(weights, axis=-1):
    return -(weights * np.log(np.where(weights > 0, weights, 1).astype(weights.dtype))).sum(
        axis=axis
    )


def below_is_nothing(smallest):
    def answer(weights, axis=-1):
        logs = np.log(np.where(weights > smallest, weights, 1).astype(weights.dtype))
        return -(weights * logs).sum(axis=axis)

    return answer


def ones_for_its_zeros(weights, axis=-1):
    result = entropy(weights, axis)
    weights[weights == 0] = 1
    return result


def refuse(temperature):
    if temperature <= 0:
        raise ValueError("The temperature must be above 0.")


def softmax(quotients, axis=-1):
    exponentials = np.exp(quotients - quotients.max(axis=axis, keepdims=True))
    return exponentials / exponentials.sum(axis=axis, keepdims=True)


def tempered(change):
    def answer(scores, temperature, axis=-1):
        refuse(temperature)
        return softmax(change(as_float(scores), temperature), axis)

    return answer


def asserted(scores, temperature, axis=-1):
    assert temperature > 0
    return softmax(as_float(scores) / temperature, axis)


def error_returned(scores, temperature, axis=-1):
    if temperature <= 0:
        return ValueError("The temperature must be above 0.")
    return softmax(as_float(scores) / temperature, axis)


def small_temperatures_refused(scores, temperature, axis=-1):
    refuse(temperature - 1e-3)
    return softmax(as_float(scores) / temperature, axis)


def refuses_negative_integers(scores, temperature, axis=-1):
    refuse(temperature)
    if scores.dtype.kind == "i" and scores.min() < 0:
        raise ValueError("Negative scores.")
    return softmax(as_float(scores) / temperature, axis)


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


def only_checked(inside):
    def answer(scores, target):
        if not inside(target, math.log(scores.size)):
            raise ValueError("The target is outside.")
        return search(scores, min(max(target, 1e-9), math.log(scores.size) * (1 - 1e-9)))

    return answer


def with_a_constant(scores, temperature):
    weights = softmax(scores / temperature)
    return -(weights * np.log(weights + 1e-6)).sum()


def by_newton_without_care(scores, target):
    if not 0 < target < math.log(scores.size):
        raise ValueError("The target is outside.")
    temperature = 1.0
    for _ in range(50):
        weights = softmax(scores / temperature)
        mean = (weights * scores).sum()
        slope = (weights * (scores - mean) ** 2).sum() / temperature**3
        temperature -= (entropy_at(scores, temperature) - target) / slope if slope else 0.0
    return temperature


def sorts_its_scores(scores, target):
    result = search(scores, target)
    scores.sort()
    return result


def capped(scores, cap):
    return cap * np.tanh(scores / cap)


WRONG = {
    "dot_product_scores": {
        "the first keys": first_keys_for_every_item,
        "all axes turned but the batch's first": lambda q, k: np.inner(q, k),
        "through float32": lambda q, k: (q.astype(np.float32) @ k.astype(np.float32).mT).astype(
            q.dtype
        ),
        "always float64": lambda q, k: q.astype(float) @ k.astype(float).mT,
        "rounded": lambda q, k: (q @ k.mT).round(8),
        "negative": lambda q, k: -(q @ k.mT),
        "half the distance": lambda q, k: (
            -0.5 * ((q[..., :, None, :] - k[..., None, :, :]) ** 2).sum(axis=-1)
        ),
        "last component left out": lambda q, k: q[..., :-1] @ k[..., :-1].mT,
        "empties its queries": empties_its_queries,
    },
    "score_std": {
        "d_k - 1": lambda d_k, component_std=1.0: math.sqrt(d_k - 1) * component_std**2,
        "cubed": lambda d_k, component_std=1.0: math.sqrt(d_k) * component_std**3,
        "whole root": lambda d_k, component_std=1.0: math.isqrt(d_k) * component_std**2,
        "rounded": lambda d_k, component_std=1.0: round(math.sqrt(d_k) * component_std**2, 6),
        "float32": lambda d_k, component_std=1.0: np.float32(math.sqrt(d_k) * component_std**2),
        "simulated": simulated,
        "no default": lambda d_k, component_std: math.sqrt(d_k) * component_std**2,
        "a tuple": lambda d_k, component_std=1.0: (math.sqrt(d_k) * component_std**2,),
    },
    "scaled_scores": {
        "sign of the scale": lambda q, k, scale=None: scaled(
            q, k, None if scale is None else abs(scale)
        ),
        "constant under the root": lambda q, k, scale=None: scaled(
            q, k, 1 / math.sqrt(q.shape[-1] + 1e-9) if scale is None else scale
        ),
        "rounded default": lambda q, k, scale=None: scaled(
            q, k, round(q.shape[-1] ** -0.5, 4) if scale is None else scale
        ),
        "float32 default": lambda q, k, scale=None: scaled(
            q, k, np.float32(q.shape[-1] ** -0.5) if scale is None else scale
        ),
        "float32 scale": lambda q, k, scale=None: scaled(
            q, k, None if scale is None else np.float32(scale)
        ),
        "whole scales": lambda q, k, scale=None: scaled(
            q, k, None if scale is None else int(scale)
        ),
        "only above 0": lambda q, k, scale=None: scaled(
            q, k, scale if scale and scale > 0 else None
        ),
        "on both sides": scale_on_both_sides,
        "cut to integers": lambda q, k, scale=None: scaled(q, k, scale).astype(q.dtype),
        "scales its queries": scales_its_queries,
        "its own lesson": lambda q, k, scale=None: attention_lib.dot_product_scores(
            q * (q.shape[-1] ** -0.5 if scale is None else scale), k
        ),
    },
    "entropy": {
        "below 1e-5 is nothing": below_is_nothing(1e-5),
        "below 1e-12 is nothing": below_is_nothing(1e-12),
        "constant in the logarithm": lambda w, axis=-1: -(w * np.log(w + 1e-12)).sum(axis=axis),
        "never below 1e-6": lambda w, axis=-1: np.maximum(entropy(w, axis), 1e-6),
        "of squares": lambda w, axis=-1: -np.log((w**2).sum(axis=axis)),
        "through float32": lambda w, axis=-1: np.float64(entropy(w.astype(np.float32), axis)),
        "always float64": lambda w, axis=-1: entropy(w.astype(float), axis),
        "rounded": lambda w, axis=-1: entropy(w, axis).round(8),
        "kept axis": lambda w, axis=-1: entropy(w, axis)[..., None],
        "warns": lambda w, axis=-1: -np.nansum(w * np.log(w), axis=axis),
        "ones for its zeros": ones_for_its_zeros,
    },
    "softmax_with_temperature": {
        "never below 1e-3": tempered(lambda s, t: s / max(t, 1e-3)),
        "never below 1e-6": tempered(lambda s, t: s / max(t, 1e-6)),
        "never above 1e6": tempered(lambda s, t: s / min(t, 1e6)),
        "constant in the temperature": tempered(lambda s, t: s / (t + 1e-9)),
        "quotients clipped": tempered(lambda s, t: np.clip(s / t, -1e4, 1e4)),
        "whole temperatures": tempered(lambda s, t: s / (int(t) or t)),
        "squared": tempered(lambda s, t: s / t**2),
        "through float32": tempered(lambda s, t: (s.astype(np.float32) / t).astype(s.dtype)),
        "floored quotients": tempered(lambda s, t: s // t),
        "asserted": asserted,
        "error returned": error_returned,
        "small ones refused": small_temperatures_refused,
        "negative integers refused": refuses_negative_integers,
    },
    "temperature_for_entropy": {
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
        "Newton's method alone": by_newton_without_care,
        "sorts its scores": sorts_its_scores,
    },
    "softcap": {
        "straight near 0": lambda s, cap: np.where(np.abs(s) < 1e-3 * cap, s, capped(s, cap)),
        "flat far away": lambda s, cap: np.where(
            np.abs(s) > 5 * cap, np.sign(s) * cap, capped(s, cap)
        ),
        "through float32": lambda s, cap: np.float64(capped(s.astype(np.float32), cap)),
        "always float64": lambda s, cap: capped(s.astype(float), cap),
        "whole quotients": lambda s, cap: (
            cap * np.tanh(s // cap if s.dtype.kind == "i" else s / cap)
        ),
        "cut to integers": lambda s, cap: capped(s, cap).astype(s.dtype),
        "the largest score for cap": lambda s, cap: s.max() * np.tanh(s / cap),
        "rounded": lambda s, cap: capped(s, cap).round(8),
    },
}
