"""Right and wrong answers to `numerical_gradient`."""

import numpy as np


def differences(f, x, eps=1e-6):
    result = np.zeros(x.shape)
    for index in np.ndindex(x.shape):
        step = np.zeros(x.shape)
        step[index] = eps
        result[index] = (f(x + step) - f(x - step)) / (2 * eps)
    return result


def wrong_row_by_row(f, x, eps=1e-6):
    if x.ndim < 2:
        return differences(f, x, eps)
    return np.stack([differences(f, row, eps) for row in x])


def wrong_extrapolated(f, x, eps=1e-6):
    return (4 * differences(f, x, eps) - differences(f, x, 2 * eps)) / 3


def wrong_in_memory_order(f, x, eps=1e-6):
    gradient = differences(f, x, eps)
    entries = np.nditer(x, flags=["multi_index"])
    return np.array([gradient[entries.multi_index] for _ in entries]).reshape(x.shape)


WRONG = {
    "ten times eps": lambda f, x, eps=1e-6: differences(f, x, 10 * eps),
    "flat": lambda f, x, eps=1e-6: differences(f, x, eps).ravel(),
    "turned": lambda f, x, eps=1e-6: differences(f, x, eps).T,
    "constant in the step": lambda f, x, eps=1e-6: (
        differences(f, x, eps) * 2 * eps / (2 * eps + 1e-12)
    ),
    "rounded": lambda f, x, eps=1e-6: differences(f, x, eps).round(4),
    "float32": lambda f, x, eps=1e-6: differences(f, x, eps).astype(np.float32),
}
