"""Right and wrong answers to `decode_step`."""

import numpy as np

from attention_lib.lessons.attention import attention
from tests.exercises.parts import as_float, attend


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
}
