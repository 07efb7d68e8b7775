"""Right and wrong answers to `decode_step`."""

import functools
import math

import numpy as np

import attention_lib
from attention_lib.lessons.attention import attention, causal_mask
from attention_lib.lessons.scaling import scaled_scores
from attention_lib.lessons.softmax import softmax, weighted_sum
from attention_lib.lessons.stability import stable_softmax
from tests.exercises.parts import as_float, attend


def right_textbook(query, key, value, cache=None):
    if cache is None:
        keys, values = key, value
    else:
        keys = np.concatenate([cache[0], key], axis=-2)
        values = np.concatenate([cache[1], value], axis=-2)
    output, _ = attention(query, keys, values)
    return output, (keys, values)


def right_in_lists(query, key, value, cache=None):
    pairs = (
        [[new] for new in (key, value)] if cache is None else zip(cache, (key, value), strict=True)
    )
    keys, values = (np.concatenate(list(pair), axis=-2) for pair in pairs)
    weights = stable_softmax(scaled_scores(query, keys))
    return [weighted_sum(weights, values), [keys, values]]


def right_into_new_arrays(query, key, value, cache=None):
    steps = 0 if cache is None else cache[0].shape[-2]
    keys = np.empty((*key.shape[:-2], steps + 1, key.shape[-1]), key.dtype)
    values = np.empty((*value.shape[:-2], steps + 1, value.shape[-1]), value.dtype)
    if cache is not None:
        keys[..., :steps, :], values[..., :steps, :] = cache
    keys[..., steps:, :], values[..., steps:, :] = key, value
    return attention(query, keys, values)[0], (keys, values)


def right_in_a_roomy_buffer(query, key, value, cache=None):
    """Keep views of longer arrays, and write to the room behind them while there is some."""
    grown = []
    for old, new in zip(cache or (None, None), (key, value), strict=True):
        steps = 0 if old is None else old.shape[-2]
        room = None if old is None else old.base
        if (
            room is None
            or room.shape[-2:-1] <= (steps,)
            or room.shape[:-2] != old.shape[:-2]
            or room.shape[-1] != old.shape[-1]
        ):
            room = np.empty((*new.shape[:-2], 2 * steps + 4, new.shape[-1]), new.dtype)
            if old is not None:
                room[..., :steps, :] = old
        room[..., steps : steps + 1, :] = new
        grown.append(room[..., : steps + 1, :])
    return attention(query, *grown)[0], tuple(grown)


def right_by_merging(query, key, value, cache=None):
    """Attend to the cache and to the new token apart, then join the two by their sums."""
    dtype = np.float32 if query.dtype == np.float32 else np.float64
    root = math.sqrt(query.shape[-1])
    own = np.sum(query.astype(float) * key, axis=-1, keepdims=True) / root
    if cache is None:
        return value.astype(dtype), (key.copy(), value.copy())
    keys, values = cache
    scores = query.astype(float) @ np.swapaxes(keys, -1, -2) / root
    top = np.maximum(scores.max(axis=-1, keepdims=True), own)
    weights, own_weight = np.exp(scores - top), np.exp(own - top)
    total = weights.sum(axis=-1, keepdims=True) + own_weight
    output = (weights @ values + own_weight * value) / total
    grown = np.append(keys, key, axis=-2), np.append(values, value, axis=-2)
    return output.astype(dtype), grown


def right_by_softmax(query, key, value, cache=None):
    keys, values = cache if cache else (key[..., :0, :], value[..., :0, :])
    keys = np.concatenate((keys, key), -2)
    values = np.concatenate((values, value), -2)
    weights = softmax(np.einsum("...ld,...sd->...ls", query, keys) / math.sqrt(keys.shape[-1]))
    return np.einsum("...ls,...sv->...lv", weights, values).astype(
        np.float32 if query.dtype == np.float32 else np.float64
    ), (keys, values)


def right_as_the_last_row(query, key, value, cache=None):
    """Fill up the queries, attend causally, and keep the last row."""
    keys, values = (
        (key, value)
        if cache is None
        else map(lambda old, new: np.concatenate([old, new], axis=-2), cache, (key, value))
    )
    steps = keys.shape[-2]
    queries = np.repeat(query, steps, axis=-2)
    output, _ = attention(queries, keys, values, causal_mask(steps))
    return output[..., -1:, :], (keys, values)


def right_by_padding(query, key, value, cache=None):
    def grown(old, new):
        result = np.pad(old, [(0, 0)] * (old.ndim - 2) + [(0, 1), (0, 0)])
        result[..., -1:, :] = new
        result.flags.writeable = False
        return result

    cache = cache or (key[..., :0, :], value[..., :0, :])
    keys, values = map(grown, cache, (key, value))
    return [attention(query, keys, values)[0], [keys, values]]


def right_item_by_item(query, key, value, cache=None):
    if query.ndim == 2:
        keys = key if cache is None else np.vstack([cache[0], key])
        values = value if cache is None else np.insert(cache[1], len(cache[1]), value, axis=0)
        return attention(query, keys, values)[0], (keys, values)
    caches = [None] * len(query) if cache is None else list(zip(*cache, strict=True))
    steps = [right_item_by_item(*item) for item in zip(query, key, value, caches, strict=True)]
    outputs, caches = zip(*steps, strict=True)
    return np.stack(outputs), tuple(map(np.stack, zip(*caches, strict=True)))


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


def wrong_nothing_before_the_second(query, key, value, cache=None):
    if cache is None:
        return np.zeros_like(as_float(value)), (key, value)
    return attend(query, *cache)[0], grown(key, value, cache)


def wrong_pair_exchanged(query, key, value, cache=None):
    keys, values = grown(key, value, cache and cache[::-1])
    return attend(query, keys, values)[0], (values, keys)


def wrong_cache_shifted(query, key, value, cache=None):
    keys, values = grown(key, value, cache)
    if cache is not None:
        cache[0][...] = np.roll(cache[0], 1, axis=-2)
    return attend(query, keys, values)[0], (keys, values)


def wrong_a_default_that_lives_on(query, key, value, cache=[]):  # noqa: B006
    keys, values = grown(key, value, tuple(cache) or None)
    if isinstance(cache, list):
        cache[:] = [keys, values]
    return attend(query, keys, values)[0], (keys, values)


def wrong_scaled_key_kept(query, key, value, cache=None):
    key = as_float(key) / np.sqrt(as_float(key).dtype.type(key.shape[-1]))
    keys, values = grown(key, value, cache)
    return attend(query, keys, values, None, 1.0)[0], (keys, values)


WRONG = {
    "the last two steps": step(look=lambda keys, values: (keys[..., -2:, :], values[..., -2:, :])),
    "a cache of four steps": step(
        keep=lambda keys, values: (keys[..., -4:, :], values[..., -4:, :])
    ),
    "the first step forgotten": step(
        look=lambda keys, values: (keys[..., -4:, :], values[..., -4:, :])
    ),
    "one array for a cache": step(
        keep=lambda keys, values: np.concatenate([keys, values], axis=-1)
    ),
    "no axis for the token": lambda *args: (
        (result := step()(*args))[0][..., 0, :],
        result[1],
    ),
    "the library's": lambda *args: functools.partial(attention_lib.decode_step, *args)(),
}
