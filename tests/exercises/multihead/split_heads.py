"""Right and wrong answers to `split_heads`."""

import numpy as np


def right_textbook(x, num_heads):
    *leading, length, width = x.shape
    if width % num_heads != 0:
        raise ValueError("D must be a multiple of H")
    return x.reshape(*leading, length, num_heads, width // num_heads).swapaxes(-2, -3)


def right_by_slices(x, num_heads):
    size, rest = divmod(x.shape[-1], num_heads)
    if rest:
        raise ValueError(f"{num_heads} heads do not fit")
    return np.stack([x[..., h * size : (h + 1) * size] for h in range(num_heads)], axis=-3)


def right_by_np_split(x, num_heads):
    return np.stack(np.split(x, num_heads, axis=-1), axis=-3)  # np.split raises ValueError


def wrong_padded(x, num_heads):
    width = -x.shape[-1] % num_heads
    return right_textbook(np.pad(x, [(0, 0)] * (x.ndim - 1) + [(0, width)]), num_heads)


def wrong_none_where_they_do_not_fit(x, num_heads):
    if x.shape[-1] % num_heads == 0:
        return right_textbook(x, num_heads)


def wrong_asserting(x, num_heads):
    assert x.shape[-1] % num_heads == 0
    return right_textbook(x, num_heads)


WRONG = {
    "sizes exchanged": lambda x, h: right_textbook(
        x, x.shape[-1] // h if x.shape[-1] % h == 0 else h
    ),
    "heads in reverse": lambda x, h: right_textbook(x, h)[..., ::-1, :, :],
}
