"""Wrong answers to the exercises of lesson 07 that come close to right ones."""

import functools
import itertools
import math

import numpy as np

import attention_lib
from tests.exercises.wrong_answers.attention import as_float, attend


def scores_of(query, key, scale=None):
    scale = query.shape[-1] ** -0.5 if scale is None else scale
    return as_float(query) @ as_float(key).mT * scale


def stats(blocks, first=-np.inf):
    maximum, total = first, 0.0
    for block in map(as_float, blocks):
        new = np.maximum(maximum, block.max(axis=-1)).astype(block.dtype)
        total = total * np.exp(maximum - new) + np.exp(block - new[..., None]).sum(axis=-1)
        maximum, total = new, total.astype(block.dtype)
    return maximum, total


def keeping_what_it_saw(blocks):
    seen = []
    return stats(seen.append(block) or block for block in blocks)


def read_twice_through_tee(blocks):
    first, second = itertools.tee(blocks)
    maximum = functools.reduce(np.maximum, (block.max(axis=-1) for block in first))
    return maximum, sum(np.exp(block - maximum[..., None]).sum(axis=-1) for block in second)


def no_maximum_in_the_total(blocks):
    maximum, total = -np.inf, 0.0
    with np.errstate(all="ignore"):
        for block in blocks:
            maximum = np.maximum(maximum, block.max(axis=-1))
            total = total + np.exp(block).sum(axis=-1)
        return maximum, total * np.exp(-maximum)


def rescaled_once_at_most(blocks):
    """Take the larger maximum of the first two blocks for that of all."""
    blocks = list(blocks)
    maximum = functools.reduce(np.maximum, (block.max(axis=-1) for block in blocks[:2]))
    with np.errstate(over="ignore"):
        return maximum, sum(np.exp(block - maximum[..., None]).sum(axis=-1) for block in blocks)


def update(state, scores, value):
    """Add one block to (maximum, total, output)."""
    maximum, total, output = state
    new = np.maximum(maximum, scores.max(axis=-1, keepdims=True))
    shrink, exponentials = np.exp(maximum - new), np.exp(scores - new)
    total = total * shrink + exponentials.sum(axis=-1, keepdims=True)
    return new, total, output * shrink + exponentials @ value


def start(query, value, first=-np.inf):
    dtype = as_float(query).dtype
    rows = (*query.shape[:-1], 1)
    output = np.zeros((*query.shape[:-1], value.shape[-1]), dtype)
    return np.full(rows, first, dtype), np.zeros(rows, dtype), output


def tiled(size=lambda block_size, keys: block_size, scale=None, first=-np.inf, step=update):
    """Make tiled attention with some of its steps exchanged."""

    def answer(query, key, value, block_size):
        state, width = start(query, value, first), size(block_size, key.shape[-2])
        for block in range(0, key.shape[-2], width):
            part = slice(block, block + width)
            by = scale and scale(query, key)
            scores = scores_of(query, key[..., part, :], by).astype(state[0].dtype)
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
    return tuple(part.astype(np.float32) for part in update(state, scores, value))


def the_last_key_left_out(query, key, value, block_size):
    keys = max(1, key.shape[-2] - 1)
    return tiled()(query, key[..., :keys, :], value[..., :keys, :], block_size)


def scores_of_all_kept(query, key, value, block_size):
    """Work block by block, and keep every block's scores as well."""
    blocks = range(0, key.shape[-2], block_size)
    kept = [scores_of(query, key[..., j : j + block_size, :]) for j in blocks]
    return tiled()(query, key, value, block_size) + 0 * kept[0].dtype.type(len(kept))


def room_for_all_scores(query, key, value, block_size):
    room = np.empty((*query.shape[:-1], key.shape[-2]), as_float(query).dtype)
    for block in range(0, key.shape[-2], block_size):
        part = slice(block, block + block_size)
        room[..., part] = scores_of(query, key[..., part, :])
    return attention_lib.stable_softmax(room) @ value


def row_by_row(query, key, value, block_size):
    rows = range(query.shape[-2])
    return np.concatenate([attend(query[..., i : i + 1, :], key, value)[0] for i in rows], axis=-2)


def causal(keys_of=lambda start, length: start + 1, fill=-np.inf, first=-np.inf, shift=0):
    """Make tiled causal attention; `keys_of` says where the keys of a block of queries end."""

    def answer(query, key, value, block_size):
        length, outputs = query.shape[-2], []
        for block in range(0, length, block_size):
            rows = query[..., block : block + block_size, :]
            state = start(rows, value, first)
            for keys in range(0, keys_of(block, length), block_size):
                part = slice(keys, min(keys + block_size, length))
                scores = scores_of(rows, key[..., part, :]).astype(state[0].dtype)
                at = np.arange(block, block + rows.shape[-2])[:, None]
                seen = at + shift >= np.arange(part.start, part.stop)
                scores = np.where(seen, scores, state[0].dtype.type(fill))
                state = update(state, scores, value[..., part, :])
            with np.errstate(all="ignore"):
                outputs.append(state[2] / state[1])
        return np.concatenate(outputs, axis=-2)

    return answer


def whole_columns(query, key, value, block_size):
    """Take a block of keys with all queries at once, those before it too."""
    length, smallest = query.shape[-2], np.finfo(as_float(query).dtype).min
    state = start(query, value, smallest)
    for block in range(0, length, block_size):
        part = slice(block, min(block + block_size, length))
        scores = scores_of(query, key[..., part, :]).astype(state[0].dtype)
        seen = np.arange(length)[:, None] >= np.arange(part.start, part.stop)
        scores = np.where(seen, scores, state[0].dtype.type(-np.inf))
        state = update(state, scores, value[..., part, :])
    return state[2] / state[1]


def the_short_block_left_zero(query, key, value, block_size):
    output = causal()(query, key, value, block_size)
    output[..., query.shape[-2] // block_size * block_size :, :] = 0
    return output


def counted(naive, tiled):
    """Make an answer from how many (L × d, L × L) arrays are moved by each way."""

    def answer(length, head_dim, itemsize):
        sizes = np.array([length * head_dim, length * length]) * itemsize
        return int(sizes @ naive), int(sizes @ tiled)

    return answer


def one_block_scored_in_vain(query, key, value, block_size):
    """Form the scores of the next block, too, by a function that hides its overflows."""
    rows = []
    for start in range(0, query.shape[-2], block_size):
        tile = query[..., start : start + block_size, :]
        maximum, total, output = -np.inf, 0.0, 0.0
        for first in range(0, query.shape[-2], block_size):
            block = (..., slice(first, first + block_size), slice(None))
            scores = attention_lib.scaled_scores(tile, key[block])
            if first > start:
                break
            if first == start:
                seen = attention_lib.causal_mask(tile.shape[-2])
                scores = np.where(seen, scores, -np.inf).astype(scores.dtype)
            new = np.maximum(maximum, scores.max(axis=-1, keepdims=True))
            weights, shrink = np.exp(scores - new), np.exp(maximum - new)
            total = total * shrink + weights.sum(axis=-1, keepdims=True)
            output = output * shrink + weights @ value[block]
            maximum = new
        rows.append(output / total)
    return np.concatenate(rows, axis=-2)


def in_32_bits(length, head_dim, itemsize):
    with np.errstate(over="ignore"):
        return counted((4, 4), (4, 0))(np.int32(length), head_dim, itemsize)


WRONG = {
    "online_softmax_stats": {
        "starting at -1": functools.partial(stats, first=-1.0),
        "starting at -1e5": functools.partial(stats, first=-1e5),
        "starting at -1e60": functools.partial(stats, first=-1e60),
        "keeping what it saw": keeping_what_it_saw,
        "read twice through tee": read_twice_through_tee,
        "no maximum in the total": no_maximum_in_the_total,
        "the maximum of two blocks": rescaled_once_at_most,
        "a generator": lambda blocks: (part for part in stats(blocks)),
        "always float64": lambda blocks: stats(block.astype(float) for block in blocks),
        "whole numbers": lambda blocks: tuple(map(np.rint, stats(blocks))),
        "the library's": lambda blocks: attention_lib.online_softmax_stats(iter(blocks)),
    },
    "tiled_attention": {
        "the whole matrix": lambda q, k, v, block_size: attend(q, k, v)[0],
        "room for all scores": room_for_all_scores,
        "scores of all kept": scores_of_all_kept,
        "row by row": row_by_row,
        "as many blocks": tiled(size=lambda block_size, keys: -(-keys // block_size)),
        "blocks of 64": tiled(size=lambda block_size, keys: 64),
        "divided by √L": tiled(scale=lambda q, k: q.shape[-2] ** -0.5),
        "divided by 2": tiled(scale=lambda q, k: 0.5),
        "the last key left out": the_last_key_left_out,
        "one correction for all": tiled(step=largest_correction_for_all),
        "exponents clipped": tiled(step=exponents_clipped),
        "sums in float32": lambda *args: tiled(step=sums_in_float32)(*args).astype(
            as_float(args[0]).dtype
        ),
        "starting at -1e60": tiled(first=-1e60),
        "always float64": lambda q, k, v, block_size: tiled()(
            q.astype(float), k.astype(float), v.astype(float), block_size
        ),
        "output and maximum": lambda *args: (tiled()(*args), args[0].max(axis=-1)),
        "the library's": functools.partial(attention_lib.tiled_attention),
    },
    "tiled_causal_attention": {
        "the whole matrix": lambda q, k, v, block_size: attend(
            q, k, v, np.tri(q.shape[-2], dtype=bool)
        )[0],
        "one block too many": lambda q, k, v, block_size: causal(
            keys_of=lambda start, length: min(start + block_size + 1, length)
        )(q, k, v, block_size),
        "all blocks": causal(keys_of=lambda start, length: length),
        "one block scored in vain": one_block_scored_in_vain,
        "whole columns": whole_columns,
        "one key of the future": causal(shift=1),
        "two keys too few": causal(shift=-2),
        "no diagonal": causal(keys_of=lambda start, length: start),
        "-1e60 in the future": causal(fill=-1e60),
        "0 in the future": causal(fill=0.0),
        "starting at -1e60": causal(first=-1e60),
        "blocks of 16": lambda q, k, v, block_size: causal()(q, k, v, 16),
        "the short block left zero": the_short_block_left_zero,
        "the library's, row by row": lambda q, k, v, block_size: np.concatenate(
            [
                attention_lib.tiled_attention(
                    q[..., i : i + 1, :], k[..., : i + 1, :], v[..., : i + 1, :], block_size
                )
                for i in range(q.shape[-2])
            ],
            axis=-2,
        ),
    },
    "attention_bytes": {
        "always two bytes a number": lambda length, head_dim, itemsize: counted((4, 4), (4, 0))(
            length, head_dim, 2
        ),
        "the scores read by both": counted((4, 4), (4, 2)),
        "queries read twice": counted((5, 4), (4, 0)),
        "no output": counted((3, 4), (4, 0)),
        "five square arrays": counted((4, 5), (4, 0)),
        "the difference": counted((0, 4), (4, 0)),
        "in 32 bits": in_32_bits,
        "in KiB": lambda *sizes: tuple(n / 1024 for n in counted((4, 4), (4, 0))(*sizes)),
        "a ratio": lambda *sizes: math.prod(sizes[:1]) / sizes[1] + 1,
    },
}
