"""Right and wrong answers to `normalize_by_sum`."""

import numpy as np

from tests.exercises.parts import as_float, divided


def right_in_place(scores):
    result = scores.astype(np.float64 if scores.dtype.kind == "i" else scores.dtype)
    result /= result.sum(-1)[..., None]
    return result


def right_by_loops(scores):
    rows = scores.reshape(-1, scores.shape[-1])
    out = np.empty(rows.shape, np.result_type(scores.dtype, np.float32))
    for i, row in enumerate(rows):
        total = 0.0
        for entry in row:
            total += float(entry)
        for j, entry in enumerate(row):
            out[i, j] = float(entry) / total
    return out.reshape(scores.shape)


def right_as_einsum(scores):
    return np.einsum("...n,...->...n", scores, 1 / np.einsum("...n->...", scores))


@np.vectorize(signature="(n)->(n)")
def right_row_by_row(row):
    return row / row.sum()


def right_read_only(scores):
    result = np.true_divide(scores, np.add.reduce(scores, axis=-1)[..., np.newaxis])
    result.flags.writeable = False
    return result


def wrong_sum_over_two_axes_of_a_stack(scores):
    return divided(scores) if scores.ndim < 3 else divided(scores, (-1, -2))


def wrong_changes_integers_only(scores):
    result = divided(scores)
    if scores.dtype.kind == "i":
        scores += 1
    return result


WRONG = {
    "constant in the sum": lambda s: s / (s.sum(axis=-1, keepdims=True) + 1e-12),
    "rounded to 12 digits": lambda s: divided(s).round(12),
    "through float32": lambda s: divided(s.astype(np.float32)).astype(as_float(s).dtype),
    "negative scores cut off": lambda s: divided(np.maximum(s, 0)),
    "always axis 1": lambda s: divided(s, min(1, s.ndim - 1)),
    "absolute values at the end": lambda s: np.abs(divided(s)),
    "the mean": lambda s: s / s.mean(axis=-1, keepdims=True),
    "shifted by the minimum": lambda s: divided(s - s.min(axis=-1, keepdims=True)),
}
