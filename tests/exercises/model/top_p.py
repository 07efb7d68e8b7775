"""Right and wrong answers to `top_p`."""

import numpy as np

from tests.exercises.parts import as_float, divided


def checked(p):
    if p <= 0 or p > 1:
        raise ValueError(f"p is {p}")


def right_by_a_limit(weights, p):
    checked(p)
    weights = as_float(weights)
    if p == 1:
        return weights
    ranked = np.sort(weights, axis=-1)[..., ::-1]
    before = np.cumsum(ranked, axis=-1) - ranked
    limit = np.where(before < p, ranked, np.inf).min(axis=-1, keepdims=True)
    return divided(np.where(weights >= limit, weights, weights.dtype.type(0)))


def right_by_loops(weights, p):
    checked(p)
    result = np.zeros(weights.shape, as_float(weights).dtype)
    for index in np.ndindex(weights.shape[:-1]):
        total, places = 0.0, []
        for place in sorted(range(weights.shape[-1]), key=lambda j: -weights[index][j]):
            if total >= p and p < 1:
                break
            total += float(weights[index][place])
            places.append(place)
        for place in places:
            result[index][place] = weights[index][place] / total
    return result


def right_by_inverse_permutation(weights, p):
    checked(p)
    weights = as_float(weights)
    order = np.argsort(weights, axis=-1)[..., ::-1]
    ranked = np.take_along_axis(weights, order, axis=-1)
    count = 1 + (np.cumsum(ranked[..., :-1], axis=-1) < p).sum(axis=-1, keepdims=True)
    if p == 1:
        count = np.full_like(count, weights.shape[-1])
    kept = ranked * (np.arange(weights.shape[-1]) < count)
    return divided(np.take_along_axis(kept, order.argsort(axis=-1), axis=-1))


def right_by_pairs(weights, p):
    """Add up for each weight all that are larger: n × n comparisons, and no sorting."""
    checked(p)
    weights = as_float(weights)
    larger = weights[..., None, :] > weights[..., :, None]
    before = (larger * weights[..., None, :].astype(float)).sum(axis=-1)
    return divided(weights * ((before < p) | (p == 1)))


def right_searched(weights, p):
    """Raise a limit as long as what is left has enough weight."""
    checked(p)
    rows = as_float(weights).reshape(-1, weights.shape[-1])
    result = rows.copy()
    for row in result if p < 1 else ():
        for smallest in np.sort(row)[:-1]:
            if row[row > smallest].sum() < p:
                break
            row[row <= smallest] = 0
    return divided(result).reshape(weights.shape)


def wrong_renormalizes_in_place(weights, p):
    result = right_by_a_limit(weights, p)
    weights[...] = result
    return result


WRONG = {
    "equal weights": lambda w, p: divided((right_by_a_limit(w, p) > 0).astype(as_float(w).dtype)),
    "a p below the largest keeps nothing": lambda w, p: (
        right_by_a_limit(w, p) * (w.max(axis=-1, keepdims=True) < p)
    ),
    "at least two": lambda w, p: divided(
        np.where(
            w >= np.sort(w, axis=-1)[..., -min(2, w.shape[-1]), None], w, right_by_a_limit(w, p)
        )
    ),
    "p of the largest weight": lambda w, p: (
        right_by_a_limit(w, p) * 0 + divided(np.where(w >= p * w.max(axis=-1, keepdims=True), w, 0))
    ),
    "1 - p from the other end": lambda w, p: divided(
        np.where(right_by_a_limit(w, max(1 - p, 1e-9)) > 0, 0, w) + right_by_a_limit(w, p) * 1e-9
    ),
    "rounded": lambda w, p: right_by_a_limit(w, p).round(6),
    "through float32": lambda w, p: right_by_a_limit(w.astype(np.float32), p).astype(
        as_float(w).dtype
    ),
    "p of 1 loses what is small": lambda w, p: right_by_a_limit(
        w, min(p, 1 - 1e-9) if p > 0 else p
    ),
    "1 is refused": lambda w, p: right_by_a_limit(w, p if p < 1 else 2.0),
}
