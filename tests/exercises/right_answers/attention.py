"""Right answers to the exercises of lesson 05, written in unlike ways."""

import math

import numpy as np

from attention_lib.lessons.scaling import dot_product_scores, scaled_scores
from attention_lib.lessons.softmax import weighted_sum
from attention_lib.lessons.stability import logsumexp, masked_softmax, merge_softmax_stats


def causal_by_comparison(length):
    return np.arange(length)[:, None] >= np.arange(length)


def causal_by_tril(length):
    return np.tril(np.ones((length, length), dtype=bool))


def causal_by_triu(length):
    return ~np.triu(np.ones((length, length), dtype=bool), k=1)


def causal_by_loops(length):
    return np.array([[j <= i for j in range(length)] for i in range(length)])


def causal_by_indices(length):
    mask = np.zeros((length, length), bool)
    mask[np.tril_indices(length)] = True
    return mask


def padding_by_comparison(lengths, max_length):
    return np.arange(max_length)[None, :] < lengths[:, None]


def padding_by_loops(lengths, max_length):
    mask = np.zeros((len(lengths), max_length), dtype=bool)
    for row, length in zip(mask, lengths, strict=True):
        row[:length] = True
    return mask


def padding_by_lists(lengths, max_length):
    return np.array([[True] * n + [False] * (max_length - n) for n in lengths.tolist()])


def padding_by_outer(lengths, max_length):
    return np.greater.outer(lengths, np.arange(max_length))


def attention_by_earlier_lessons(query, key, value, mask=None, scale=None):
    scores = scaled_scores(query, key, scale)
    if mask is None:
        mask = np.ones(scores.shape[-1], bool)
    if mask.dtype != bool:
        scores, mask = scores + mask, mask > -np.inf
    weights = masked_softmax(scores, mask)
    return weighted_sum(weights, value), weights


def attention_textbook(query, key, value, mask=None, scale=None):
    d_k = query.shape[-1]
    scores = np.matmul(query, key.swapaxes(-1, -2)) * (
        1 / math.sqrt(d_k) if scale is None else scale
    )
    if mask is not None:
        scores = np.where(mask, scores, -np.inf) if mask.dtype == bool else scores + mask
    top = scores.max(axis=-1, keepdims=True)
    exponentials = np.exp(scores - np.where(np.isneginf(top), 0, top))
    total = exponentials.sum(axis=-1, keepdims=True)
    weights = exponentials / np.where(total == 0, 1, total)
    return weights @ value, weights


def attention_as_a_list_by_einsum(query, key, value, mask=None, scale=None):
    if scale is None:
        scale = query.shape[-1] ** -0.5
    scores = np.einsum("...ld,...sd->...ls", query * scale, key)
    if mask is not None and mask.dtype == bool:
        mask = np.where(mask, 0.0, -np.inf).astype(scores.dtype)
    if mask is not None:
        scores = scores + mask
    empty = np.all(scores == -np.inf, axis=-1, keepdims=True)
    scores = np.where(empty, 0, scores).astype(scores.dtype)
    exponentials = np.exp(scores - np.amax(scores, axis=-1, keepdims=True))
    weights = exponentials / np.sum(exponentials, axis=-1, keepdims=True)
    weights = np.where(empty, 0, weights).astype(scores.dtype)
    return [np.einsum("...ls,...sv->...lv", weights, value), weights]


def attention_by_loops(query, key, value, mask=None, scale=None):
    dtype = np.result_type(query, np.float64) if query.dtype.kind == "i" else query.dtype
    *batch, length, d_k = query.shape
    weights = np.zeros((*batch, length, key.shape[-2]), dtype)
    output = np.zeros((*batch, length, value.shape[-1]), dtype)
    full = None if mask is None else np.broadcast_to(mask, weights.shape)
    factor = 1 / math.sqrt(d_k) if scale is None else scale
    for index in np.ndindex(*batch, length):
        rows = key[index[:-1]].tolist()
        scores = [
            factor * sum(map(float.__mul__, map(float, query[index]), map(float, row)))
            for row in rows
        ]
        for j in range(len(rows)):
            if full is not None and full.dtype == bool:
                scores[j] = scores[j] if full[(*index, j)] else -math.inf
            elif full is not None:
                scores[j] += float(full[(*index, j)])
        top = max(scores)
        if top == -math.inf:
            continue
        exponentials = [math.exp(score - top) for score in scores]
        total = math.fsum(exponentials)
        for j, exponential in enumerate(exponentials):
            weights[(*index, j)] = exponential / total
            for v in range(value.shape[-1]):
                output[(*index, v)] += exponential / total * value[(*index[:-1], j, v)]
    return output, weights


def attention_with_errstate(query, key, value, mask=None, scale=None):
    scale = 1 / math.sqrt(query.shape[-1]) if scale is None else scale
    scores = scale * (query @ key.mT)
    if mask is not None:
        scores = scores + mask if mask.dtype.kind == "f" else np.where(mask, scores, -np.inf)
    with np.errstate(all="ignore"):
        scores = scores - scores.max(axis=-1, keepdims=True)
        weights = np.exp(scores)
        weights /= weights.sum(axis=-1, keepdims=True)
    weights[np.isnan(weights)] = 0
    return weights @ value, weights


def attention_in_logarithms(query, key, value, mask=None, scale=None):
    scores = dot_product_scores(query, key)
    scores = scores / math.sqrt(query.shape[-1]) if scale is None else scores * scale
    if mask is not None:
        scores = np.where(mask, scores, -np.inf) if mask.dtype == bool else scores + mask
    log_total = logsumexp(scores, keepdims=True)
    weights = np.exp(scores - np.where(log_total == -np.inf, 0, log_total))
    return weights @ value, weights.astype(scores.dtype)


def attention_in_float64_item_by_item(query, key, value, mask=None, scale=None):
    dtype = query.dtype if query.dtype.kind == "f" else float
    batch = query.shape[:-2]
    full = None
    if mask is not None:
        full = np.broadcast_to(mask, (*batch, query.shape[-2], key.shape[-2]))
    outputs, tables = [], []
    for index in np.ndindex(batch):
        scores = query[index].astype(float) @ key[index].astype(float).T
        scores *= query.shape[-1] ** -0.5 if scale is None else scale
        if full is not None:
            if full.dtype == bool:
                scores[~full[index]] = -np.inf
            else:
                scores += full[index]
        weights = np.zeros_like(scores)
        for i, row in enumerate(scores):
            seen = row > -np.inf
            if seen.any():
                e = np.exp(row[seen] - row[seen].max())
                weights[i, seen] = e / e.sum()
        outputs.append(weights @ value[index])
        tables.append(weights)
    output = np.array(outputs).reshape(*batch, query.shape[-2], value.shape[-1])
    return output.astype(dtype), np.array(tables).reshape(*batch, *tables[0].shape).astype(dtype)


def self_with_own_attention(x, w_q, w_k, w_v, mask=None):
    output, _ = attention_textbook(x @ w_q, x @ w_k, x @ w_v, mask)
    return output


def self_by_einsum(x, w_q, w_k, w_v, mask=None):
    query, key, value = (np.einsum("...ld,dk->...lk", x, w) for w in (w_q, w_k, w_v))
    return attention_as_a_list_by_einsum(query, key, value, mask)[0]


def self_with_one_bilinear_form(x, w_q, w_k, w_v, mask=None):
    form = w_q @ w_k.T / math.sqrt(w_q.shape[1])
    return attention_textbook(x @ form, x, x @ w_v, mask, scale=1.0)[0]


def self_mixing_before_projecting(x, w_q, w_k, w_v, mask=None):
    mixed, _ = attention_by_earlier_lessons(x @ w_q, x @ w_k, x, mask)
    return mixed @ w_v


def self_from_stacked_projections(x, w_q, w_k, w_v, mask=None):
    d_k = w_q.shape[1]
    together = x @ np.concatenate([w_q, w_k, w_v], axis=1)
    query, key, value = np.split(together, [d_k, 2 * d_k], axis=-1)
    return attention_with_errstate(query, key, value, mask)[0]


def cross_with_own_attention(x, context, w_q, w_k, w_v, mask=None):
    return attention_textbook(x @ w_q, context @ w_k, context @ w_v, mask)[0]


def cross_by_loops(x, context, w_q, w_k, w_v, mask=None):
    return attention_by_loops(
        np.dot(x, w_q), np.dot(context, w_k), np.dot(context, w_v), mask=mask
    )[0]


def cross_by_earlier_lessons(x, context, w_q, w_k, w_v, mask=None):
    key, value = np.matmul(context, w_k), np.tensordot(context, w_v, axes=1)
    return attention_by_earlier_lessons(x @ w_q, key, value, mask, None)[0]


def causal_by_outer_difference(length):
    return np.asfortranarray(np.subtract.outer(np.arange(length), np.arange(length)) >= 0)


def padding_from_a_table(lengths, max_length):
    """Look each length up in a table of all masks there are."""
    return np.tri(max_length + 1, max_length, k=-1, dtype=bool)[lengths]


def masked_scores(query, key, mask, scale):
    scores = scaled_scores(query, key, scale)
    if mask is None:
        return scores
    return np.where(mask, scores, -np.inf) if mask.dtype == bool else scores + mask


def attention_with_the_keys_first(query, key, value, mask=None, scale=None):
    """Lay the keys along axis -2, and give the weights back as a view."""
    scores = np.moveaxis(masked_scores(query, key, mask, scale), -1, -2)
    top = np.nan_to_num(scores.max(axis=-2, keepdims=True), neginf=0.0)
    exponentials = np.exp(scores - top)
    total = exponentials.sum(axis=-2, keepdims=True)
    weights = np.divide(exponentials, total, out=np.zeros_like(exponentials), where=total != 0)
    return (value.mT @ weights).mT, weights.mT


def attention_by_merging_keys(query, key, value, mask=None, scale=None):
    """Join the keys one by one, each a row of its own: a score, and a total of 1 or 0."""
    scores = masked_scores(query, key, mask, scale)
    empty = np.full(scores.shape[:-1], -np.inf, scores.dtype)
    stats = empty, np.zeros_like(empty)
    for one in np.moveaxis(scores, -1, 0):
        stats = merge_softmax_stats(stats, (one, (one > -np.inf).astype(scores.dtype)))
    maximum, total = (part[..., None] for part in stats)
    weights = np.exp(scores - np.maximum(maximum, np.finfo(scores.dtype).min))
    weights = weights / np.where(total == 0, 1, total).astype(scores.dtype)
    return weights @ value, weights


def attention_by_differences(query, key, value, mask=None, scale=None):
    """Weigh a key by 1 / Σ exp(other score − its score): no maximum anywhere."""
    scores = masked_scores(query, key, mask, scale)
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        others = np.exp(scores[..., None, :] - scores[..., :, None])
        others = np.where(scores[..., None, :] == -np.inf, 0, others)
        weights = np.where(scores == -np.inf, 0, 1 / others.sum(axis=-1)).astype(scores.dtype)
    return weights @ value, weights


def attention_with_the_smallest_number(query, key, value, mask=None, scale=None):
    """Fill with the smallest number there is, and forbid once more after the exponential."""
    scores = masked_scores(query, key, mask, scale)
    allowed = scores > -np.inf
    scores = np.maximum(scores, np.finfo(scores.dtype).min)
    exponentials = np.exp(scores - scores.max(axis=-1, keepdims=True)) * allowed
    total = exponentials.sum(axis=-1, keepdims=True)
    return [exponentials @ value / (total + (total == 0)), exponentials / (total + (total == 0))]


def attention_stretching_the_query(query, key, value, mask=None, scale=None):
    """Scale the query in place, and put its numbers back."""
    if query.dtype.kind != "f":
        query = query.astype(float)
    saved = query.copy()
    query *= query.dtype.type(query.shape[-1] ** -0.5 if scale is None else scale)
    scores = masked_scores(query, key, mask, 1.0)
    query[...] = saved
    weights = masked_softmax(scores, scores > -np.inf)
    return weighted_sum(weights, value), weights


class Attention:
    """An answer that is an object, and whose results are read-only and laid out by columns."""

    def __call__(self, query, key, value, mask=None, scale=None):
        results = attention_textbook(query, key, value, mask, scale)
        results = [np.asfortranarray(result) for result in results]
        for result in results:
            result.flags.writeable = False
        return results


def self_in_longdouble(x, w_q, w_k, w_v, mask=None):
    dtype = np.result_type(x, np.float32)
    x, w_q, w_k, w_v = (array.astype(np.longdouble) for array in (x, w_q, w_k, w_v))
    scores = (x @ w_q) @ (x @ w_k).mT / np.sqrt(np.longdouble(w_q.shape[1]))
    if mask is not None:
        scores = np.where(mask, scores, -np.inf) if mask.dtype == bool else scores + mask
    maximum = np.maximum(scores.max(axis=-1, keepdims=True), np.finfo(scores.dtype).min)
    exponentials = np.exp(scores - maximum)
    total = exponentials.sum(axis=-1, keepdims=True)
    return (exponentials / np.where(total == 0, 1, total) @ (x @ w_v)).astype(dtype)


def cross_projecting_the_mixture(x, context, w_q, w_k, w_v, mask=None):
    """Ask the context itself, with keys folded into the query, and project what it answers."""
    query = np.tensordot(x, w_q, axes=1) @ w_k.T
    scale = 1 / math.sqrt(w_q.shape[1])
    return attention_textbook(query, context, context, mask, scale)[0] @ w_v


RIGHT = {
    "causal_mask": [
        causal_by_comparison,
        causal_by_tril,
        causal_by_triu,
        causal_by_loops,
        causal_by_indices,
        causal_by_outer_difference,
    ],
    "padding_mask": [
        padding_by_comparison,
        padding_by_loops,
        padding_by_lists,
        padding_by_outer,
        padding_from_a_table,
    ],
    "attention": [
        attention_by_earlier_lessons,
        attention_textbook,
        attention_as_a_list_by_einsum,
        attention_by_loops,
        attention_with_errstate,
        attention_in_logarithms,
        attention_in_float64_item_by_item,
        attention_with_the_keys_first,
        attention_by_merging_keys,
        attention_by_differences,
        attention_with_the_smallest_number,
        attention_stretching_the_query,
        Attention(),
    ],
    "self_attention": [
        self_with_own_attention,
        self_by_einsum,
        self_with_one_bilinear_form,
        self_mixing_before_projecting,
        self_from_stacked_projections,
        self_in_longdouble,
    ],
    "cross_attention": [
        cross_with_own_attention,
        cross_by_loops,
        cross_by_earlier_lessons,
        cross_projecting_the_mixture,
    ],
}
