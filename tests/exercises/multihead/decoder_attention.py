"""Right and wrong answers to `decoder_attention`."""

import math

import numpy as np

import attention_lib
from attention_lib.lessons.attention import attention, causal_mask
from attention_lib.lessons.stability import masked_softmax
from tests.exercises.multihead import (
    grouped_query_attention,
    merge_heads,
    rotary_embedding,
    split_heads,
)
from tests.exercises.parts import attend

split, merge = split_heads.right_textbook, merge_heads.right_textbook
rotate, in_groups = rotary_embedding.right_textbook, grouped_query_attention.right_by_repeat


def right_textbook(
    x, w_q, w_k, w_v, w_o, num_heads, num_groups, positions, cache=None, base=10000.0
):
    query = rotate(split(x @ w_q, num_heads), positions, base)
    keys = rotate(split(x @ w_k, num_groups), positions, base)
    values = split(x @ w_v, num_groups)
    if cache is not None:
        keys = np.concatenate([cache[0], keys], axis=-2)
        values = np.concatenate([cache[1], values], axis=-2)
    length, total = query.shape[-2], keys.shape[-2]
    mask = np.tri(length, total, total - length, dtype=bool)
    return merge(in_groups(query, keys, values, mask)) @ w_o, (keys, values)


def right_last_rows_of_a_square_mask(
    x, w_q, w_k, w_v, w_o, num_heads, num_groups, positions, cache=None, base=10000.0
):
    """Cut the mask out of the whole text's, and return lists."""
    query, key, value = (
        split_heads.right_by_slices(x @ weight, count)
        for weight, count in ((w_q, num_heads), (w_k, num_groups), (w_v, num_groups))
    )
    query, key = rotate(query, positions, base), rotate(key, positions, base)
    pairs = [[key], [value]] if cache is None else [[cache[0], key], [cache[1], value]]
    keys, values = (np.concatenate(pair, axis=-2) for pair in pairs)
    mask = causal_mask(keys.shape[-2])[-x.shape[-2] :]
    output = grouped_query_attention.right_by_reshape(query, keys, values, mask)
    return [merge_heads.right_by_concatenating(output) @ w_o, [keys, values]]


def right_head_by_head(
    x, w_q, w_k, w_v, w_o, num_heads, num_groups, positions, cache=None, base=10000.0
):
    """Take columns in place of heads, and add up what each head sends through its rows of w_o."""
    size, sharing = x.shape[-1] // num_heads, num_heads // num_groups
    keys, values = [], []
    for group in range(num_groups):
        own = slice(group * size, (group + 1) * size)
        key, value = rotate(x @ w_k[:, own], positions, base), x @ w_v[:, own]
        if cache is not None:
            key = np.concatenate([cache[0][..., group, :, :], key], axis=-2)
            value = np.concatenate([cache[1][..., group, :, :], value], axis=-2)
        keys.append(key)
        values.append(value)
    total = keys[0].shape[-2]
    places = np.arange(total)
    mask = places <= places[total - x.shape[-2] :, None]
    output = 0
    for head in range(num_heads):
        own = slice(head * size, (head + 1) * size)
        query = rotate(x @ w_q[:, own], positions, base)
        group = head // sharing
        output = output + attention(query, keys[group], values[group], mask)[0] @ w_o[own]
    return output, (np.stack(keys, axis=-3), np.stack(values, axis=-3))


def right_word_by_word(
    x, w_q, w_k, w_v, w_o, num_heads, num_groups, positions, cache=None, base=10000.0
):
    """Let one word after another into the cache; no mask is needed."""
    size, rows = x.shape[-1] // num_heads, []
    keys, values = cache or (
        np.empty((*x.shape[:-2], num_groups, 0, size), x.dtype) for _ in range(2)
    )
    for word in range(x.shape[-2]):
        new, place = x[..., word : word + 1, :], positions[word : word + 1]
        keys = np.append(keys, rotate(split(new @ w_k, num_groups), place, base), axis=-2)
        values = np.append(values, split(new @ w_v, num_groups), axis=-2)
        query = rotate(split(new @ w_q, num_heads), place, base)
        rows.append(merge(in_groups(query, keys, values)) @ w_o)
    return np.concatenate(rows, axis=-2), (keys, values)


def right_cached_and_new_words_apart(
    x, w_q, w_k, w_v, w_o, num_heads, num_groups, positions, cache=None, base=10000.0
):
    """Form the scores of cached and of new words apart, and mask those of the new alone."""
    sharing, length = num_heads // num_groups, x.shape[-2]
    query = rotate(split(x @ w_q, num_heads), positions, base) / math.sqrt(x.shape[-1] // num_heads)
    key, value = rotate(split(x @ w_k, num_groups), positions, base), split(x @ w_v, num_groups)
    query = query.astype(key.dtype)
    keys, values = [key], [value]
    allowed = np.tri(length, dtype=bool)
    if cache is not None:
        keys, values = [cache[0], key], [cache[1], value]
        allowed = np.concatenate([np.ones((length, cache[0].shape[-2]), bool), allowed], axis=1)
    scores = [query @ np.repeat(part, sharing, axis=-3).mT for part in keys]
    weights = masked_softmax(np.concatenate(scores, axis=-1), allowed)
    keys, values = np.concatenate(keys, axis=-2), np.concatenate(values, axis=-2)
    return merge(weights @ np.repeat(values, sharing, axis=-3)) @ w_o, (keys, values)


def layer(places=lambda positions, cached: positions, share=None, mask=None, keep=None):
    """Make the layer with some of its parts exchanged."""

    def answer(x, w_q, w_k, w_v, w_o, num_heads, num_groups, positions, cache=None, base=10000.0):
        cached = 0 if cache is None else cache[0].shape[-2]
        by = places(positions, cached)
        query = rotate(split(x @ w_q, num_heads), by, base)
        keys, values = rotate(split(x @ w_k, num_groups), by, base), split(x @ w_v, num_groups)
        new = keys, values
        if cache is not None:
            keys, values = (np.concatenate(pair, -2) for pair in zip(cache, new, strict=True))
        length, total = x.shape[-2], keys.shape[-2]
        allowed = np.tri(length, total, total - length, dtype=bool)
        allowed = mask(allowed) if mask else allowed
        group = np.arange(num_heads) * num_groups // num_heads
        group = share(group, num_groups) if share else group
        output = attend(query, keys[..., group, :, :], values[..., group, :, :], allowed)[0]
        kept = keep(keys, values) if keep else (keys, values)
        return merge(output) @ w_o, kept

    return answer


def first_cached_word_hidden(allowed):
    length, total = allowed.shape
    return allowed & (np.arange(total) > 0) if total > length else allowed


def wrong_cache_changed(*args, cache=None, base=10000.0):
    cache = args[8] if len(args) > 8 else cache
    result = layer()(*args[:8], cache, *(args[9:] or [base]))
    if cache is not None:
        cache[1][...] *= 2
    return result


def wrong_default_that_lives_on(*args, cache=[], base=10000.0):  # noqa: B006
    """Go on, where no cache is passed in, with the last one of the same batch and heads."""
    if len(args) > 8:
        cache = list(args[8])
    elif cache and cache[0].shape[:-2] != (*args[0].shape[:-2], args[6]):
        cache.clear()
    result = layer()(*args[:8], tuple(cache) or None, *(args[9:] or [base]))
    if len(args) == 8 and isinstance(cache, list):
        cache[:] = result[1]
    return result


WRONG = {
    "positions from the first one": layer(lambda positions, cached: positions - positions[0]),
    "positions in float16": layer(
        lambda positions, cached: positions.astype(np.float16) * np.float16(1 + 2**-10)
    ),
    "groups in reverse": layer(share=lambda group, groups: groups - 1 - group),
    "the first cached word hidden": layer(mask=first_cached_word_hidden),
    "a cache of four words": layer(
        keep=lambda keys, values: (keys[..., -4:, :], values[..., -4:, :])
    ),
    "one array for a cache": layer(keep=lambda keys, values: np.stack([keys, values])[None]),
    "the library's rotation": lambda *args, **cache: (
        (result := layer()(*args, **cache))[0]
        + 0 * attention_lib.rotary_embedding(args[0], args[7]),
        result[1],
    ),
}
