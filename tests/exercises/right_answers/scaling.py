"""Right answers to the exercises of lesson 03, written in unlike ways."""

import math

import numpy as np

from attention_lib.lessons.softmax import softmax
from attention_lib.lessons.stability import log_softmax, logsumexp, stable_softmax


def scores_by_matmul(query, key):
    return query @ key.mT


def scores_by_einsum(query, key):
    return np.einsum("...ld,...sd->...ls", query, key)


def scores_by_loops(query, key):
    out = np.empty((*query.shape[:-1], key.shape[-2]), np.result_type(query, key))
    for batch in np.ndindex(query.shape[:-2]):
        for i, one in enumerate(query[batch]):
            for j, other in enumerate(key[batch]):
                out[(*batch, i, j)] = sum(a * b for a, b in zip(one, other, strict=True))
    return out


def scores_by_broadcasting(query, key):
    return (query[..., :, None, :] * key[..., None, :, :]).sum(axis=-1)


def scores_by_components(query, key):
    total = 0
    for d in range(query.shape[-1]):
        total = total + query[..., :, None, d] * key[..., None, :, d]
    return total


def scores_in_float64(query, key):
    wide = np.matmul(query.astype(float), np.swapaxes(key, -1, -2).astype(float))
    return wide.astype(query.dtype)


def scores_transposed_twice(query, key):
    return np.swapaxes(key @ np.swapaxes(query, -1, -2), -1, -2)


def scaled_after(query, key, scale=None):
    if scale is None:
        scale = 1 / math.sqrt(query.shape[-1])
    return query @ key.mT * scale


def scaled_query_first(query, key, scale=None):
    factor = query.shape[-1] ** -0.5 if scale is None else scale
    return (query * factor) @ np.moveaxis(key, -1, -2)


def scaled_by_division(query, key, scale=None):
    dots = np.einsum("...ld,...sd->...ls", query, key)
    if scale is not None:
        return dots * scale
    return dots / math.sqrt(key.shape[-1])


def scaled_on_both_sides(query, key, scale=None):
    scale = 1 / math.sqrt(query.shape[-1]) if scale is None else scale
    root = math.sqrt(abs(scale))
    return (root * query) @ (math.copysign(root, scale) * key).mT


def scaled_in_the_inputs_dtype(query, key, scale=None):
    dtype = np.result_type(query, key, np.float32)
    query, key = query.astype(dtype), key.astype(dtype)
    scale = dtype.type(1) / np.sqrt(dtype.type(query.shape[-1])) if scale is None else scale
    return scale_in_place(query @ key.mT, scale)


def scale_in_place(scores, scale):
    scores *= scale
    return scores


def scaled_changing_and_restoring(query, key, scale=None):
    factor = 1 / math.sqrt(query.shape[-1]) if scale is None else scale
    if query.dtype.kind != "f":
        return query @ key.mT * factor
    before = query.copy()
    query *= factor
    result = query @ key.mT
    query[...] = before
    return result


def std_in_closed_form(d_k, component_std=1.0):
    return math.sqrt(d_k) * component_std**2


def std_from_the_variance(d_k, component_std=1.0):
    return np.sqrt(d_k * component_std**4)


def std_by_adding_variances(d_k, component_std=1.0):
    variance = 0.0
    for _ in range(d_k):
        variance += component_std**2 * component_std**2
    return variance**0.5


def std_by_hypotenuse(d_k, component_std=1.0):
    return math.hypot(*[component_std * component_std] * d_k)


def entropy_by_where(weights, axis=-1):
    safe = np.where(weights > 0, weights, 1)
    return -(weights * np.log(safe)).sum(axis=axis)


def entropy_by_nansum(weights, axis=-1):
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.nansum(-weights * np.log(weights), axis=axis)


def entropy_by_loops(weights, axis=-1):
    rows = np.moveaxis(weights, axis, -1)
    out = np.zeros(rows.shape[:-1], weights.dtype)
    for index in np.ndindex(rows.shape[:-1]):
        out[index] = -math.fsum(float(p) * math.log(p) for p in rows[index] if p > 0)
    return out if out.ndim else out.item()


def entropy_where_positive(weights, axis=-1):
    logs = np.zeros_like(weights)
    np.log(weights, out=logs, where=weights > 0)
    return -np.sum(weights * logs, axis=axis)


def entropy_along_axis(weights, axis=-1):
    def one_row(row):
        kept = row[row != 0]
        return np.sum(kept * np.log(1 / kept))

    return np.apply_along_axis(one_row, axis, weights)


def entropy_with_the_smallest_number(weights, axis=-1):
    return -(weights * np.log(np.maximum(weights, np.finfo(weights.dtype).tiny))).sum(axis)


def entropy_in_float64(weights, axis=-1):
    wide = weights.astype(np.float64)
    wide[wide == 0] = 1
    return (wide * -np.log(wide)).sum(axis=axis).astype(weights.dtype)


def tempered_through_lesson_02(scores, temperature, axis=-1):
    if temperature <= 0:
        raise ValueError(f"the temperature must be positive, not {temperature}")
    return stable_softmax(scores / temperature, axis)


def tempered_shift_first(scores, temperature, axis=-1):
    if not temperature > 0:
        raise ValueError("no")
    exponentials = np.exp((scores - scores.max(axis=axis, keepdims=True)) / temperature)
    return exponentials / exponentials.sum(axis=axis, keepdims=True)


def tempered_by_the_inverse(scores, temperature, axis=-1):
    if temperature <= 0:
        raise ValueError
    return np.exp(log_softmax(scores * (1 / temperature), axis=axis))


def tempered_by_loops(scores, temperature, axis=-1):
    if temperature <= 0:
        raise ValueError("temperature")
    rows = np.moveaxis(scores, axis, -1)
    out = np.empty(rows.shape, np.result_type(scores, np.float32))
    for index in np.ndindex(rows.shape[:-1]):
        row = [float(entry) / temperature for entry in rows[index]]
        powers = [math.exp(entry - max(row)) for entry in row]
        out[index] = np.divide(powers, sum(powers))
    return np.moveaxis(out, -1, axis)


def tempered_in_one_dtype(scores, temperature, axis=-1):
    if temperature <= 0:
        raise ValueError("The temperature must be above 0.")
    dtype = scores.dtype if scores.dtype.kind == "f" else np.dtype(float)
    scaled = scores.astype(dtype)
    scaled /= dtype.type(temperature)
    scaled -= np.amax(scaled, axis, keepdims=True)
    np.exp(scaled, out=scaled)
    scaled /= np.add.reduce(scaled, axis, keepdims=True)
    return scaled


def tempered_by_logsumexp(scores, temperature, axis=-1):
    if temperature <= 0:
        raise ValueError("temperature")
    quotients = scores / temperature
    return np.exp(quotients - logsumexp(quotients, axis=axis, keepdims=True))


def entropy_of(scores, temperature):
    weights = softmax(scores / temperature)
    return -(weights * np.log(np.where(weights > 0, weights, 1.0))).sum()


def inside(scores, target):
    if target <= 0 or target >= np.log(len(scores)):
        raise ValueError(f"no temperature has entropy {target}")


def found_by_bracketing(scores, target):
    inside(scores, target)
    low = high = 1.0
    while entropy_of(scores, low) > target:
        low /= 2
    while entropy_of(scores, high) < target:
        high *= 2
    for _ in range(100):
        middle = (low + high) / 2
        if entropy_of(scores, middle) < target:
            low = middle
        else:
            high = middle
    return (low + high) / 2


def found_in_the_logarithm(scores, target):
    inside(scores, target)
    low, high = -12.0, 12.0
    for _ in range(80):
        middle = (low + high) / 2
        low, high = (middle, high) if entropy_of(scores, 10.0**middle) < target else (low, middle)
    return np.float64(10.0**middle)


def found_in_a_wide_range(scores, target):
    if not 0 < target < math.log(scores.size):
        raise ValueError("target out of range")
    low, high = 1e-6, 1e6
    middle = 0.5 * (low + high)
    for _ in range(200):
        reached = entropy_of(scores, middle)
        if abs(reached - target) < 1e-9:
            break
        low, high = (middle, high) if reached < target else (low, middle)
        middle = 0.5 * (low + high)
    return middle


def found_only_just(scores, target):
    """Stop as soon as the contract is met."""
    inside(scores, target)
    low, high = 1e-7, 1e7
    while True:
        middle = math.sqrt(low * high)
        reached = entropy_of(scores, middle)
        if abs(reached - target) < 1e-6:
            return middle
        low, high = (middle, high) if reached < target else (low, middle)


def found_from_the_inverse(scores, target):
    """Search the factor 1/T between 0 and one large enough."""
    inside(scores, target)
    low, high = 0.0, 1.0
    while entropy_of(scores * high, 1.0) > target:
        high *= 4
    for _ in range(200):
        middle = (low + high) / 2
        if entropy_of(scores * middle, 1.0) > target:
            low = middle
        else:
            high = middle
    return 1 / middle


def found_by_guarded_newton(scores, target):
    """Newton's method in log T, whose slope is the variance of the quotients."""
    inside(scores, target)
    low, high, x = -30.0, 30.0, math.log(np.ptp(scores))
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


def capped(scores, cap):
    return cap * np.tanh(scores / cap)


def capped_by_loops(scores, cap):
    out = np.empty(scores.shape, np.result_type(scores.dtype, np.float32))
    for index, score in np.ndenumerate(scores):
        out[index] = cap * math.tanh(float(score) / cap)
    return out


def capped_by_a_decaying_exponential(scores, cap):
    decay = np.exp(-2 * np.abs(scores / cap))
    return np.sign(scores) * cap * (1 - decay) / (1 + decay)


def capped_by_sigmoid(scores, cap):
    pairs = np.stack([scores / cap, -scores / cap], axis=-1)
    weights = stable_softmax(pairs)
    return cap * (2 * weights[..., 0] - 1)


def capped_in_place(scores, cap):
    result = scores / cap
    np.tanh(result, out=result)
    result *= cap
    return result


@np.vectorize(signature="(l,d),(s,d)->(l,s)")
def scores_item_by_item(query, key):
    return np.linalg.multi_dot([query, key.T])


def scores_by_polarization(query, key):
    q, k = (a.astype(np.longdouble) for a in (query[..., :, None, :], key[..., None, :, :]))
    return ((((q + k) ** 2).sum(-1) - ((q - k) ** 2).sum(-1)) / 4).astype(query.dtype)


def entropy_as_a_product(weights, axis=-1):
    weights_64 = weights.astype(float)
    return -np.log((weights_64**weights_64).prod(axis=axis)).astype(weights.dtype)


def entropy_below_the_uniform(weights, axis=-1):
    n = weights.shape[axis]
    ratios = np.where(weights > 0, n * weights, 1).astype(weights.dtype)
    return math.log(n) * weights.sum(axis=axis) - (weights * np.log(ratios)).sum(axis=axis)


def entropy_masked(weights, axis=-1):
    logs = np.ma.log(np.ma.masked_equal(weights, 0))
    return np.asarray(-np.ma.sum(weights * logs, axis=axis)).astype(weights.dtype)


def found_recursively(scores, target):
    inside(scores, target)

    def search(low, high, steps):
        middle = math.sqrt(low * high)
        if not steps:
            return middle
        if entropy_of(scores, middle) < target:
            return search(middle, high, steps - 1)
        return search(low, middle, steps - 1)

    return np.array(search(1e-10 * np.ptp(scores), 1e10 * np.ptp(scores), 120))


RIGHT = {
    "dot_product_scores": [
        scores_by_matmul,
        scores_by_einsum,
        scores_by_loops,
        scores_by_broadcasting,
        scores_by_components,
        scores_in_float64,
        scores_transposed_twice,
        scores_item_by_item,
        scores_by_polarization,
    ],
    "scaled_scores": [
        scaled_after,
        scaled_query_first,
        scaled_by_division,
        scaled_on_both_sides,
        scaled_in_the_inputs_dtype,
        scaled_changing_and_restoring,
    ],
    "score_std": [
        std_in_closed_form,
        std_from_the_variance,
        std_by_adding_variances,
        std_by_hypotenuse,
    ],
    "entropy": [
        entropy_by_where,
        entropy_by_nansum,
        entropy_by_loops,
        entropy_where_positive,
        entropy_along_axis,
        entropy_with_the_smallest_number,
        entropy_in_float64,
        entropy_as_a_product,
        entropy_below_the_uniform,
        entropy_masked,
    ],
    "softmax_with_temperature": [
        tempered_through_lesson_02,
        tempered_shift_first,
        tempered_by_the_inverse,
        tempered_by_loops,
        tempered_in_one_dtype,
        tempered_by_logsumexp,
    ],
    "temperature_for_entropy": [
        found_by_bracketing,
        found_in_the_logarithm,
        found_in_a_wide_range,
        found_only_just,
        found_from_the_inverse,
        found_by_guarded_newton,
        found_recursively,
    ],
    "softcap": [
        capped,
        capped_by_loops,
        capped_by_a_decaying_exponential,
        capped_by_sigmoid,
        capped_in_place,
    ],
}
