"""Right answers to the exercises of lesson 07, written in unlike ways."""

import functools
import itertools
import math

import numpy as np

from attention_lib.lessons.attention import attention
from attention_lib.lessons.scaling import scaled_scores
from attention_lib.lessons.softmax import softmax, weighted_sum
from attention_lib.lessons.stability import logsumexp, merge_softmax_stats


def floating(array):
    return array.astype(np.result_type(array.dtype, np.float32), copy=False)


def stats_of(block):
    maximum = block.max(axis=-1)
    return maximum, np.exp(block - maximum[..., None]).sum(axis=-1)


def stats_by_merging(blocks):
    """Join the pairs with the function of lesson 02."""
    return functools.reduce(merge_softmax_stats, map(stats_of, map(floating, blocks)))


def stats_by_hand(blocks):
    maximum = total = None
    for block in blocks:
        if maximum is None:
            maximum = np.full(block.shape[:-1], -np.inf, np.result_type(block, np.float32))
            total = np.zeros_like(maximum)
        new = np.maximum(maximum, block.max(axis=-1))
        total = total * np.exp(maximum - new) + np.exp(block - new[..., np.newaxis]).sum(axis=-1)
        maximum = new
    return maximum, total


def stats_score_by_score(blocks):
    """Take one score at a time from each block, in place, and return a list."""
    blocks = iter(blocks)
    first = next(blocks)
    maximum = first[..., 0].copy()
    total = np.ones(maximum.shape, np.result_type(first, np.float32))
    for block, skip in itertools.chain([(first, 1)], zip(blocks, itertools.repeat(0))):
        for column in range(skip, block.shape[-1]):
            score = block[..., column]
            total = np.where(
                score > maximum,
                total * np.exp(np.minimum(maximum - score, 0)) + 1,
                total + np.exp(np.minimum(score - maximum, 0)),
            ).astype(total.dtype)
            maximum = np.maximum(maximum, score)
    return [maximum, total]


def stats_in_pure_python(blocks):
    maxima, totals, shape, dtype = None, None, None, None
    for block in blocks:
        if maxima is None:
            shape, dtype = block.shape[:-1], np.result_type(block, np.float32)
            maxima, totals = [-math.inf] * math.prod(shape), [0.0] * math.prod(shape)
        for i, row in enumerate(block.reshape(-1, block.shape[-1]).tolist()):
            for score in row:
                if score > maxima[i]:
                    totals[i] = totals[i] * math.exp(maxima[i] - score) + 1
                    maxima[i] = score
                else:
                    totals[i] += math.exp(score - maxima[i])
    return np.array(maxima, dtype).reshape(shape), np.array(totals, dtype).reshape(shape)


def stats_in_logarithms(blocks):
    """Carry the log-sum-exp instead of the total."""
    maximum, log_total, dtype = None, None, None
    for block in blocks:
        wide, dtype = block.astype(float), np.result_type(block, np.float32)
        if maximum is None:
            maximum, log_total = wide.max(axis=-1), logsumexp(wide)
        else:
            maximum = np.maximum(maximum, wide.max(axis=-1))
            log_total = np.logaddexp(log_total, logsumexp(wide))
    return maximum.astype(dtype), np.exp(log_total - maximum).astype(dtype)


def stats_two_blocks_at_a_time(blocks):
    blocks, stats = iter(blocks), None
    while pair := list(itertools.islice(blocks, 2)):
        new = stats_of(floating(np.concatenate(pair, axis=-1)))
        stats = new if stats is None else merge_softmax_stats(stats, new)
    return stats


def tiled_by_hand(query, key, value, block_size):
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


def tiled_in_float64_by_einsum(query, key, value, block_size):
    """Copy all keys, transposed, and all values, in float64; keep the average normalized."""
    keys = np.ascontiguousarray(np.swapaxes(key, -1, -2), dtype=np.float64)
    values = value.astype(np.float64)
    lse = np.full(query.shape[:-1], -np.inf)
    output = np.zeros((*query.shape[:-1], value.shape[-1]))
    for start in range(0, key.shape[-2], block_size):
        block = keys[..., start : start + block_size]
        scores = np.einsum("...ld,...ds->...ls", query.astype(float), block)
        scores *= query.shape[-1] ** -0.5
        new = np.logaddexp(lse, logsumexp(scores))
        weights = np.exp(scores - new[..., None])
        output *= np.exp(lse - new)[..., None]
        output += np.einsum(
            "...ls,...sv->...lv", weights, values[..., start : start + block_size, :]
        )
        lse = new
    return output.astype(np.result_type(query, np.float32))


def tiled_from_earlier_lessons(query, key, value, block_size):
    """Give every block attention of its own, and average by the blocks' sums."""
    stats, output = None, None
    for start in range(0, key.shape[-2], block_size):
        keys, values = (array[..., start : start + block_size, :] for array in (key, value))
        scores = scaled_scores(floating(query), floating(keys))
        new_output, new = weighted_sum(softmax(scores), floating(values)), stats_of(scores)
        if stats is None:
            stats, output = new, new_output
            continue
        both = merge_softmax_stats(stats, new)
        share = stats[1] * np.exp(stats[0] - both[0]) / both[1]
        output = share[..., None] * output + (1 - share[..., None]) * new_output
        stats = both
    return output


def tiled_by_attention_and_a_list(query, key, value, block_size):
    """Collect each block's output and log-sum-exp, and mix them at the end."""
    outputs, sums = [], []
    for start in range(0, key.shape[-2], block_size):
        stop = min(start + block_size, key.shape[-2])
        outputs.append(attention(query, key[..., start:stop, :], value[..., start:stop, :])[0])
        sums.append(logsumexp(scaled_scores(floating(query), floating(key[..., start:stop, :]))))
    shares = softmax(np.stack(sums), axis=0)
    return sum(share[..., None] * output for share, output in zip(shares, outputs, strict=True))


def tiled_by_broadcasting(query, key, value, block_size):
    """Without a matrix product, the queries and batch items one by one."""
    dtype = np.result_type(query, np.float32)
    output = np.empty((*query.shape[:-1], value.shape[-1]), dtype)
    blocks = -(-key.shape[-2] // block_size)
    for index in np.ndindex(query.shape[:-1]):
        maximum, total, mixed = -math.inf, 0.0, np.zeros(value.shape[-1])
        for n in range(blocks):
            keys = key[index[:-1]][n * block_size : (n + 1) * block_size].astype(float)
            values = value[index[:-1]][n * block_size : (n + 1) * block_size]
            scores = (keys * query[index]).sum(axis=1) / math.sqrt(query.shape[-1])
            new = max(maximum, float(np.max(scores)))
            exponentials = np.exp(scores - new)
            total = total * math.exp(maximum - new) + float(exponentials.sum())
            mixed = mixed * math.exp(maximum - new) + (exponentials[:, None] * values).sum(axis=0)
            maximum = new
        output[index] = mixed / total
    return output


def tiled_in_pure_python(query, key, value, block_size):
    dtype, d_k = np.result_type(query, np.float32), query.shape[-1]
    output = np.empty((*query.shape[:-1], value.shape[-1]), dtype)
    for index in np.ndindex(query.shape[:-2]):
        keys, values = key[index].tolist(), value[index].tolist()
        for i, q in enumerate(query[index].tolist()):
            maximum, total, mixed = -math.inf, 0.0, [0.0] * value.shape[-1]
            for start in range(0, len(keys), block_size):
                block = keys[start : start + block_size]
                scores = [sum(map(float.__mul__, map(float, q), map(float, k))) for k in block]
                scores = [score / math.sqrt(d_k) for score in scores]
                new = max(maximum, *scores)
                correction = math.exp(maximum - new)
                powers = [math.exp(score - new) for score in scores]
                total = total * correction + sum(powers)
                for c in range(len(mixed)):
                    added = sum(p * v[c] for p, v in zip(powers, values[start:], strict=False))
                    mixed[c] = mixed[c] * correction + added
                maximum = new
            output[index][i] = [entry / total for entry in mixed]
    return output


def tiled_by_pieces(query, key, value, block_size):
    """Let NumPy cut the arrays, and work in extended precision."""
    places = range(block_size, key.shape[-2], block_size)
    wide = np.longdouble
    m = np.full((*query.shape[:-1], 1), -np.inf, wide)
    t, o = np.zeros(m.shape, wide), np.zeros((*query.shape[:-1], value.shape[-1]), wide)
    for k, v in zip(np.split(key, places, axis=-2), np.split(value, places, axis=-2), strict=True):
        s = query.astype(wide) @ np.swapaxes(k, -1, -2).astype(wide) / np.sqrt(wide(k.shape[-1]))
        n = np.maximum(m, np.amax(s, axis=-1, keepdims=True))
        p = np.exp(s - n)
        t *= np.exp(m - n)
        t += p.sum(axis=-1, keepdims=True)
        o *= np.exp(m - n)
        o += p @ v
        m = n
    return (o / t).astype(np.result_type(query, np.float32))


def tiled_padded(query, key, value, block_size):
    """Fill the last block up with keys that get the score -inf."""
    dtype = np.result_type(query, np.float32)
    missing = -key.shape[-2] % block_size
    padding = [(0, 0)] * (key.ndim - 2) + [(0, missing), (0, 0)]
    keys, values = np.pad(key, padding), np.pad(value, padding)
    m, t, o = -np.inf, 0.0, 0.0
    for start in range(0, keys.shape[-2], block_size):
        here = slice(start, start + block_size)
        scores = query @ keys[..., here, :].mT / math.sqrt(key.shape[-1])
        real = np.arange(start, start + block_size) < key.shape[-2]
        scores = np.where(real, scores, -np.inf)
        n = np.maximum(m, scores.max(axis=-1, keepdims=True))
        p, c = np.exp(scores - n), np.exp(m - n)
        m, t, o = n, t * c + p.sum(axis=-1, keepdims=True), o * c + p @ values[..., here, :]
    return (o / t).astype(dtype)


def tiled_backwards(query, key, value, block_size):
    """Take the last block first, whole items one by one."""
    if query.ndim > 2:
        items = [tiled_backwards(*item, block_size) for item in zip(query, key, value, strict=True)]
        return np.stack(items)
    stats = output = None
    for start in reversed(range(0, len(key), block_size)):
        scores = scaled_scores(floating(query), floating(key[start : start + block_size]))
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


def tiled_key_by_key_within_blocks(query, key, value, block_size):
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


def tiled_in_longdouble(query, key, value, block_size):
    """Sums so precise that their last bits are the same for every block size."""
    dtype = np.result_type(query, np.float32) if query.dtype.kind == "f" else np.dtype(float)
    wide = [array.astype(np.longdouble) for array in (query, key, value)]
    return tiled_by_hand(*wide, block_size).astype(dtype)


def causal_by_hand(query, key, value, block_size):
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


def causal_keys_outside(query, key, value, block_size):
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


def causal_past_and_diagonal(query, key, value, block_size):
    """Join attention over the past, itself tiled, with attention inside the diagonal block."""
    length, pieces = query.shape[-2], []
    for i in range(0, length, block_size):
        tile = slice(i, i + block_size)
        q, k, v = (floating(array[..., tile, :]) for array in (query, key, value))
        mask = np.tri(q.shape[-2], dtype=bool)
        inside, _ = attention(q, k, v, mask)
        inside_lse = logsumexp(np.where(mask, scaled_scores(q, k), -np.inf))
        if i == 0:
            pieces.append(inside)
            continue
        past = tiled_by_hand(q, key[..., :i, :], value[..., :i, :], block_size)
        past_lse = -np.inf
        for j in range(0, i, block_size):
            scores = scaled_scores(q, floating(key[..., j : j + block_size, :]))
            past_lse = np.logaddexp(past_lse, logsumexp(scores))
        shares = softmax(np.stack([past_lse, inside_lse]), axis=0)[..., None]
        pieces.append(shares[0] * past + shares[1] * inside)
    return np.concatenate(pieces, axis=-2).astype(np.result_type(query, np.float32))


def causal_query_by_query(query, key, value, block_size):
    """Let each query pass over the blocks of its own past."""
    output = np.zeros((*query.shape[:-1], value.shape[-1]), np.result_type(query, np.float32))
    for i in range(query.shape[-2]):
        past = (array[..., : i + 1, :] for array in (key, value))
        output[..., i : i + 1, :] = tiled_by_hand(query[..., i : i + 1, :], *past, block_size)
    return output


def causal_in_whole_rows_of_blocks(query, key, value, block_size):
    """Take a block of queries with its whole past at once: no more than block_size × L scores."""
    output = np.empty((*query.shape[:-1], value.shape[-1]), np.result_type(query, np.float32))
    for i in range(0, query.shape[-2], block_size):
        stop = min(i + block_size, query.shape[-2])
        mask = np.arange(stop) <= np.arange(i, stop)[:, None]
        past = (array[..., :stop, :] for array in (key, value))
        output[..., i:stop, :] = attention(query[..., i:stop, :], *past, mask)[0]
    return output


def causal_past_blocks_twice(query, key, value, block_size):
    """Two passes over the past: maximum and total first, the mixture after."""
    dtype, length = np.result_type(query, np.float32), query.shape[-2]
    output = np.zeros((*query.shape[:-1], value.shape[-1]), dtype)
    for i in range(0, length, block_size):
        q = query[..., i : i + block_size, :]
        last = min(i + block_size, length)

        def scores_with(j, q=q, i=i):
            scores = scaled_scores(floating(q), floating(key[..., j : j + block_size, :]))
            columns = np.arange(j, j + scores.shape[-1])
            return np.where(columns <= np.arange(i, i + q.shape[-2])[:, None], scores, -np.inf)

        lse = -np.inf
        for j in range(0, last, block_size):
            lse = np.logaddexp(lse, logsumexp(scores_with(j)))
        for j in range(0, last, block_size):
            weights = np.exp(scores_with(j) - lse[..., None])
            output[..., i:last, :] += (weights @ value[..., j : j + block_size, :]).astype(dtype)
    return output


def causal_within_a_bound(query, key, value, block_size):
    """Choose the shift by the longest vectors where that is safe (they overflow when squared)."""
    longest = np.sqrt((floating(query) ** 2).sum(-1).max() * (floating(key) ** 2).sum(-1).max())
    if not longest < 1e6:
        with np.errstate(all="ignore"):
            return causal_by_hand(query, key, value, block_size)
    return causal_keys_outside(query, key, value, block_size)


def bytes_by_formula(length, head_dim, itemsize):
    tiled = 4 * length * head_dim * itemsize
    return tiled + 4 * length**2 * itemsize, tiled


def bytes_step_by_step(length, head_dim, itemsize):
    vectors, scores = length * head_dim * itemsize, length * length * itemsize
    naive = (vectors + vectors + scores) + (scores + scores) + (scores + vectors + vectors)
    return [naive, 3 * vectors + vectors]


def bytes_of_arrays(length, head_dim, itemsize):
    one = np.int64(length) * head_dim * itemsize
    return np.int64(4 * one + 4 * np.int64(length) ** 2 * itemsize), float(4 * one)


def stats_with_a_column_for_the_past(blocks):
    """Put the log-sum-exp so far in front of each block, as one more score."""
    maximum, past = None, None
    for block in blocks:
        dtype = np.result_type(block, np.float32)
        peak = block.max(axis=-1)
        maximum = peak if past is None else np.maximum(maximum, peak)
        row = block if past is None else np.concatenate([past[..., None], block], axis=-1)
        past = logsumexp(row.astype(float))
    return np.asarray(maximum, dtype), np.exp(past - maximum).astype(dtype)


def scored(query, keys):
    return scaled_scores(floating(query), floating(keys))


def tiled_in_two_passes(query, key, value, block_size):
    """Maximum and total first; then the output, from the same scores once more."""
    blocks = [slice(j, j + block_size) for j in range(0, key.shape[-2], block_size)]
    stats = (stats_of(scored(query, key[..., block, :])) for block in blocks)
    maximum, total = (part[..., None] for part in functools.reduce(merge_softmax_stats, stats))
    return sum(
        np.exp(scored(query, key[..., block, :]) - maximum) / total @ value[..., block, :]
        for block in blocks
    )


def tiled_with_a_column_of_ones(query, key, value, block_size):
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


def tiled_by_halves(query, key, value, block_size):
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


def tiled_rescaling_seldom(query, key, value, block_size):
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


def causal_from_a_list_of_tiles(query, key, value, block_size):
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


def causal_in_longdouble_from_the_diagonal_back(query, key, value, block_size):
    dtype = np.result_type(query, np.float32)
    query, key, value = (array.astype(np.longdouble) for array in (query, key, value))
    outputs = []
    for start in range(0, query.shape[-2], block_size):
        rows = query[..., start : start + block_size, :] / np.sqrt(np.longdouble(query.shape[-1]))
        maximum, total, output = -np.inf, 0, 0
        for block in range(start, -1, -block_size):
            scores = rows @ key[..., block : block + block_size, :].mT
            if block == start:
                scores = np.where(np.tri(scores.shape[-1], dtype=bool), scores, -np.inf)
            new = np.maximum(maximum, scores.max(axis=-1, keepdims=True))
            shrink, exponentials = np.exp(maximum - new), np.exp(scores - new)
            total = total * shrink + exponentials.sum(axis=-1, keepdims=True)
            output = output * shrink + exponentials @ value[..., block : block + block_size, :]
            maximum = new
        outputs.append(output / total)
    return np.concatenate(outputs, axis=-2).astype(dtype)


RIGHT = {
    "online_softmax_stats": [
        stats_by_merging,
        stats_by_hand,
        stats_score_by_score,
        stats_in_pure_python,
        stats_in_logarithms,
        stats_two_blocks_at_a_time,
        stats_with_a_column_for_the_past,
    ],
    "tiled_attention": [
        tiled_by_hand,
        tiled_in_float64_by_einsum,
        tiled_from_earlier_lessons,
        tiled_by_attention_and_a_list,
        tiled_by_broadcasting,
        tiled_in_pure_python,
        tiled_by_pieces,
        tiled_padded,
        tiled_backwards,
        tiled_key_by_key_within_blocks,
        tiled_in_longdouble,
        tiled_in_two_passes,
        tiled_with_a_column_of_ones,
        tiled_by_halves,
        tiled_rescaling_seldom,
    ],
    "tiled_causal_attention": [
        causal_by_hand,
        causal_keys_outside,
        causal_past_and_diagonal,
        causal_query_by_query,
        causal_in_whole_rows_of_blocks,
        causal_past_blocks_twice,
        causal_within_a_bound,
        causal_from_a_list_of_tiles,
        causal_in_longdouble_from_the_diagonal_back,
    ],
    "attention_bytes": [bytes_by_formula, bytes_step_by_step, bytes_of_arrays],
}
