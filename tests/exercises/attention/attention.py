"""Right and wrong answers to `attention`."""

import functools
import math

import numpy as np

import attention_lib
from attention_lib.lessons.scaling import scaled_scores
from attention_lib.lessons.softmax import weighted_sum
from attention_lib.lessons.stability import masked_softmax, merge_softmax_stats
from tests.exercises.parts import as_float, attend, softmax_or_zeros, with_mask, with_weights


def right_by_earlier_lessons(query, key, value, mask=None, scale=None):
    scores = scaled_scores(query, key, scale)
    if mask is None:
        mask = np.ones(scores.shape[-1], bool)
    if mask.dtype != bool:
        scores, mask = (scores + mask).astype(scores.dtype), mask > -np.inf
    weights = masked_softmax(scores, mask)
    return weighted_sum(weights, value), weights


def right_textbook(query, key, value, mask=None, scale=None):
    d_k = query.shape[-1]
    scores = np.matmul(query, key.swapaxes(-1, -2)) * (
        1 / math.sqrt(d_k) if scale is None else scale
    )
    if mask is not None and mask.dtype == bool:
        scores = np.where(mask, scores, -np.inf)
    elif mask is not None:
        scores = np.add(scores, mask, dtype=scores.dtype)
    top = scores.max(axis=-1, keepdims=True)
    exponentials = np.exp(scores - np.where(np.isneginf(top), 0, top))
    total = exponentials.sum(axis=-1, keepdims=True)
    weights = exponentials / np.where(total == 0, 1, total)
    return weights @ value, weights


def right_as_a_list_by_einsum(query, key, value, mask=None, scale=None):
    if scale is None:
        scale = query.shape[-1] ** -0.5
    scores = np.einsum("...ld,...sd->...ls", query * scale, key)
    if mask is not None and mask.dtype == bool:
        mask = np.where(mask, 0.0, -np.inf)
    if mask is not None:
        scores = scores + np.asarray(mask, scores.dtype)
    empty = np.all(scores == -np.inf, axis=-1, keepdims=True)
    scores = np.where(empty, 0, scores).astype(scores.dtype)
    exponentials = np.exp(scores - np.amax(scores, axis=-1, keepdims=True))
    weights = exponentials / np.sum(exponentials, axis=-1, keepdims=True)
    weights = np.where(empty, 0, weights).astype(scores.dtype)
    return [np.einsum("...ls,...sv->...lv", weights, value), weights]


def right_by_loops(query, key, value, mask=None, scale=None):
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


def right_with_errstate(query, key, value, mask=None, scale=None):
    scale = 1 / math.sqrt(query.shape[-1]) if scale is None else scale
    scores = scale * (query @ key.mT)
    if mask is not None and mask.dtype.kind == "f":
        scores += mask
    elif mask is not None:
        scores[~np.broadcast_to(mask, scores.shape)] = -np.inf
    with np.errstate(all="ignore"):
        scores = scores - scores.max(axis=-1, keepdims=True)
        weights = np.exp(scores)
        weights /= weights.sum(axis=-1, keepdims=True)
    weights[np.isnan(weights)] = 0
    return weights @ value, weights


def masked_scores(query, key, mask, scale):
    scores = scaled_scores(query, key, scale)
    if mask is None:
        return scores
    if mask.dtype == bool:
        return np.where(mask, scores, -np.inf)
    return scores + mask.astype(scores.dtype)


def right_with_the_keys_first(query, key, value, mask=None, scale=None):
    """Lay the keys along axis -2, and give the weights back as a view."""
    scores = np.moveaxis(masked_scores(query, key, mask, scale), -1, -2)
    top = np.nan_to_num(scores.max(axis=-2, keepdims=True), neginf=0.0)
    exponentials = np.exp(scores - top)
    total = exponentials.sum(axis=-2, keepdims=True)
    weights = np.divide(exponentials, total, out=np.zeros_like(exponentials), where=total != 0)
    return (value.mT @ weights).mT, weights.mT


def right_by_merging_keys(query, key, value, mask=None, scale=None):
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


def right_by_differences(query, key, value, mask=None, scale=None):
    """Weigh a key by 1 / Σ exp(other score − its score): no maximum anywhere."""
    scores = masked_scores(query, key, mask, scale)
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        others = np.exp(scores[..., None, :] - scores[..., :, None])
        others = np.where(scores[..., None, :] == -np.inf, 0, others)
        weights = np.where(scores == -np.inf, 0, 1 / others.sum(axis=-1)).astype(scores.dtype)
    return weights @ value, weights


def right_with_the_smallest_number(query, key, value, mask=None, scale=None):
    """Fill with the smallest number there is, and forbid once more after the exponential."""
    scores = masked_scores(query, key, mask, scale)
    allowed = scores > -np.inf
    scores = np.maximum(scores, np.finfo(scores.dtype).min)
    exponentials = np.exp(scores - scores.max(axis=-1, keepdims=True)) * allowed
    total = exponentials.sum(axis=-1, keepdims=True)
    return [exponentials @ value / (total + (total == 0)), exponentials / (total + (total == 0))]


def right_stretching_the_query(query, key, value, mask=None, scale=None):
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
        results = right_textbook(query, key, value, mask, scale)
        results = [np.asfortranarray(result) for result in results]
        for result in results:
            result.flags.writeable = False
        return results


RIGHT = {"an object": Attention()}


def mask_taken_for_padding(mask, query):
    padding = mask.ndim == 2 < query.ndim and len(mask) == len(query)
    return mask[:, None, :] if padding else mask


def mask_transposed_where_square(mask, query):
    square = mask.ndim > 1 and mask.shape[-1] == mask.shape[-2]
    return mask.mT if square else mask


def wrong_sizeless_scale(query, key, value, mask=None, scale=None):
    return attend(query, key, value, mask, scale and abs(scale))


def clipped_exponents(scores):
    exponentials = np.where(scores == -np.inf, 0, np.exp(np.minimum(scores, 80)))
    total = exponentials.sum(axis=-1, keepdims=True)
    return (exponentials / np.where(total == 0, 1, total)).astype(scores.dtype)


def all_zeros_where_one_row_is_empty(scores):
    return softmax_or_zeros(scores) * (scores > -np.inf).any(axis=-1).all()


def wrong_even_where_floats_empty_a_row(query, key, value, mask=None, scale=None):
    weights = attend(query, key, value, mask, scale)[1]
    if mask is not None and mask.dtype != bool:
        empty = weights.sum(axis=-1, keepdims=True) == 0
        weights = np.where(empty, 1 / weights.shape[-1], weights).astype(weights.dtype)
    return weights @ as_float(value), weights


def wrong_values_for_keys_where_they_fit(query, key, value, mask=None, scale=None):
    key = value if value.shape[-1] == key.shape[-1] else key
    return attend(query, key, value, mask, scale)


def wrong_query_scaled_in_its_own_dtype(query, key, value, mask=None, scale=None):
    scale = 1 / math.sqrt(query.shape[-1]) if scale is None else scale
    return attend((query * scale).astype(query.dtype), key, value, mask, 1.0)


def wrong_everything_in_float32(query, key, value, mask=None, scale=None):
    dtype = as_float(query).dtype
    results = attend(*(x.astype(np.float32) for x in (query, key, value)), mask, scale)
    return [result.astype(dtype) for result in results]


def wrong_query_changed(query, key, value, mask=None, scale=None):
    results = attend(query, key, value, mask, scale)
    query *= 2
    return results


class OnlyOnce:
    """Right every other time it is called."""

    calls = 0

    def __call__(self, *args, **kwargs):
        self.calls += 1
        output, weights = attend(*args, **kwargs)
        return output * (self.calls % 2), weights


WRONG = {
    "a mask as high as the batch taken for padding": with_mask(mask_taken_for_padding),
    "a square mask transposed": with_mask(mask_transposed_where_square),
    "the first item's mask for all": with_mask(lambda mask, query: mask[(0,) * (mask.ndim - 2)]),
    "float masks no lower than -10,000": with_mask(
        lambda mask, query: mask if mask.dtype == bool else mask.clip(-1e4)
    ),
    "float masks by their sign": with_mask(
        lambda mask, query: mask if mask.dtype == bool else np.sign(mask)
    ),
    "exponents clipped": with_weights(clipped_exponents),
    "no mask where no key is allowed at all": with_mask(
        lambda mask, query: mask if mask.any() else None
    ),
    "an empty row empties all": with_weights(all_zeros_where_one_row_is_empty),
    "small weights dropped": with_weights(
        lambda s: np.where(softmax_or_zeros(s) < 1e-3, 0, softmax_or_zeros(s))
    ),
    "right every other time": OnlyOnce(),
    "the library's": functools.partial(attention_lib.attention),
    "the library's cross_attention": lambda q, k, v, mask=None, scale=None: (
        attention_lib.cross_attention(q, k, *[np.eye(q.shape[-1])] * 3, mask),
        attend(q, k, v, mask, scale)[1],
    ),
}
