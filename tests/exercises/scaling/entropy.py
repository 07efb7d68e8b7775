"""Right and wrong answers to `entropy`."""

import numpy as np


def entropy(weights, axis=-1):
    return -(weights * np.log(np.where(weights > 0, weights, 1).astype(weights.dtype))).sum(
        axis=axis
    )


def below_is_nothing(smallest):
    def answer(weights, axis=-1):
        logs = np.log(np.where(weights > smallest, weights, 1).astype(weights.dtype))
        return -(weights * logs).sum(axis=axis)

    return answer


def wrong_ones_for_its_zeros(weights, axis=-1):
    result = entropy(weights, axis)
    weights[weights == 0] = 1
    return result


WRONG = {
    "below 1e-5 is nothing": below_is_nothing(1e-5),
    "below 1e-12 is nothing": below_is_nothing(1e-12),
    "never below 1e-6": lambda w, axis=-1: np.maximum(entropy(w, axis), 1e-6),
    "through float32": lambda w, axis=-1: np.float64(entropy(w.astype(np.float32), axis)),
    "rounded": lambda w, axis=-1: entropy(w, axis).round(8),
    "kept axis": lambda w, axis=-1: entropy(w, axis)[..., None],
}
