"""Wrong answers to the exercises of lesson 06 that come close to right ones."""

import functools

import numpy as np

import attention_lib
from attention_lib.lessons.multihead import rotate_pairs
from tests.exercises.wrong_answers.attention import attend, softmax


def as_float(array):
    return array if array.dtype.kind == "f" else array.astype(float)


def split(x, num_heads):
    if x.shape[-1] % num_heads:
        raise ValueError(f"{x.shape[-1]} columns do not make {num_heads} heads")
    return x.reshape(*x.shape[:-1], num_heads, -1).swapaxes(-2, -3)


def merge(x):
    x = x.swapaxes(-2, -3)
    return x.reshape(*x.shape[:-2], -1)


def padded(x, num_heads):
    width = -x.shape[-1] % num_heads
    return split(np.pad(x, [(0, 0)] * (x.ndim - 1) + [(0, width)]), num_heads)


def none_where_they_do_not_fit(x, num_heads):
    if x.shape[-1] % num_heads == 0:
        return split(x, num_heads)


def asserting(x, num_heads):
    assert x.shape[-1] % num_heads == 0
    return split(x, num_heads)


def layer(place=lambda mask: mask[..., None, :, :], scale=None, finish=np.matmul, weigh=softmax):
    """Make multi-head attention with some of its steps exchanged."""

    def answer(x, w_q, w_k, w_v, w_o, num_heads, mask=None):
        query, key, value = (split(x @ weight, num_heads) for weight in (w_q, w_k, w_v))
        mask = None if mask is None else place(mask)
        by = scale and scale(x, num_heads)
        return finish(merge(attend(query, key, value, mask, by, weigh)[0]), w_o)

    return answer


def causal_without_a_mask(x, w_q, w_k, w_v, w_o, num_heads, mask=None):
    mask = np.tri(x.shape[-2], dtype=bool) if mask is None else mask
    return layer()(x, w_q, w_k, w_v, w_o, num_heads, mask)


def heads_that_see_their_own_columns(x, w_q, w_k, w_v, w_o, num_heads, mask=None):
    """Split x, and give every head a square block of each matrix."""
    size, heads = x.shape[-1] // num_heads, []
    for start in range(0, x.shape[-1], size):
        own = slice(start, start + size)
        part = (x[..., own] @ weight[own, own] for weight in (w_q, w_k, w_v))
        heads.append(attend(*part, mask)[0])
    return np.concatenate(heads, axis=-1) @ w_o


def always_two_heads(x, w_q, w_k, w_v, w_o, num_heads, mask=None):
    return layer()(x, w_q, w_k, w_v, w_o, 2 if x.shape[-1] % 2 == 0 else num_heads, mask)


def weights_doubled_afterwards(x, w_q, w_k, w_v, w_o, num_heads, mask=None):
    output = layer()(x, w_q, w_k, w_v, w_o, num_heads, mask)
    w_q *= 2
    return output


def first_head_masked(mask):
    return np.where(np.arange(2)[:, None, None] == 0, mask[..., None, :, :], mask.dtype.type(1))


def grouped(share=None, place=lambda mask, heads, groups: mask, scale=None, weigh=softmax):
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


def averaged_values(query, key, value, mask=None):
    mean = np.broadcast_to(as_float(value).mean(-3, keepdims=True), value.shape)
    sharing = query.shape[-3] // key.shape[-3]
    key, mean = (np.repeat(x, sharing, axis=-3) for x in (key, mean.astype(value.dtype)))
    return attend(query, key, mean, mask)[0]


def repeated_along_the_first_axis(query, key, value, mask=None):
    sharing = query.shape[-3] // key.shape[-3]
    return attend(query, np.repeat(key, sharing, 0), np.repeat(value, sharing, 0), mask)[0]


def angles_of(x, positions, base):
    return np.outer(positions, float(base) ** (-np.arange(0, x.shape[-1], 2) / x.shape[-1]))


def turned(angles=angles_of, dtype=None):
    def answer(x, positions, base=10000.0):
        angle = angles(x, np.asarray(positions), base)
        pairs = (x[..., 0::2] + 1j * x[..., 1::2]) * np.exp(1j * angle)
        pairs = np.stack([pairs.real, pairs.imag], axis=-1).reshape(x.shape)
        return pairs.astype(dtype or np.result_type(x, np.float32))

    return answer


def components_exchanged(x, positions, base=10000.0):
    result = turned()(x, positions, base)
    return result.reshape(*x.shape[:-1], -1, 2)[..., ::-1].reshape(x.shape)


def written_into_x(x, positions, base=10000.0):
    result = turned()(x, positions, base)
    if x.dtype == result.dtype:
        x[...] = result
    return result


def by_the_librarys_helper(x, positions, base=10000.0):
    angles = angles_of(x, positions, base)
    result = rotate_pairs(as_float(x), np.cos(angles), np.sin(angles))
    return result.astype(np.result_type(x, np.float32))


def grown(key, value, cache):
    if cache is None:
        return key, value
    return tuple(np.concatenate(pair, axis=-2) for pair in zip(cache, (key, value), strict=True))


def step(look=lambda keys, values: (keys, values), keep=lambda keys, values: (keys, values)):
    """Make a step that looks at other keys and values, or keeps others."""

    def answer(query, key, value, cache=None):
        keys, values = grown(key, value, cache)
        return attend(query, *look(keys, values))[0], keep(keys, values)

    return answer


def nothing_before_the_second(query, key, value, cache=None):
    if cache is None:
        return np.zeros_like(as_float(value)), (key, value)
    return attend(query, *cache)[0], grown(key, value, cache)


def pair_exchanged(query, key, value, cache=None):
    keys, values = grown(key, value, cache and cache[::-1])
    return attend(query, keys, values)[0], (values, keys)


def cache_shifted(query, key, value, cache=None):
    keys, values = grown(key, value, cache)
    if cache is not None:
        cache[0][...] = np.roll(cache[0], 1, axis=-2)
    return attend(query, keys, values)[0], (keys, values)


def a_default_that_lives_on(query, key, value, cache=[]):  # noqa: B006
    keys, values = grown(key, value, tuple(cache) or None)
    if isinstance(cache, list):
        cache[:] = [keys, values]
    return attend(query, keys, values)[0], (keys, values)


def scaled_key_kept(query, key, value, cache=None):
    key = as_float(key) / np.sqrt(as_float(key).dtype.type(key.shape[-1]))
    keys, values = grown(key, value, cache)
    return attend(query, keys, values, None, 1.0)[0], (keys, values)


WRONG = {
    "split_heads": {
        "filled up with zeros": padded,
        "None where they do not fit": none_where_they_do_not_fit,
        "an assertion": asserting,
        "sizes exchanged": lambda x, h: split(x, x.shape[-1] // h if x.shape[-1] % h == 0 else h),
        "heads in reverse": lambda x, h: split(x, h)[..., ::-1, :, :],
        "heads after the first axis": lambda x, h: np.stack(
            np.split(x, h, axis=-1), axis=min(1, x.ndim - 2)
        ),
        "always float64": lambda x, h: split(x.astype(float), h),
        "a list of heads": lambda x, h: np.split(x, h, axis=-1),
    },
    "merge_heads": {
        "along the first axis": lambda x: np.concatenate(list(x), axis=-1),
        "along axis 1": lambda x: np.concatenate([x[:, h] for h in range(x.shape[1])], axis=-1),
        "axes 1 and 2": lambda x: x.swapaxes(1, 2).reshape(*x.shape[:-3], x.shape[-2], -1),
        "the mean for all": lambda x: np.concatenate([x.mean(axis=-3)] * x.shape[-3], axis=-1),
        "nothing returned": lambda x: None,
        "the library's": lambda x: getattr(attention_lib, "merge" + "_heads")(x),
    },
    "multi_head_attention": {
        "divided by 2": layer(scale=lambda x, heads: 0.5),
        "masks behind the first axis": layer(
            place=lambda mask: mask if mask.ndim == 2 else mask[:, None]
        ),
        "the first item's mask": layer(place=lambda mask: mask[(0,) * (mask.ndim - 2)]),
        "one item's mask after another": layer(
            place=lambda mask: mask[..., None, :, :] if mask.ndim == 2 else mask[:1, None]
        ),
        "one head masked": layer(place=first_head_masked),
        "x added": lambda x, *others: x + layer()(x, *others),
        "heads added": layer(finish=lambda merged, w_o: merged @ w_o + merged),
        "softmax over all": layer(weigh=lambda s: softmax(s, (-1, -2))),
        "causal without a mask": causal_without_a_mask,
        "heads that see their own columns": heads_that_see_their_own_columns,
        "always two heads": always_two_heads,
        "weights changed": weights_doubled_afterwards,
        "the library's split": lambda x, w_q, w_k, w_v, w_o, heads, mask=None: (
            layer()(x, w_q, w_k, w_v, w_o, heads, mask)
            + 0 * attention_lib.merge_heads(attention_lib.split_heads(x, heads))
        ),
        "the library's groups": lambda x, w_q, w_k, w_v, w_o, heads, mask=None: (
            merge(
                attention_lib.grouped_query_attention(
                    *(split(x @ w, heads) for w in (w_q, w_k, w_v)),
                    None if mask is None else mask[..., None, :, :],
                )
            )
            @ w_o
        ),
    },
    "grouped_query_attention": {
        "the last group for the rest": grouped(lambda h, heads, groups: np.minimum(h, groups - 1)),
        "neighbors exchanged": grouped(lambda h, heads, groups: (h ^ 1) * groups // (heads + 1)),
        "values averaged": averaged_values,
        "divided by √(H/G · d)": grouped(
            scale=lambda q, k: (q.shape[-1] * q.shape[-3] / k.shape[-3]) ** -0.5
        ),
        "divided by 2": grouped(scale=lambda q, k: 0.5),
        "the first head's mask": grouped(
            place=lambda mask, heads, groups: mask[..., :1, :, :] if mask.ndim > 2 else mask
        ),
        "the mask's heads in turns": grouped(place=head_axis_in_turns),
        "repeated along the first axis": repeated_along_the_first_axis,
        "softmax over queries and keys": grouped(weigh=lambda s: softmax(s, (-1, -2))),
        "always float64": lambda *args, **mask: grouped()(*args, **mask).astype(float),
        "the library's": functools.partial(attention_lib.grouped_query_attention),
    },
    "rotary_embedding": {
        "one position for all": turned(lambda x, p, b: angles_of(x, np.full(len(p), p[0]), b)),
        "positions in order": turned(lambda x, p, b: angles_of(x, np.sort(p), b)),
        "positions in reverse": turned(lambda x, p, b: angles_of(x, p[::-1], b)),
        "rows counted from 1": turned(lambda x, p, b: angles_of(x, 1 + np.arange(len(p)), b)),
        "positions up to 1000": turned(lambda x, p, b: angles_of(x, p % 1000, b)),
        "speeds in reverse": turned(lambda x, p, b: angles_of(x, p, b)[:, ::-1]),
        "another base": turned(lambda x, p, b: angles_of(x, p, b / 10)),
        "angles in float32": turned(lambda x, p, b: angles_of(x, p, b).astype(np.float32)),
        "components exchanged": components_exchanged,
        "always float64": turned(dtype=float),
        "written into x": written_into_x,
        "by the library's helper": by_the_librarys_helper,
    },
    "decode_step": {
        "the last two steps": step(
            look=lambda keys, values: (keys[..., -2:, :], values[..., -2:, :])
        ),
        "a cache of four steps": step(
            keep=lambda keys, values: (keys[..., -4:, :], values[..., -4:, :])
        ),
        "the first step forgotten": step(
            look=lambda keys, values: (keys[..., -4:, :], values[..., -4:, :])
        ),
        "nothing before the second": nothing_before_the_second,
        "the pair exchanged": pair_exchanged,
        "the cache changed": cache_shifted,
        "a default that lives on": a_default_that_lives_on,
        "a scaled key kept": scaled_key_kept,
        "an empty cache in float64": lambda query, key, value, cache=None: step()(
            query,
            key,
            value,
            cache or [np.zeros((*x.shape[:-2], 0, x.shape[-1])) for x in (key, value)],
        ),
        "a cache in float64": step(keep=lambda keys, values: (keys.astype(float), values)),
        "one array for a cache": step(
            keep=lambda keys, values: np.concatenate([keys, values], axis=-1)
        ),
        "no axis for the token": lambda *args: (
            (result := step()(*args))[0][..., 0, :],
            result[1],
        ),
        "the library's": lambda *args: functools.partial(attention_lib.decode_step, *args)(),
    },
}
