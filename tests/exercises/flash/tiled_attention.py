"""Right and wrong answers to `tiled_attention`."""

import functools
import math

import numpy as np

import attention_lib
from attention_lib.lessons.attention import attention
from attention_lib.lessons.softmax import softmax, weighted_sum
from attention_lib.lessons.stability import logsumexp, merge_softmax_stats
from tests.exercises.flash.parts import (
    floating,
    nothing_yet,
    scored,
    stats_of,
    whole_matrix,
    with_block,
)


def right_tiled_by_hand(query, key, value, block_size):
    dtype = np.result_type(query, np.float32)
    maximum = np.full((*query.shape[:-1], 1), -np.inf, dtype)
    total = np.zeros_like(maximum)
    output = np.zeros((*query.shape[:-1], value.shape[-1]), dtype)
    query = query / np.sqrt(np.array(query.shape[-1], dtype))
    for start in range(0, key.shape[-2], block_size):
        scores = query @ key[..., start : start + block_size, :].mT
        new = np.maximum(maximum, scores.max(axis=-1, keepdims=True))
        correction, exponentials = np.exp(maximum - new), np.exp(scores - new)
        total = total * correction + exponentials.sum(axis=-1, keepdims=True)
        output = output * correction + exponentials @ value[..., start : start + block_size, :]
        maximum = new
    return output / total


def right_from_earlier_lessons(query, key, value, block_size):
    """Give every block attention of its own, and average by the blocks' sums."""
    stats, output = None, None
    for start in range(0, key.shape[-2], block_size):
        keys, values = (array[..., start : start + block_size, :] for array in (key, value))
        scores = scored(query, keys)
        new_output, new = weighted_sum(softmax(scores), floating(values)), stats_of(scores)
        if stats is None:
            stats, output = new, new_output
            continue
        both = merge_softmax_stats(stats, new)
        share = stats[1] * np.exp(stats[0] - both[0]) / both[1]
        output = share[..., None] * output + (1 - share[..., None]) * new_output
        stats = both
    return output


def right_backwards(query, key, value, block_size):
    """Take the last block first, whole items one by one."""
    if query.ndim > 2:
        items = [right_backwards(*item, block_size) for item in zip(query, key, value, strict=True)]
        return np.stack(items)
    stats = output = None
    for start in reversed(range(0, len(key), block_size)):
        scores = scored(query, key[start : start + block_size])
        maximum, total = stats_of(scores)
        mixed = np.exp(scores - maximum[:, None]) @ value[start : start + block_size]
        if stats is None:
            stats, output = (maximum, total), mixed
            continue
        new = merge_softmax_stats(stats, (maximum, total))
        output = output * np.exp(stats[0] - new[0])[:, None]
        output += mixed * np.exp(maximum - new[0])[:, None]
        stats = new
    return output / stats[1][:, None]


def right_key_by_key_within_blocks(query, key, value, block_size):
    """Join one key at a time: the same sums whatever the block, and still block by block."""
    query, key, value = floating(query), floating(key), floating(value)
    scale = query.dtype.type(query.shape[-1] ** -0.5)
    maximum = np.full((*query.shape[:-1], 1), -np.inf, query.dtype)
    total, mixed = (
        np.zeros_like(maximum),
        np.zeros((*query.shape[:-1], value.shape[-1]), query.dtype),
    )
    for start in range(0, key.shape[-2], block_size):
        keys, values = (
            key[..., start : start + block_size, :],
            value[..., start : start + block_size, :],
        )
        for k in range(keys.shape[-2]):
            score = (query * keys[..., k : k + 1, :]).sum(axis=-1, keepdims=True) * scale
            larger = np.maximum(maximum, score)
            old, new = np.exp(maximum - larger), np.exp(score - larger)
            total, mixed = total * old + new, mixed * old + new * values[..., k : k + 1, :]
            maximum = larger
    return mixed / total


def right_in_longdouble(query, key, value, block_size):
    """Sums so precise that their last bits are the same for every block size."""
    dtype = np.result_type(query, np.float32) if query.dtype.kind == "f" else np.dtype(float)
    wide = [array.astype(np.longdouble) for array in (query, key, value)]
    return right_tiled_by_hand(*wide, block_size).astype(dtype)


def right_with_a_column_of_ones(query, key, value, block_size):
    """Carry the total as one more column of the output."""
    maximum = output = None
    for start in range(0, key.shape[-2], block_size):
        scores = scored(query, key[..., start : start + block_size, :])
        values = floating(value[..., start : start + block_size, :])
        values = np.concatenate([values, np.ones_like(values[..., :1])], axis=-1)
        peak = scores.max(axis=-1, keepdims=True)
        new = peak if maximum is None else np.maximum(maximum, peak)
        mixed = np.exp(scores - new) @ values
        output = mixed if maximum is None else output * np.exp(maximum - new) + mixed
        maximum = new
    return output[..., :-1] / output[..., -1:]


def right_by_halves(query, key, value, block_size):
    """Cut the keys in halves until one block is left, and join the halves."""

    def part(first, last):
        if last - first <= block_size:
            scores = scored(query, key[..., first:last, :])
            maximum = scores.max(axis=-1, keepdims=True)
            exponentials = np.exp(scores - maximum)
            total = exponentials.sum(axis=-1, keepdims=True)
            return maximum, total, exponentials @ value[..., first:last, :]
        middle = first + block_size * max(1, (last - first) // (2 * block_size))
        left, right = part(first, middle), part(middle, last)
        maximum = np.maximum(left[0], right[0])
        shrink = np.exp(left[0] - maximum), np.exp(right[0] - maximum)
        return maximum, *(shrink[0] * left[i] + shrink[1] * right[i] for i in (1, 2))

    _, total, output = part(0, key.shape[-2])
    return output / total


def right_rescaling_seldom(query, key, value, block_size):
    """Touch what was added up only where a block raises a maximum."""
    maximum = None
    for start in range(0, key.shape[-2], block_size):
        scores = scored(query, key[..., start : start + block_size, :])
        peak = scores.max(axis=-1, keepdims=True)
        if maximum is None:
            maximum, total = peak, np.zeros_like(peak)
            output = np.zeros((*peak.shape[:-1], value.shape[-1]), peak.dtype)
        elif (peak > maximum).any():
            new = np.maximum(maximum, peak)
            total *= np.exp(maximum - new)
            output *= np.exp(maximum - new)
            maximum = new
        exponentials = np.exp(scores - maximum)
        total += exponentials.sum(axis=-1, keepdims=True)
        output += exponentials @ value[..., start : start + block_size, :]
    return np.asfortranarray(output / total)


def right_under_a_bound(query, key, value, block_size):
    """Where it is safe, subtract a bound on all scores, which no block can pass."""
    longest = np.sqrt(
        (floating(query) ** 2).sum(axis=-1).max() * (floating(key) ** 2).sum(axis=-1).max()
    )
    if not longest < 100:
        with np.errstate(all="ignore"):
            return right_tiled_by_hand(query, key, value, block_size)
    bound, total, output = longest / math.sqrt(query.shape[-1]), 0.0, 0.0
    for start in range(0, key.shape[-2], block_size):
        exponentials = np.exp(scored(query, key[..., start : start + block_size, :]) - bound)
        total = total + exponentials.sum(axis=-1, keepdims=True)
        output = output + exponentials @ value[..., start : start + block_size, :]
    return output / total


def right_in_tiles_of_queries_too(query, key, value, block_size):
    """Take the keys outside and 16 queries at a time inside."""
    state = nothing_yet(query, value)
    for start in range(0, key.shape[-2], block_size):
        block = (..., slice(start, start + block_size), slice(None))
        for first in range(0, query.shape[-2], 16):
            rows = (..., slice(first, first + 16), slice(None))
            scores = scored(query[rows], key[block])
            new = with_block(tuple(part[rows] for part in state), scores, value[block])
            for part, entries in zip(state, new, strict=True):
                part[rows] = entries
    return state[2] / state[1]


def right_by_dot_and_outer_products(query, key, value, block_size):
    """Take the batch items one by one, with np.dot and np.inner."""
    output = np.empty((*query.shape[:-1], value.shape[-1]), np.result_type(query, np.float32))
    for item in np.ndindex(query.shape[:-2]):
        state = nothing_yet(query[item], value[item])
        for start in range(0, key.shape[-2], block_size):
            keys = floating(key[item])[start : start + block_size]
            scores = np.inner(floating(query[item]), keys) / math.sqrt(key.shape[-1])
            state = with_block(state, scores, value[item][start : start + block_size])
        output[item] = state[2] / state[1]
    return output


def tiled(size=lambda block_size, keys: block_size, scale=None, first=-np.inf, step=with_block):
    """Make tiled attention with some of its steps exchanged."""

    def answer(query, key, value, block_size):
        state, width = nothing_yet(query, value, first), size(block_size, key.shape[-2])
        for block in range(0, key.shape[-2], width):
            part = slice(block, block + width)
            by = scale and scale(query, key)
            scores = scored(query, key[..., part, :], by).astype(state[0].dtype)
            state = step(state, scores, value[..., part, :])
        with np.errstate(all="ignore"):
            return state[2] / state[1]

    return answer


def largest_correction_for_all(state, scores, value):
    """Correct every row by the smallest factor that any row needs."""
    maximum, total, output = state
    new = np.maximum(maximum, scores.max(axis=-1, keepdims=True))
    shrink, exponentials = np.exp(maximum - new).min(), np.exp(scores - new)
    total = total * shrink + exponentials.sum(axis=-1, keepdims=True)
    return new, total, output * shrink + exponentials @ value


def exponents_clipped(state, scores, value):
    exponentials = np.exp(np.clip(scores, -80, 80))
    total = state[1] + exponentials.sum(axis=-1, keepdims=True)
    return state[0], total, state[2] + exponentials @ value


def sums_in_float32(state, scores, value):
    return tuple(part.astype(np.float32) for part in with_block(state, scores, value))


def wrong_the_last_key_left_out(query, key, value, block_size):
    keys = max(1, key.shape[-2] - 1)
    return tiled()(query, key[..., :keys, :], value[..., :keys, :], block_size)


def wrong_scores_of_all_kept(query, key, value, block_size):
    """Work block by block, and keep every block's scores as well."""
    blocks = range(0, key.shape[-2], block_size)
    kept = [scored(query, key[..., j : j + block_size, :]) for j in blocks]
    return tiled()(query, key, value, block_size) + 0 * kept[0].dtype.type(len(kept))


def wrong_room_for_all_scores(query, key, value, block_size):
    room = np.empty((*query.shape[:-1], key.shape[-2]), floating(query).dtype)
    for block in range(0, key.shape[-2], block_size):
        part = slice(block, block + block_size)
        room[..., part] = scored(query, key[..., part, :])
    return attention_lib.stable_softmax(room) @ value


def wrong_row_by_row(query, key, value, block_size):
    rows = range(query.shape[-2])
    return np.concatenate(
        [whole_matrix(query[..., i : i + 1, :], key, value) for i in rows], axis=-2
    )


def wrong_attention_of_each_block_and_a_list(query, key, value, block_size):
    """Collect each block's output and log-sum-exp, and mix them at the end."""
    outputs, sums = [], []
    for start in range(0, key.shape[-2], block_size):
        stop = min(start + block_size, key.shape[-2])
        outputs.append(attention(query, key[..., start:stop, :], value[..., start:stop, :])[0])
        sums.append(logsumexp(scored(query, key[..., start:stop, :])))
    shares = softmax(np.stack(sums), axis=0)
    return sum(share[..., None] * output for share, output in zip(shares, outputs, strict=True))


def passes_by(score):
    """Make an answer in two passes: maximum and total first, the output after."""

    def answer(query, key, value, block_size):
        blocks = [slice(j, j + block_size) for j in range(0, key.shape[-2], block_size)]
        stats = (stats_of(score(query, key[..., block, :])) for block in blocks)
        maximum, total = (part[..., None] for part in functools.reduce(merge_softmax_stats, stats))
        return sum(
            np.exp(score(query, key[..., block, :]) - maximum) / total @ value[..., block, :]
            for block in blocks
        )

    return answer


def scored_by_einsum(query, key):
    query, key = floating(query), floating(key)
    return np.einsum("...ld,...sd->...ls", query, key) / math.sqrt(query.shape[-1])


def scored_by_broadcasting(query, key):
    query, key = floating(query), floating(key)
    products = query[..., :, None, :] * key[..., None, :, :]
    return products.sum(axis=-1) / math.sqrt(query.shape[-1])


def blocks_in_a_list(query, key, value, block_size):
    """Form each score once, and keep every block's maximum, total and output to the end."""
    parts = []
    for start in range(0, key.shape[-2], block_size):
        scores = scored(query, key[..., start : start + block_size, :])
        maximum, total = stats_of(scores)
        exponentials = np.exp(scores - maximum[..., None])
        parts.append((maximum, total, exponentials @ value[..., start : start + block_size, :]))
    largest = functools.reduce(np.maximum, (maximum for maximum, _, _ in parts))
    shrink = [np.exp(maximum - largest)[..., None] for maximum, _, _ in parts]
    total = sum(s * part[1][..., None] for s, part in zip(shrink, parts, strict=True))
    return sum(s * part[2] for s, part in zip(shrink, parts, strict=True)) / total


WRONG = {
    "two passes": passes_by(scored),
    "two passes by einsum": passes_by(scored_by_einsum),
    "two passes by broadcasting": passes_by(scored_by_broadcasting),
    "blocks in a list": blocks_in_a_list,
    "the whole matrix": lambda q, k, v, block_size: whole_matrix(q, k, v),
    "as many blocks": tiled(size=lambda block_size, keys: -(-keys // block_size)),
    "blocks of 64": tiled(size=lambda block_size, keys: 64),
    "divided by 2": tiled(scale=lambda q, k: 0.5),
    "one correction for all": tiled(step=largest_correction_for_all),
    "exponents clipped": tiled(step=exponents_clipped),
    "sums in float32": lambda *args: tiled(step=sums_in_float32)(*args).astype(
        floating(args[0]).dtype
    ),
    "always float64": lambda q, k, v, block_size: tiled()(
        q.astype(float), k.astype(float), v.astype(float), block_size
    ),
    "output and maximum": lambda *args: (tiled()(*args), args[0].max(axis=-1)),
    "the library's": functools.partial(attention_lib.tiled_attention),
}
