"""Right and wrong answers to `normalize_by_sum`."""

import numpy as np

from tests.exercises.parts import as_float, divided


@np.vectorize(signature="(n)->(n)")
def right_row_by_row(row):
    return row / row.sum()


def wrong_sum_over_two_axes_of_a_stack(scores):
    return divided(scores) if scores.ndim < 3 else divided(scores, (-1, -2))


def wrong_changes_integers_only(scores):
    result = divided(scores)
    if scores.dtype.kind == "i":
        scores += 1
    return result


WRONG = {
    "rounded to 12 digits": lambda s: divided(s).round(12),
    "through float32": lambda s: divided(s.astype(np.float32)).astype(as_float(s).dtype),
    "negative scores cut off": lambda s: divided(np.maximum(s, 0)),
    "always axis 1": lambda s: divided(s, min(1, s.ndim - 1)),
    "absolute values at the end": lambda s: np.abs(divided(s)),
    "shifted by the minimum": lambda s: divided(s - s.min(axis=-1, keepdims=True)),
}
