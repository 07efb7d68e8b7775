"""Right answers to the exercises of lesson 06, in unlike ways."""

import functools
import itertools
import math
import operator

import numpy as np

from attention_lib.lessons.attention import attention, causal_mask
from attention_lib.lessons.scaling import dot_product_scores, scaled_scores
from attention_lib.lessons.softmax import softmax, weighted_sum
from attention_lib.lessons.stability import masked_softmax, stable_softmax

# split_heads


def split_textbook(x, num_heads):
    *leading, length, width = x.shape
    if width % num_heads != 0:
        raise ValueError("D must be a multiple of H")
    return x.reshape(*leading, length, num_heads, width // num_heads).swapaxes(-2, -3)


def split_by_slices(x, num_heads):
    size, rest = divmod(x.shape[-1], num_heads)
    if rest:
        raise ValueError(f"{num_heads} heads do not fit")
    return np.stack([x[..., h * size : (h + 1) * size] for h in range(num_heads)], axis=-3)


def split_by_np_split(x, num_heads):
    return np.stack(np.split(x, num_heads, axis=-1), axis=-3)  # np.split raises ValueError


def split_by_loops(x, num_heads):
    *leading, length, width = x.shape
    if width % num_heads:
        raise ValueError
    size = width // num_heads
    heads = np.zeros((*leading, num_heads, length, size), x.dtype)
    for h in range(num_heads):
        for column in range(size):
            heads[..., h, :, column] = x[..., h * size + column]
    return heads


def split_by_moveaxis(x, num_heads):
    return np.moveaxis(x.reshape((*x.shape[:-1], num_heads, -1)), -2, -3).copy()


def split_by_einsum(x, num_heads):
    return np.einsum("...lhd->...hld", x.reshape(*x.shape[:-1], num_heads, -1))


def split_by_transposes(x, num_heads):
    *leading, length, width = x.shape
    if width % num_heads:
        raise ValueError("not a multiple")
    columns_first = np.swapaxes(x, -1, -2)
    heads = columns_first.reshape(*leading, num_heads, width // num_heads, length)
    return np.swapaxes(heads, -1, -2)


# merge_heads


def merge_textbook(x):
    *leading, heads, length, size = x.shape
    return x.swapaxes(-2, -3).reshape(*leading, length, heads * size)


def merge_by_concatenating(x):
    return np.concatenate([x[..., h, :, :] for h in range(x.shape[-3])], axis=-1)


def merge_by_hstack(x):
    heads = np.moveaxis(x, -3, 0)
    return np.concatenate(list(heads), axis=-1)


def merge_by_loops(x):
    *leading, heads, length, size = x.shape
    merged = np.empty((*leading, length, heads * size), x.dtype)
    for index in np.ndindex(*leading, length):
        *batch, position = index
        for h in range(heads):
            merged[(*batch, position, slice(h * size, (h + 1) * size))] = x[
                (*batch, h, position, slice(None))
            ]
    return merged


def merge_by_transposes(x):
    *leading, heads, length, size = x.shape
    return np.swapaxes(np.swapaxes(x, -1, -2).reshape(*leading, heads * size, length), -1, -2)


# multi_head_attention


def heads_textbook(x, w_q, w_k, w_v, w_o, num_heads, mask=None):
    query, key, value = (split_textbook(x @ w, num_heads) for w in (w_q, w_k, w_v))
    if mask is not None:
        mask = mask[..., None, :, :]
    output, _ = attention(query, key, value, mask)
    return merge_textbook(output) @ w_o


def heads_one_by_one(x, w_q, w_k, w_v, w_o, num_heads, mask=None):
    size = x.shape[-1] // num_heads
    outputs = []
    for h in range(num_heads):
        columns = slice(h * size, (h + 1) * size)
        query, key, value = x @ w_q[:, columns], x @ w_k[:, columns], x @ w_v[:, columns]
        outputs.append(attention(query, key, value, mask)[0])
    return np.concatenate(outputs, axis=-1) @ w_o


def heads_summed_through_w_o(x, w_q, w_k, w_v, w_o, num_heads, mask=None):
    size = x.shape[-1] // num_heads
    total = 0
    for h in range(num_heads):
        own = slice(h * size, (h + 1) * size)
        scores = scaled_scores(x @ w_q[:, own], x @ w_k[:, own])
        if mask is not None and mask.dtype == bool:
            weights = masked_softmax(scores, mask)
        else:
            scores = scores if mask is None else scores + mask
            weights = stable_softmax(scores.astype(np.result_type(x, np.float32), copy=False))
        total = total + weighted_sum(weights, x @ w_v[:, own]) @ w_o[own]
    return total.astype(np.result_type(x.dtype, np.float32), copy=False)


def heads_by_einsum(x, w_q, w_k, w_v, w_o, num_heads, mask=None):
    width = x.shape[-1]
    size = width // num_heads
    q, k, v = (
        np.einsum("...lD,Dhd->...hld", x, w.reshape(width, num_heads, size))
        for w in (w_q, w_k, w_v)
    )
    scores = np.einsum("...ld,...sd->...ls", q, k) / math.sqrt(size)
    if mask is not None:
        bias = np.where(mask, 0.0, -np.inf) if mask.dtype == bool else mask
        scores = scores + np.expand_dims(bias, -3).astype(scores.dtype)
    weights = stable_softmax(scores)
    mixed = np.einsum("...ls,...sd->...ld", weights, v)
    return np.einsum("...hld,hdD->...lD", mixed, w_o.reshape(num_heads, size, width))


def heads_in_float64(x, w_q, w_k, w_v, w_o, num_heads, mask=None):
    dtype = np.float32 if x.dtype == np.float32 else np.float64
    x, w_q, w_k, w_v, w_o = (a.astype(np.float64) for a in (x, w_q, w_k, w_v, w_o))
    allowed = np.array(True) if mask is None or mask.dtype != bool else mask[..., None, :, :]
    added = np.array(0.0) if mask is None or mask.dtype == bool else mask[..., None, :, :]
    q = split_by_slices(x @ w_q, num_heads) / np.sqrt(x.shape[-1] / num_heads)
    scores = np.where(allowed, q @ split_by_slices(x @ w_k, num_heads).mT + added, -np.inf)
    scores -= scores.max(axis=-1, keepdims=True)
    exponentials = np.exp(scores)
    weights = exponentials / exponentials.sum(axis=-1, keepdims=True)
    return (merge_by_concatenating(weights @ split_by_slices(x @ w_v, num_heads)) @ w_o).astype(
        dtype
    )


def heads_from_one_big_product(x, w_q, w_k, w_v, w_o, num_heads, mask=None):
    projected = x @ np.concatenate([w_q, w_k, w_v], axis=1)
    q, k, v = (split_by_np_split(part, num_heads) for part in np.split(projected, 3, axis=-1))
    if mask is not None:
        shape = (*mask.shape[:-2], num_heads, *mask.shape[-2:])
        mask = np.broadcast_to(np.expand_dims(mask, -3), shape)
    return np.matmul(merge_by_concatenating(attention(q, k, v, mask=mask)[0]), w_o)


def heads_one_position_at_a_time(x, w_q, w_k, w_v, w_o, num_heads, mask=None):
    length, width = x.shape[-2:]
    size = width // num_heads
    dtype = np.float32 if x.dtype == np.float32 else np.float64
    result = np.empty(x.shape, dtype)
    for batch in np.ndindex(x.shape[:-2]):
        q, k, v = x[batch] @ w_q, x[batch] @ w_k, x[batch] @ w_v
        own_mask = None if mask is None else (mask if mask.ndim == 2 else mask[batch])
        for i in range(length):
            pieces = []
            for h in range(num_heads):
                own = slice(h * size, (h + 1) * size)
                scores = [
                    float(np.dot(q[i, own], k[j, own])) / math.sqrt(size) for j in range(length)
                ]
                if own_mask is not None and own_mask.dtype == bool:
                    scores = [
                        s if ok else -math.inf for s, ok in zip(scores, own_mask[i], strict=True)
                    ]
                elif own_mask is not None:
                    scores = [s + float(m) for s, m in zip(scores, own_mask[i], strict=True)]
                top = max(scores)
                parts = [math.exp(s - top) for s in scores]
                mixed = sum(p * v[j, own] for j, p in enumerate(parts)) / sum(parts)
                pieces.extend(mixed.tolist())
            result[(*batch, i)] = np.array(pieces) @ w_o
    return result


# grouped_query_attention


def groups_by_repeat(query, key, value, mask=None):
    each = query.shape[-3] // key.shape[-3]
    key, value = np.repeat(key, each, axis=-3), np.repeat(value, each, axis=-3)
    return attention(query, key, value, mask)[0]


def groups_by_index(query, key, value, mask=None):
    heads, groups = query.shape[-3], key.shape[-3]
    owner = np.arange(heads) * groups // heads
    return attention(query, key[..., owner, :, :], value[..., owner, :, :], mask)[0]


def groups_by_the_library(query, key, value, mask=None):
    return attention(query, key, value, mask)[0]


def groups_by_reshape(query, key, value, mask=None):
    *leading, heads, length, size = query.shape
    groups, keys = key.shape[-3], key.shape[-2]
    query = query.reshape(*leading, groups, heads // groups, length, size)
    if mask is not None:
        mask = np.broadcast_to(mask, (*leading, heads, length, keys))
        mask = mask.reshape(*leading, groups, heads // groups, length, keys)
    output, _ = attention(query, key[..., None, :, :], value[..., None, :, :], mask)
    return output.reshape(*leading, heads, length, -1)


def groups_head_by_head(query, key, value, mask=None):
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


def groups_with_long_queries(query, key, value, mask=None):
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


def groups_by_einsum(query, key, value, mask=None):
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


# rotary_embedding


def rotary_textbook(x, positions, base=10000.0):
    size = x.shape[-1]
    angles = positions[:, None] * base ** (-np.arange(0, size, 2) / size)
    cos, sin = np.cos(angles), np.sin(angles)
    turned = np.empty(x.shape, np.float32 if x.dtype == np.float32 else np.float64)
    turned[..., 0::2] = x[..., 0::2] * cos - x[..., 1::2] * sin
    turned[..., 1::2] = x[..., 0::2] * sin + x[..., 1::2] * cos
    return turned


def rotary_by_complex_numbers(x, positions, base=10000.0):
    size = x.shape[-1]
    hands = x[..., 0::2] + 1j * x[..., 1::2]
    angles = np.outer(positions, 1 / base ** (np.arange(size // 2) * 2 / size))
    hands = hands * np.exp(1j * angles)
    turned = np.stack([hands.real, hands.imag], axis=-1).reshape(x.shape)
    return turned.astype(x.dtype) if x.dtype.kind == "f" else turned


def rotary_by_matrices(x, positions, base=10000.0):
    length, size = x.shape[-2:]
    turns = np.zeros((length, size, size))
    for row in range(length):
        for i in range(size // 2):
            angle = positions[row] * base ** (-2 * i / size)
            c, s = math.cos(angle), math.sin(angle)
            turns[row, 2 * i : 2 * i + 2, 2 * i : 2 * i + 2] = [[c, -s], [s, c]]
    turned = np.einsum("lij,...lj->...li", turns, x)
    return turned.astype(np.result_type(x.dtype, np.float32)) if x.dtype.kind == "f" else turned


def rotary_by_turned_copy(x, positions, base=10000.0):
    """x cos + (x with each pair (a, b) replaced by (−b, a)) sin."""
    size = x.shape[-1]
    speeds = np.exp(-math.log(base) * np.arange(0, size, 2) / size)
    angles = np.repeat(positions[:, None] * speeds, 2, axis=-1)
    pairs = x.reshape(*x.shape[:-1], size // 2, 2)
    across = np.stack([-pairs[..., 1], pairs[..., 0]], axis=-1).reshape(x.shape)
    turned = x * np.cos(angles) + across * np.sin(angles)
    return turned.astype(np.float32) if x.dtype == np.float32 else turned


def rotary_in_float32(x, positions, base=10000.0):
    dtype = np.float32 if x.dtype == np.float32 else np.float64
    size = x.shape[-1]
    speeds = np.power(dtype(base), (-np.arange(0, size, 2) / size).astype(dtype))
    angles = positions.astype(dtype)[:, np.newaxis] * speeds
    cos, sin = np.cos(angles), np.sin(angles)
    a, b = x[..., 0::2], x[..., 1::2]
    return np.concatenate(
        [(a * cos - b * sin)[..., None], (a * sin + b * cos)[..., None]], axis=-1
    ).reshape(x.shape)


def rotary_by_loops(x, positions, base=10000.0):
    turned = x.astype(np.float64)
    size = x.shape[-1]
    for index in np.ndindex(x.shape[:-1]):
        for i in range(size // 2):
            angle = float(positions[index[-1]]) / base ** (2 * i / size)
            a, b = float(x[(*index, 2 * i)]), float(x[(*index, 2 * i + 1)])
            turned[(*index, 2 * i)] = a * math.cos(angle) - b * math.sin(angle)
            turned[(*index, 2 * i + 1)] = a * math.sin(angle) + b * math.cos(angle)
    return turned.astype(np.float32) if x.dtype == np.float32 else turned


def rotary_in_polar_form(x, positions, base=10000.0):
    size = x.shape[-1]
    radius = np.hypot(x[..., 0::2], x[..., 1::2])
    angle = np.arctan2(x[..., 1::2], x[..., 0::2])
    angle = angle + positions[:, None] * base ** -(np.arange(0, size, 2) / size)
    turned = np.zeros(x.shape)
    turned[..., ::2], turned[..., 1::2] = radius * np.cos(angle), radius * np.sin(angle)
    return turned.astype(np.float32) if x.dtype == np.float32 else turned


# decode_step


def step_textbook(query, key, value, cache=None):
    if cache is None:
        keys, values = key, value
    else:
        keys = np.concatenate([cache[0], key], axis=-2)
        values = np.concatenate([cache[1], value], axis=-2)
    output, _ = attention(query, keys, values)
    return output, (keys, values)


def step_in_lists(query, key, value, cache=None):
    pairs = (
        [[new] for new in (key, value)] if cache is None else zip(cache, (key, value), strict=True)
    )
    keys, values = (np.concatenate(list(pair), axis=-2) for pair in pairs)
    weights = stable_softmax(scaled_scores(query, keys))
    return [weighted_sum(weights, values), [keys, values]]


def step_into_new_arrays(query, key, value, cache=None):
    steps = 0 if cache is None else cache[0].shape[-2]
    keys = np.empty((*key.shape[:-2], steps + 1, key.shape[-1]), key.dtype)
    values = np.empty((*value.shape[:-2], steps + 1, value.shape[-1]), value.dtype)
    if cache is not None:
        keys[..., :steps, :], values[..., :steps, :] = cache
    keys[..., steps:, :], values[..., steps:, :] = key, value
    return attention(query, keys, values)[0], (keys, values)


def step_in_a_roomy_buffer(query, key, value, cache=None):
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


def step_by_merging(query, key, value, cache=None):
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


def step_by_softmax(query, key, value, cache=None):
    keys, values = cache if cache else (key[..., :0, :], value[..., :0, :])
    keys = np.concatenate((keys, key), -2)
    values = np.concatenate((values, value), -2)
    weights = softmax(np.einsum("...ld,...sd->...ls", query, keys) / math.sqrt(keys.shape[-1]))
    return np.einsum("...ls,...sv->...lv", weights, values).astype(
        np.float32 if query.dtype == np.float32 else np.float64
    ), (keys, values)


def step_as_the_last_row(query, key, value, cache=None):
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


# more ways to each


def split_by_windows(x, num_heads):
    """Take every D/H-th window as wide as a head: a view of x."""
    if x.shape[-1] % num_heads:
        raise ValueError("the heads do not fit")
    size = x.shape[-1] // num_heads
    windows = np.lib.stride_tricks.sliding_window_view(x, size, axis=-1)
    return np.swapaxes(windows[..., ::size, :], -2, -3)


def merge_by_recursion(x):
    if x.ndim > 3:
        return np.stack([merge_by_recursion(item) for item in x])
    return functools.reduce(lambda left, right: np.append(left, right, axis=-1), x)


def heads_as_one_long_sequence(x, w_q, w_k, w_v, w_o, num_heads, mask=None):
    """Lay the heads end to end and let the mask keep them apart."""
    length = x.shape[-2]

    def laid_out(weight):
        heads = split_textbook(x @ weight, num_heads)
        return heads.reshape(*x.shape[:-2], num_heads * length, -1)

    own = np.kron(np.eye(num_heads), np.ones((length, length))) > 0
    if mask is not None:
        tiled = np.tile(mask, (num_heads, num_heads))
        own = own & tiled if mask.dtype == bool else np.where(own, tiled, -np.inf)
    output, _ = attention(*map(laid_out, (w_q, w_k, w_v)), own)
    return merge_textbook(output.reshape(*x.shape[:-2], num_heads, length, -1)) @ w_o


def heads_by_bilinear_forms(x, w_q, w_k, w_v, w_o, num_heads, mask=None):
    """Multiply the weights first: x (w_q w_kᵀ) xᵀ for the scores, w_v w_o for the output."""
    size = x.shape[-1] // num_heads
    output = 0
    for start in range(0, x.shape[-1], size):
        columns = slice(start, start + size)
        form, mixed = w_q[:, columns] @ w_k[:, columns].T, w_v[:, columns] @ w_o[columns]
        output = output + attention(x @ form, x, x @ mixed, mask, 1 / math.sqrt(size))[0]
    return output


def heads_item_by_item(x, w_q, w_k, w_v, w_o, num_heads, mask=None):
    if x.ndim == 2:
        return heads_one_by_one(x, w_q, w_k, w_v, w_o, num_heads, mask)
    masks = [mask] * len(x) if mask is None or mask.ndim < x.ndim else mask
    weights = w_q, w_k, w_v, w_o
    return np.array(
        [
            heads_item_by_item(item, *weights, num_heads, own)
            for item, own in zip(x, masks, strict=True)
        ]
    )


def groups_by_indicator_matrix(query, key, value, mask=None):
    """Hand the groups out with a matrix of ones and zeros."""
    heads, groups = query.shape[-3], key.shape[-3]
    belongs = np.kron(np.eye(groups, dtype=int), np.ones((heads // groups, 1), int))
    dtype = np.result_type(query, np.float32)
    key, value = (np.einsum("hg,...gsd->...hsd", belongs, x).astype(dtype) for x in (key, value))
    return np.asfortranarray(attention(query, key, value, mask)[0])


def groups_one_after_the_other(query, key, value, mask=None):
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


def rotary_by_reordered_halves(x, positions, base=10000.0):
    """Bring the pairs into the order of two halves, turn, and bring them back."""
    size = x.shape[-1]
    order = np.r_[0:size:2, 1:size:2]
    angles = np.outer(positions, base ** (-np.arange(0, size, 2) / size))
    cos, sin = np.tile(np.cos(angles), 2), np.tile(np.sin(angles), 2)
    halves = x[..., order]
    turned = np.concatenate([-halves[..., size // 2 :], halves[..., : size // 2]], axis=-1)
    result = halves * cos + turned * sin
    return result[..., np.argsort(order)].astype(np.result_type(x, np.float32))


def rotary_by_shears(x, positions, base=10000.0):
    """Turn by three shears, the angles first brought into reach of the tangent."""
    angles = np.outer(positions, np.exp(-np.log(base) * np.arange(0, x.shape[-1], 2) / x.shape[-1]))
    angles = np.angle(np.exp(1j * angles))
    first, second = x[..., 0::2].astype(float), x[..., 1::2].astype(float)
    first = first - np.tan(angles / 2) * second
    second = second + np.sin(angles) * first
    first = first - np.tan(angles / 2) * second
    pairs = np.stack([first, second], axis=-1)
    return pairs.reshape(x.shape).astype(np.result_type(x, np.float32))


def rotary_with_running_speeds(x, positions, base=10000.0):
    """Multiply the speeds up pair by pair, each a complex turn."""
    step = base ** (-2.0 / x.shape[-1])
    speeds = itertools.accumulate([1.0] + [step] * (x.shape[-1] // 2 - 1), operator.mul)
    pairs = x[..., 0::2] + 1j * x[..., 1::2]
    for pair, speed in enumerate(speeds):
        pairs[..., pair] *= np.exp(1j * positions * speed)
    pairs = np.stack([pairs.real, pairs.imag], axis=-1)
    return pairs.reshape(x.shape).astype(np.result_type(x, np.float32))


def step_by_padding(query, key, value, cache=None):
    def grown(old, new):
        result = np.pad(old, [(0, 0)] * (old.ndim - 2) + [(0, 1), (0, 0)])
        result[..., -1:, :] = new
        result.flags.writeable = False
        return result

    cache = cache or (key[..., :0, :], value[..., :0, :])
    keys, values = map(grown, cache, (key, value))
    return [attention(query, keys, values)[0], [keys, values]]


def step_item_by_item(query, key, value, cache=None):
    if query.ndim == 2:
        keys = key if cache is None else np.vstack([cache[0], key])
        values = value if cache is None else np.insert(cache[1], len(cache[1]), value, axis=0)
        return attention(query, keys, values)[0], (keys, values)
    caches = [None] * len(query) if cache is None else list(zip(*cache, strict=True))
    steps = [step_item_by_item(*item) for item in zip(query, key, value, caches, strict=True)]
    outputs, caches = zip(*steps, strict=True)
    return np.stack(outputs), tuple(map(np.stack, zip(*caches, strict=True)))


RIGHT = {
    "split_heads": [
        split_textbook,
        split_by_slices,
        split_by_np_split,
        split_by_loops,
        split_by_moveaxis,
        split_by_einsum,
        split_by_transposes,
        split_by_windows,
    ],
    "merge_heads": [
        merge_textbook,
        merge_by_concatenating,
        merge_by_hstack,
        merge_by_loops,
        merge_by_transposes,
        merge_by_recursion,
    ],
    "multi_head_attention": [
        heads_textbook,
        heads_one_by_one,
        heads_summed_through_w_o,
        heads_by_einsum,
        heads_in_float64,
        heads_from_one_big_product,
        heads_one_position_at_a_time,
        heads_as_one_long_sequence,
        heads_by_bilinear_forms,
        heads_item_by_item,
    ],
    "grouped_query_attention": [
        groups_by_repeat,
        groups_by_index,
        groups_by_the_library,
        groups_by_reshape,
        groups_head_by_head,
        groups_with_long_queries,
        groups_by_einsum,
        groups_by_indicator_matrix,
        groups_one_after_the_other,
    ],
    "rotary_embedding": [
        rotary_textbook,
        rotary_by_complex_numbers,
        rotary_by_matrices,
        rotary_by_turned_copy,
        rotary_in_float32,
        rotary_by_loops,
        rotary_in_polar_form,
        rotary_by_reordered_halves,
        rotary_by_shears,
        rotary_with_running_speeds,
    ],
    "decode_step": [
        step_textbook,
        step_in_lists,
        step_into_new_arrays,
        step_in_a_roomy_buffer,
        step_by_merging,
        step_by_softmax,
        step_as_the_last_row,
        step_by_padding,
        step_item_by_item,
    ],
}
