"""Wrong answers to the exercises of lesson 05 that come close to right ones."""

import functools
import math

import numpy as np

import attention_lib


def as_float(array):
    return array if array.dtype.kind == "f" else array.astype(float)


def softmax(scores, axis=-1):
    top = np.maximum(scores.max(axis=axis, keepdims=True), np.finfo(scores.dtype).min)
    exponentials = np.exp(scores - top)
    total = exponentials.sum(axis=axis, keepdims=True)
    return exponentials / np.where(total == 0, 1, total).astype(scores.dtype)


def attend(query, key, value, mask=None, scale=None, weigh=softmax):
    query, key, value = map(as_float, (query, key, value))
    scores = query @ key.mT * (1 / math.sqrt(query.shape[-1]) if scale is None else scale)
    scores = scores.astype(query.dtype)
    if mask is not None:
        scores = np.where(mask, scores, -np.inf) if mask.dtype == bool else scores + mask
    weights = weigh(scores)
    return weights @ value, weights


def with_mask(change):
    """Attend with a mask that was changed first; `change` gets the mask and the query."""

    def answer(query, key, value, mask=None, scale=None):
        return attend(query, key, value, mask if mask is None else change(mask, query), scale)

    return answer


def with_weights(weigh):
    return functools.partial(attend, weigh=weigh)


def mask_taken_for_padding(mask, query):
    padding = mask.ndim == 2 < query.ndim and len(mask) == len(query)
    return mask[:, None, :] if padding else mask


def mask_transposed_where_square(mask, query):
    square = mask.ndim > 1 and mask.shape[-1] == mask.shape[-2]
    return mask.mT if square else mask


def sizeless_scale(query, key, value, mask=None, scale=None):
    return attend(query, key, value, mask, scale and abs(scale))


def clipped_exponents(scores):
    exponentials = np.where(scores == -np.inf, 0, np.exp(np.minimum(scores, 80)))
    total = exponentials.sum(axis=-1, keepdims=True)
    return (exponentials / np.where(total == 0, 1, total)).astype(scores.dtype)


def all_zeros_where_one_row_is_empty(scores):
    return softmax(scores) * (scores > -np.inf).any(axis=-1).all()


def even_where_floats_empty_a_row(query, key, value, mask=None, scale=None):
    weights = attend(query, key, value, mask, scale)[1]
    if mask is not None and mask.dtype != bool:
        empty = weights.sum(axis=-1, keepdims=True) == 0
        weights = np.where(empty, 1 / weights.shape[-1], weights).astype(weights.dtype)
    return weights @ as_float(value), weights


def values_for_keys_where_they_fit(query, key, value, mask=None, scale=None):
    key = value if value.shape[-1] == key.shape[-1] else key
    return attend(query, key, value, mask, scale)


def query_scaled_in_its_own_dtype(query, key, value, mask=None, scale=None):
    scale = 1 / math.sqrt(query.shape[-1]) if scale is None else scale
    return attend((query * scale).astype(query.dtype), key, value, mask, 1.0)


def everything_in_float32(query, key, value, mask=None, scale=None):
    dtype = as_float(query).dtype
    results = attend(*(x.astype(np.float32) for x in (query, key, value)), mask, scale)
    return [result.astype(dtype) for result in results]


def weights_left_in_float64(query, key, value, mask=None, scale=None):
    output, weights = attend(query, key, value, mask, scale)
    return output, weights.astype(float)


def query_changed(query, key, value, mask=None, scale=None):
    results = attend(query, key, value, mask, scale)
    query *= 2
    return results


def quiet_nan(query, key, value, mask=None, scale=None):
    with np.errstate(all="ignore"):
        return attend(
            query, key, value, mask, scale, lambda s: softmax(s) / softmax(s).sum(-1)[..., None]
        )


class OnlyOnce:
    """Right every other time it is called."""

    calls = 0

    def __call__(self, *args, **kwargs):
        self.calls += 1
        output, weights = attend(*args, **kwargs)
        return output * (self.calls % 2), weights


def projected(attention):
    """Make self-attention of a wrong attention."""

    def answer(x, w_q, w_k, w_v, mask=None):
        x = as_float(x)
        return attention(x @ w_q, x @ w_k, x @ w_v, mask)[0]

    return answer


def crossed(attention):
    """Make cross-attention of a wrong attention."""

    def answer(x, context, w_q, w_k, w_v, mask=None):
        return attention(x @ w_q, context @ w_k, context @ w_v, mask)[0]

    return answer


def overflowing(scores):
    with np.errstate(all="ignore"):
        exponentials = np.exp(scores)
        return exponentials / np.maximum(exponentials.sum(axis=-1, keepdims=True), 1e-300)


def inverted(mask, query):
    return ~mask if mask.dtype == bool else mask


def by(scale):
    return lambda query, key, value, mask: attend(query, key, value, mask, scale(query, key, value))


def both_sequences(x, context, w_q, w_k, w_v, mask=None):
    everything = np.concatenate([x, context], axis=-2)
    if mask is not None:
        mask = np.concatenate([np.ones((*mask.shape[:-1], x.shape[-2]), bool), mask != 0], axis=-1)
    return attend(x @ w_q, everything @ w_k, everything @ w_v, mask)[0]


WRONG = {
    "causal_mask": {
        "upside down": lambda length: np.tri(length, dtype=bool)[::-1],
        "the last four keys alone": lambda length: (
            np.tri(length, dtype=bool) & ~np.tri(length, k=-4, dtype=bool)
        ),
        "with an axis for the batch": lambda length: np.tri(length, dtype=bool)[None],
        "always of one size": lambda length: np.tri(5, dtype=bool),
        "ones and zeros": lambda length: np.tri(length, dtype=int),
        "lists": lambda length: np.tri(length, dtype=bool).tolist(),
        "the library's": lambda length: functools.partial(attention_lib.causal_mask, length)(),
    },
    "padding_mask": {
        "lengths in order": lambda lengths, width: np.arange(width) < np.sort(lengths)[:, None],
        "never empty": lambda lengths, width: np.arange(width) < np.maximum(lengths, 1)[:, None],
        "no padding": lambda lengths, width: np.ones((len(lengths), width), bool),
        "pairs of tokens": lambda lengths, width: (
            (np.arange(width) < lengths[:, None])[:, None]
            & (np.arange(width) < lengths[:, None])[..., None]
        ),
        "ones and zeros": lambda lengths, width: np.sign(
            np.maximum(lengths[:, None] - np.arange(width), 0)
        ),
        "the longest for all": lambda lengths, width: (
            np.arange(width) < np.full((len(lengths), 1), lengths.max())
        ),
        "the library's": lambda *args: vars(attention_lib)["padding_mask"](*args),
    },
    "attention": {
        "a scale without its sign": sizeless_scale,
        "a mask as high as the batch taken for padding": with_mask(mask_taken_for_padding),
        "a square mask transposed": with_mask(mask_transposed_where_square),
        "the first item's mask for all": with_mask(
            lambda mask, query: mask[(0,) * (mask.ndim - 2)]
        ),
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
        "NaN without a warning": quiet_nan,
        "small weights dropped": with_weights(lambda s: np.where(softmax(s) < 1e-3, 0, softmax(s))),
        "equal weights where floats empty a row": even_where_floats_empty_a_row,
        "values for keys": values_for_keys_where_they_fit,
        "a scaled query cut to whole numbers": query_scaled_in_its_own_dtype,
        "everything in float32": everything_in_float32,
        "weights left in float64": weights_left_in_float64,
        "a changed query": query_changed,
        "right every other time": OnlyOnce(),
        "the library's": functools.partial(attention_lib.attention),
        "the library's cross_attention": lambda q, k, v, mask=None, scale=None: (
            attention_lib.cross_attention(q, k, *[np.eye(q.shape[-1])] * 3, mask),
            attend(q, k, v, mask, scale)[1],
        ),
    },
    "self_attention": {
        "divided by √L": projected(by(lambda q, k, v: q.shape[-2] ** -0.5)),
        "divided by d_k": projected(by(lambda q, k, v: 1 / q.shape[-1])),
        "the mask inverted": projected(with_mask(inverted)),
        "exp overflows": projected(with_weights(overflowing)),
        "the first item's mask for all": projected(
            with_mask(lambda mask, query: mask[(0,) * (mask.ndim - 2)])
        ),
        "float masks ignored": projected(
            with_mask(lambda mask, query: mask if mask.dtype == bool else np.ones(1, bool))
        ),
        "even weights": projected(with_weights(lambda s: np.full_like(s, 1 / s.shape[-1]))),
        "the library's cross_attention": lambda x, *others: attention_lib.cross_attention(
            x, x, *others
        ),
    },
    "cross_attention": {
        "keys of both sequences": both_sequences,
        "softmax over the queries": crossed(with_weights(lambda s: softmax(s, -2))),
        "not scaled": crossed(by(lambda q, k, v: 1.0)),
        "divided by √S": crossed(by(lambda q, k, v: k.shape[-2] ** -0.5)),
        "the mask inverted": crossed(with_mask(inverted)),
        "exp overflows": crossed(with_weights(overflowing)),
        "equal weights in an empty row": crossed(
            with_weights(lambda s: np.where((s == -np.inf).all(-1)[..., None], 0.25, softmax(s)))
        ),
        "the library's attention": crossed(attention_lib.attention),
    },
}
