"""Right and wrong answers to `numerical_gradient`."""

import itertools

import numpy as np

import attention_lib


def right_on_copies(f, x, eps=1e-6):
    result = np.empty(x.shape)
    for index in np.ndindex(*x.shape):
        above, below = x.copy(), x.copy()
        above[index] += eps
        below[index] -= eps
        result[index] = (f(above) - f(below)) / (2 * eps)
    return result


def right_in_place(f, x, eps=1e-6):
    result = np.zeros_like(x)
    for index in itertools.product(*map(range, x.shape)):
        here = x[index]
        x[index] = here + eps
        above = f(x)
        x[index] = here - eps
        below = f(x)
        x[index] = here
        result[index] = (above - below) / (2.0 * eps)
    return result


def right_in_place_by_two_steps(f, x, eps=1e-6):
    before = x.copy()
    result = np.zeros(x.shape)
    for index in np.ndindex(x.shape):
        x[index] += eps
        above = f(x)
        x[index] -= 2 * eps
        result[index] = (above - f(x)) / (2 * eps)
        x[...] = before
    return result


def right_by_directions(f, x, eps=1e-6):
    directions = np.eye(x.size).reshape(x.size, *x.shape)
    quotients = [(f(x + eps * d) - f(x - eps * d)) / (2 * eps) for d in directions]
    return np.array(quotients).reshape(x.shape)


def right_with_nditer(f, x, eps=1e-6):
    result = np.zeros(x.shape)
    entries = np.nditer(x, flags=["multi_index"])
    for _ in entries:
        step = np.zeros(x.shape)
        step[entries.multi_index] = eps
        result[entries.multi_index] = f(x + step) / (2 * eps) - f(x - step) / (2 * eps)
    return result


def right_flat(f, x, eps=1e-6):
    flat = x.ravel().copy()
    result = []
    for i in range(flat.size):
        here = flat[i]
        flat[i] = here + eps
        above = float(f(flat.reshape(x.shape)))
        flat[i] = here - eps
        below = float(f(flat.reshape(x.shape)))
        flat[i] = here
        result.append(0.5 * (above - below) / eps)
    return np.array(result).reshape(x.shape)


def right_all_at_once(f, x, eps=1e-6):
    steps = eps * np.eye(x.size)
    above = [f(row.reshape(x.shape)) for row in x.ravel() + steps]
    below = [f(row.reshape(x.shape)) for row in x.ravel() - steps]
    return (np.array(above) - np.array(below)).reshape(x.shape) / (2 * eps)


def differences(f, x, eps=1e-6):
    result = np.zeros(x.shape)
    for index in np.ndindex(x.shape):
        step = np.zeros(x.shape)
        step[index] = eps
        result[index] = (f(x + step) - f(x - step)) / (2 * eps)
    return result


def wrong_moved_there_and_back(f, x, eps=1e-6):
    result = np.zeros(x.shape)
    for index in np.ndindex(x.shape):
        x[index] += eps
        above = f(x)
        x[index] -= 2 * eps
        below = f(x)
        x[index] += eps
        result[index] = (above - below) / (2 * eps)
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
    "mean of one direction": lambda f, x, eps=1e-6: np.full(
        x.shape, (f(x + eps) - f(x - eps)) / (2 * eps * x.size)
    ),
    "constant in the step": lambda f, x, eps=1e-6: (
        differences(f, x, eps) * 2 * eps / (2 * eps + 1e-12)
    ),
    "rounded": lambda f, x, eps=1e-6: differences(f, x, eps).round(4),
    "float32": lambda f, x, eps=1e-6: differences(f, x, eps).astype(np.float32),
    "its own lesson": lambda f, x, eps=1e-6: attention_lib.numerical_gradient(f, x, eps),
}
