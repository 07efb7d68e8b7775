"""Right and wrong answers to `adam_step`."""

import numpy as np


def right_textbook(
    parameter, gradient, mean, square, step, rate=1e-3, beta1=0.9, beta2=0.999, epsilon=1e-8
):
    mean = beta1 * mean + (1 - beta1) * gradient
    square = beta2 * square + (1 - beta2) * gradient**2
    corrected_mean = mean / (1 - beta1**step)
    corrected_square = square / (1 - beta2**step)
    moved = parameter - rate * corrected_mean / (np.sqrt(corrected_square) + epsilon)
    return tuple(array.astype(parameter.dtype) for array in (moved, mean, square))


def right_as_torch_has_it(
    parameter, gradient, mean, square, step, rate=1e-3, beta1=0.9, beta2=0.999, epsilon=1e-8
):
    dtype = parameter.dtype
    mean = mean + (gradient - mean) * (1 - beta1)
    square = square * beta2 + gradient * gradient * (1 - beta2)
    denominator = np.sqrt(square) / (1 - beta2**step) ** 0.5 + epsilon
    moved = parameter - rate / (1 - beta1**step) * (mean / denominator)
    return [moved.astype(dtype), mean.astype(dtype), square.astype(dtype)]


def right_entry_by_entry(
    parameter, gradient, mean, square, step, rate=1e-3, beta1=0.9, beta2=0.999, epsilon=1e-8
):
    results = [np.empty_like(parameter) for _ in range(3)]
    for index in np.ndindex(parameter.shape):
        g = float(gradient[index])
        m = beta1 * float(mean[index]) + (1 - beta1) * g
        v = beta2 * float(square[index]) + (1 - beta2) * g * g
        move = m / (1 - beta1**step) / ((v / (1 - beta2**step)) ** 0.5 + epsilon)
        for result, value in zip(results, (parameter[index] - rate * move, m, v), strict=True):
            result[index] = value
    return tuple(results)


def right_in_float64_with_moved_epsilon(
    parameter, gradient, mean, square, step, rate=1e-3, beta1=0.9, beta2=0.999, epsilon=1e-8
):
    """Kingma and Ba's faster order of the same algorithm, with the epsilon that belongs to it."""
    theta, g, m, v = (array.astype(np.float64) for array in (parameter, gradient, mean, square))
    m, v = beta1 * m + (1 - beta1) * g, beta2 * v + (1 - beta2) * np.square(g)
    root = np.sqrt(1 - beta2**step)
    theta -= rate * root / (1 - beta1**step) * m / (np.sqrt(v) + epsilon * root)
    return tuple(array.astype(parameter.dtype) for array in (theta, m, v))


def wrong_adam_in_place(parameter, gradient, mean, square, step, *settings, **named):
    new = right_textbook(parameter, gradient, mean, square, step, *settings, **named)
    parameter[...], mean[...], square[...] = new
    return parameter, mean, square


def then(change):
    """Return what the right answer gives, changed."""
    return lambda parameter, *others, **named: change(
        parameter, *right_textbook(parameter, *others, **named)
    )


def with_step(change):
    return lambda p, g, m, v, step, *settings, **named: right_textbook(
        p, g, m, v, change(step), *settings, **named
    )


WRONG = {
    "always the first step": with_step(lambda step: 1),
    "never corrected": with_step(lambda step: 10**6),
    "a step ahead": with_step(lambda step: step + 1),
    "weight decay": then(lambda p, new, m, v: (new - p.dtype.type(1e-5) * p, m, v)),
    "in float32": then(lambda p, new, m, v: tuple(a.astype(np.float32) for a in (new, m, v))),
    "clipped": lambda p, g, *others, **named: right_textbook(
        p, np.clip(g, -1, 1), *others, **named
    ),
    "no epsilon for small gradients": lambda p, g, m, v, step, rate=1e-3, b1=0.9, b2=0.999, e=1e-8: (
        right_textbook(p, g, m, v, step, rate, b1, b2, 1e-12 if e == 1e-8 else e)
    ),
    "the parameter alone": then(lambda p, new, m, v: new),
    "square root kept": then(lambda p, new, m, v: (new, m, np.sqrt(v))),
}
