"""Right and wrong answers to `grouped_query_attention`."""

import functools
import math

import numpy as np

import attention_lib
from attention_lib.lessons.attention import attention
from attention_lib.lessons.scaling import dot_product_scores
from attention_lib.lessons.stability import stable_softmax
from tests.exercises.parts import as_float, attend, softmax_or_zeros


def right_by_repeat(query, key, value, mask=None):
    each = query.shape[-3] // key.shape[-3]
    key, value = np.repeat(key, each, axis=-3), np.repeat(value, each, axis=-3)
    return attention(query, key, value, mask)[0]


def right_by_index(query, key, value, mask=None):
    heads, groups = query.shape[-3], key.shape[-3]
    owner = np.arange(heads) * groups // heads
    return attention(query, key[..., owner, :, :], value[..., owner, :, :], mask)[0]


def right_by_reshape(query, key, value, mask=None):
    *leading, heads, length, size = query.shape
    groups, keys = key.shape[-3], key.shape[-2]
    query = query.reshape(*leading, groups, heads // groups, length, size)
    if mask is not None:
        mask = np.broadcast_to(mask, (*leading, heads, length, keys))
        mask = mask.reshape(*leading, groups, heads // groups, length, keys)
    output, _ = attention(query, key[..., None, :, :], value[..., None, :, :], mask)
    return output.reshape(*leading, heads, length, -1)


def right_head_by_head(query, key, value, mask=None):
    heads, length = query.shape[-3:-1]
    each = heads // key.shape[-3]
    full = (*query.shape[:-1], key.shape[-2])
    outputs = []
    for h in range(heads):
        own = None if mask is None else np.broadcast_to(mask, full)[..., h, :, :]
        outputs.append(
            attention(
                query[..., h, :, :], key[..., h // each, :, :], value[..., h // each, :, :], own
            )[0]
        )
    assert outputs[0].shape[-2] == length
    return np.stack(outputs, axis=-3)


def right_with_long_queries(query, key, value, mask=None):
    """Lay the query heads of a group end to end: one long row of queries for each group."""
    *leading, heads, length, size = query.shape
    groups, keys = key.shape[-3], key.shape[-2]
    together = query.reshape(*leading, groups, heads // groups * length, size)
    scores = dot_product_scores(together, key).reshape(*leading, heads, length, keys)
    scores = scores / size**0.5
    if mask is not None:
        scores = np.where(mask, scores, -np.inf) if mask.dtype == bool else scores + mask
    weights = stable_softmax(scores).astype(scores.dtype if query.dtype == np.float32 else float)
    weights = weights.reshape(*leading, groups, heads // groups * length, keys)
    return (weights @ value).reshape(*leading, heads, length, value.shape[-1])


def right_by_einsum(query, key, value, mask=None):
    *leading, heads, length, size = query.shape
    groups = key.shape[-3]
    grouped = query.reshape(*leading, groups, -1, length, size)
    scores = np.einsum("...grld,...gsd->...grls", grouped, key) / math.sqrt(size)
    if mask is not None:
        bias = np.where(mask, 0.0, -np.inf) if mask.dtype == bool else mask
        bias = np.broadcast_to(bias, (*leading, heads, length, key.shape[-2]))
        scores = scores + bias.reshape(scores.shape)
    output = np.einsum("...grls,...gsv->...grlv", stable_softmax(scores), value)
    dtype = np.float32 if query.dtype == np.float32 else np.float64
    return output.reshape(*leading, heads, length, -1).astype(dtype)


def right_by_indicator_matrix(query, key, value, mask=None):
    """Hand the groups out with a matrix of ones and zeros."""
    heads, groups = query.shape[-3], key.shape[-3]
    belongs = np.kron(np.eye(groups, dtype=int), np.ones((heads // groups, 1), int))
    dtype = np.result_type(query, np.float32)
    key, value = (np.einsum("hg,...gsd->...hsd", belongs, x).astype(dtype) for x in (key, value))
    return np.asfortranarray(attention(query, key, value, mask)[0])


def right_one_after_the_other(query, key, value, mask=None):
    """Give every group its slice of the query heads, and join the results."""
    sharing = query.shape[-3] // key.shape[-3]
    outputs = []
    for group in range(key.shape[-3]):
        heads = slice(group * sharing, (group + 1) * sharing)
        own = mask
        if mask is not None and mask.ndim > 2 and mask.shape[-3] > 1:
            own = mask[..., heads, :, :]
        one = slice(group, group + 1)
        part = query[..., heads, :, :], key[..., one, :, :], value[..., one, :, :]
        outputs.append(attention(*part, own)[0])
    return np.concatenate(outputs, axis=-3)


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
    "the first head's mask": grouped(
        place=lambda mask, heads, groups: mask[..., :1, :, :] if mask.ndim > 2 else mask
    ),
    "the mask's heads in turns": grouped(place=head_axis_in_turns),
    "softmax over queries and keys": grouped(weigh=lambda s: softmax_or_zeros(s, (-1, -2))),
    "the library's": functools.partial(attention_lib.grouped_query_attention),
}
