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


def wrong_adam_in_place(parameter, gradient, mean, square, step, *settings, **named):
    new = right_textbook(parameter, gradient, mean, square, step, *settings, **named)
    parameter[...], mean[...], square[...] = new
    return parameter, mean, square


def then(change):
    """Return what the right answer gives, changed."""
    return lambda parameter, *others, **named: change(
        parameter, *right_textbook(parameter, *others, **named)
    )


WRONG = {
    "weight decay": then(lambda p, new, m, v: (new - p.dtype.type(1e-5) * p, m, v)),
    "in float32": then(lambda p, new, m, v: tuple(a.astype(np.float32) for a in (new, m, v))),
    "clipped": lambda p, g, *others, **named: right_textbook(
        p, np.clip(g, -1, 1), *others, **named
    ),
    "no epsilon for small gradients": lambda p, g, m, v, step, rate=1e-3, b1=0.9, b2=0.999, e=1e-8: (
        right_textbook(p, g, m, v, step, rate, b1, b2, 1e-12 if e == 1e-8 else e)
    ),
    "square root kept": then(lambda p, new, m, v: (new, m, np.sqrt(v))),
}
