"""Right and wrong answers to `tiled_causal_attention`."""

import itertools
import math

import numpy as np

from attention_lib.lessons.attention import attention
from attention_lib.lessons.softmax import softmax
from attention_lib.lessons.stability import logsumexp
from tests.exercises.flash.parts import floating, nothing_yet, scored, whole_matrix, with_block
from tests.exercises.flash.tiled_attention import right_tiled_by_hand


def right_causal_by_hand(query, key, value, block_size):
    dtype, length = np.result_type(query, np.float32), query.shape[-2]
    output = np.zeros((*query.shape[:-1], value.shape[-1]), dtype)
    for i in range(0, length, block_size):
        queries = query[..., i : i + block_size, :]
        stop = i + queries.shape[-2]
        maximum = np.full((*queries.shape[:-1], 1), -np.inf, dtype)
        total = np.zeros_like(maximum)
        mixed = np.zeros((*queries.shape[:-1], value.shape[-1]), dtype)
        for j in range(0, stop, block_size):
            keys, values = key[..., j : j + block_size, :], value[..., j : j + block_size, :]
            scores = (queries @ keys.mT / math.sqrt(query.shape[-1])).astype(dtype)
            if j == i:
                scores = np.where(np.tri(stop - i, dtype=bool), scores, -np.inf).astype(dtype)
            new = np.maximum(maximum, scores.max(axis=-1, keepdims=True))
            correction, exponentials = np.exp(maximum - new), np.exp(scores - new)
            total = total * correction + exponentials.sum(axis=-1, keepdims=True)
            mixed = mixed * correction + exponentials @ values
            maximum = new
        output[..., i : i + block_size, :] = mixed / total
    return output


def right_keys_outside(query, key, value, block_size):
    """Loop over the keys outside: each block adds to the queries from its own position on."""
    dtype, length = np.result_type(query, np.float32), query.shape[-2]
    maximum = np.full((*query.shape[:-1], 1), -np.inf)
    total, output = np.zeros(maximum.shape), np.zeros((*query.shape[:-1], value.shape[-1]))
    for j in range(0, length, block_size):
        for i in range(j, length, block_size):
            rows = slice(i, min(i + block_size, length))
            columns = slice(j, min(j + block_size, length))
            scores = np.einsum("...ld,...sd->...ls", query[..., rows, :], key[..., columns, :])
            scores = scores / math.sqrt(query.shape[-1])
            allowed = np.arange(length)[rows, None] >= np.arange(length)[columns]
            scores = np.where(allowed, scores, -np.inf)
            old = maximum[..., rows, :]
            new = np.maximum(old, scores.max(axis=-1, keepdims=True))
            exponentials = np.exp(scores - new)
            total[..., rows, :] *= np.exp(old - new)
            total[..., rows, :] += exponentials.sum(axis=-1, keepdims=True)
            output[..., rows, :] *= np.exp(old - new)
            output[..., rows, :] += exponentials @ value[..., columns, :]
            maximum[..., rows, :] = new
    return (output / total).astype(dtype)


def right_past_and_diagonal(query, key, value, block_size):
    """Join attention over the past, itself tiled, with attention inside the diagonal block."""
    length, pieces = query.shape[-2], []
    for i in range(0, length, block_size):
        tile = slice(i, i + block_size)
        q, k, v = (floating(array[..., tile, :]) for array in (query, key, value))
        mask = np.tri(q.shape[-2], dtype=bool)
        inside, _ = attention(q, k, v, mask)
        inside_lse = logsumexp(np.where(mask, scored(q, k), -np.inf))
        if i == 0:
            pieces.append(inside)
            continue
        past = right_tiled_by_hand(q, key[..., :i, :], value[..., :i, :], block_size)
        past_lse = -np.inf
        for j in range(0, i, block_size):
            scores = scored(q, key[..., j : j + block_size, :])
            past_lse = np.logaddexp(past_lse, logsumexp(scores))
        shares = softmax(np.stack([past_lse, inside_lse]), axis=0)[..., None]
        pieces.append(shares[0] * past + shares[1] * inside)
    return np.concatenate(pieces, axis=-2).astype(np.result_type(query, np.float32))


def right_query_by_query(query, key, value, block_size):
    """Let each query pass over the blocks of its own past."""
    output = np.zeros((*query.shape[:-1], value.shape[-1]), np.result_type(query, np.float32))
    for i in range(query.shape[-2]):
        past = (array[..., : i + 1, :] for array in (key, value))
        output[..., i : i + 1, :] = right_tiled_by_hand(query[..., i : i + 1, :], *past, block_size)
    return output


def right_past_blocks_twice(query, key, value, block_size):
    """Two passes over the past: maximum and total first, the mixture after."""
    dtype, length = np.result_type(query, np.float32), query.shape[-2]
    output = np.zeros((*query.shape[:-1], value.shape[-1]), dtype)
    for i in range(0, length, block_size):
        q = query[..., i : i + block_size, :]
        last = min(i + block_size, length)

        def scores_with(j, q=q, i=i):
            scores = scored(q, key[..., j : j + block_size, :])
            columns = np.arange(j, j + scores.shape[-1])
            return np.where(columns <= np.arange(i, i + q.shape[-2])[:, None], scores, -np.inf)

        lse = -np.inf
        for j in range(0, last, block_size):
            lse = np.logaddexp(lse, logsumexp(scores_with(j)))
        for j in range(0, last, block_size):
            weights = np.exp(scores_with(j) - lse[..., None])
            output[..., i:last, :] += (weights @ value[..., j : j + block_size, :]).astype(dtype)
    return output


def right_within_a_bound(query, key, value, block_size):
    """Choose the shift by the longest vectors where that is safe (they overflow when squared)."""
    longest = np.sqrt((floating(query) ** 2).sum(-1).max() * (floating(key) ** 2).sum(-1).max())
    if not longest < 1e6:
        with np.errstate(all="ignore"):
            return right_causal_by_hand(query, key, value, block_size)
    return right_keys_outside(query, key, value, block_size)


def right_from_a_list_of_tiles(query, key, value, block_size):
    """Walk through all tiles that count, column by column, the sums in a dictionary."""
    count = -(-query.shape[-2] // block_size)
    part = [np.s_[..., i * block_size : (i + 1) * block_size, :] for i in range(count)]
    sums = {}
    for j, i in itertools.combinations_with_replacement(range(count), 2):
        scores = scored(query[part[i]], key[part[j]])
        if i == j:
            scores = scores + np.triu(np.full(scores.shape[-2:], -np.inf, scores.dtype), 1)
        maximum = scores.max(axis=-1, keepdims=True)
        exponentials = np.exp(scores - maximum)
        new = [maximum, exponentials.sum(axis=-1, keepdims=True), exponentials @ value[part[j]]]
        if i in sums:
            top = np.maximum(sums[i][0], maximum)
            old, new = (
                np.exp(sums[i][0] - top),
                [top, *(np.exp(maximum - top) * x for x in new[1:])],
            )
            new[1:] = (old * x + y for x, y in zip(sums[i][1:], new[1:], strict=True))
        sums[i] = new
    return np.concatenate([sums[i][2] / sums[i][1] for i in range(count)], axis=-2)


def causal(keys_of=lambda start, length: start + 1, fill=-np.inf, first=-np.inf, shift=0):
    """Make tiled causal attention; `keys_of` says where the keys of a block of queries end."""

    def answer(query, key, value, block_size):
        length, outputs = query.shape[-2], []
        for block in range(0, length, block_size):
            rows = query[..., block : block + block_size, :]
            state = nothing_yet(rows, value, first)
            for keys in range(0, keys_of(block, length), block_size):
                part = slice(keys, min(keys + block_size, length))
                scores = scored(rows, key[..., part, :]).astype(state[0].dtype)
                at = np.arange(block, block + rows.shape[-2])[:, None]
                seen = at + shift >= np.arange(part.start, part.stop)
                scores = np.where(seen, scores, state[0].dtype.type(fill))
                state = with_block(state, scores, value[..., part, :])
            with np.errstate(all="ignore"):
                outputs.append(state[2] / state[1])
        return np.concatenate(outputs, axis=-2)

    return answer


def wrong_whole_columns(query, key, value, block_size):
    """Take a block of keys with all queries at once, those before it too."""
    length, smallest = query.shape[-2], np.finfo(floating(query).dtype).min
    state = nothing_yet(query, value, smallest)
    for block in range(0, length, block_size):
        part = slice(block, min(block + block_size, length))
        scores = scored(query, key[..., part, :]).astype(state[0].dtype)
        seen = np.arange(length)[:, None] >= np.arange(part.start, part.stop)
        scores = np.where(seen, scores, state[0].dtype.type(-np.inf))
        state = with_block(state, scores, value[..., part, :])
    return state[2] / state[1]


def wrong_with_a_mask_of_all_pairs(query, key, value, block_size):
    """Hold True and False for all pairs of positions, and cut each block's part out of them."""
    mask = np.tri(query.shape[-2], dtype=bool)
    exponents = np.where(mask, 0.0, -np.inf)
    outputs = []
    for i in range(0, query.shape[-2], block_size):
        rows = query[..., i : i + block_size, :]
        state = nothing_yet(rows, value)
        for j in range(0, i + 1, block_size):
            block = slice(j, j + block_size)
            hidden = exponents[i : i + block_size, block].astype(state[0].dtype)
            state = with_block(
                state, scored(rows, key[..., block, :]) + hidden, value[..., block, :]
            )
        outputs.append(state[2] / state[1])
    return np.concatenate(outputs, axis=-2)


WRONG = {
    "the whole matrix": lambda q, k, v, block_size: whole_matrix(
        q, k, v, np.tri(q.shape[-2], dtype=bool)
    ),
    "one block too many": lambda q, k, v, block_size: causal(
        keys_of=lambda start, length: min(start + block_size + 1, length)
    )(q, k, v, block_size),
    "all blocks": causal(keys_of=lambda start, length: length),
    "two keys too few": causal(shift=-2),
    "blocks of 16": lambda q, k, v, block_size: causal()(q, k, v, 16),
}
