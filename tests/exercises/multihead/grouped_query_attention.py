"""Right and wrong answers to `grouped_query_attention`."""

import functools

import numpy as np

import attention_lib
from attention_lib.lessons.attention import attention
from tests.exercises.parts import as_float, attend, softmax_or_zeros


def right_by_repeat(query, key, value, mask=None):
    each = query.shape[-3] // key.shape[-3]
    key, value = np.repeat(key, each, axis=-3), np.repeat(value, each, axis=-3)
    return attention(query, key, value, mask)[0]


def right_by_reshape(query, key, value, mask=None):
    *leading, heads, length, size = query.shape
    groups, keys = key.shape[-3], key.shape[-2]
    query = query.reshape(*leading, groups, heads // groups, length, size)
    if mask is not None:
        mask = np.broadcast_to(mask, (*leading, heads, length, keys))
        mask = mask.reshape(*leading, groups, heads // groups, length, keys)
    output, _ = attention(query, key[..., None, :, :], value[..., None, :, :], mask)
    return output.reshape(*leading, heads, length, -1)


def grouped(share=None, place=lambda mask, heads, groups: mask, scale=None, weigh=softmax_or_zeros):
    """Make grouped attention; `share` says which group each query head uses."""

    def answer(query, key, value, mask=None):
        heads, groups = query.shape[-3], key.shape[-3]
        group = np.arange(heads) * groups // heads
        if share is not None:
            group = share(np.arange(heads), heads, groups)
        mask = None if mask is None else place(mask, heads, groups)
        by = scale and scale(query, key)
        return attend(query, key[..., group, :, :], value[..., group, :, :], mask, by, weigh)[0]

    return answer


def head_axis_in_turns(mask, heads, groups):
    """Read the head axis of a mask as (H / G, G)."""
    if mask.ndim < 3 or mask.shape[-3] != heads:
        return mask
    return mask[..., np.arange(heads).reshape(-1, groups).T.ravel(), :, :]


def wrong_averaged_values(query, key, value, mask=None):
    mean = np.broadcast_to(as_float(value).mean(-3, keepdims=True), value.shape)
    sharing = query.shape[-3] // key.shape[-3]
    key, mean = (np.repeat(x, sharing, axis=-3) for x in (key, mean.astype(value.dtype)))
    return attend(query, key, mean, mask)[0]


def wrong_repeated_along_the_first_axis(query, key, value, mask=None):
    sharing = query.shape[-3] // key.shape[-3]
    return attend(query, np.repeat(key, sharing, 0), np.repeat(value, sharing, 0), mask)[0]


WRONG = {
    "the last group for the rest": grouped(lambda h, heads, groups: np.minimum(h, groups - 1)),
    "neighbors exchanged": grouped(lambda h, heads, groups: (h ^ 1) * groups // (heads + 1)),
    "divided by √(H/G · d)": grouped(
        scale=lambda q, k: (q.shape[-1] * q.shape[-3] / k.shape[-3]) ** -0.5
    ),
    "divided by 2": grouped(scale=lambda q, k: 0.5),
    "the mask's heads in turns": grouped(place=head_axis_in_turns),
    "softmax over queries and keys": grouped(weigh=lambda s: softmax_or_zeros(s, (-1, -2))),
    "the library's": functools.partial(attention_lib.grouped_query_attention),
}
