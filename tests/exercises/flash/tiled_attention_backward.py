"""Right and wrong answers to `tiled_attention_backward`."""

import functools
import math

import numpy as np

import attention_lib
from attention_lib.lessons.gradients import softmax_vjp
from attention_lib.lessons.scaling import scaled_scores
from attention_lib.lessons.softmax import softmax, weighted_sum
from tests.exercises.flash.parts import floating


def right_by_hand(query, key, value, output, logsumexp, grad_output, block_size):
    dtype, scale = np.result_type(query, np.float32), 1 / math.sqrt(query.shape[-1])
    grad_query = np.zeros(query.shape, dtype)
    grad_key, grad_value = np.zeros(key.shape, dtype), np.zeros(value.shape, dtype)
    terms = (grad_output * output).sum(axis=-1, keepdims=True)
    for start in range(0, key.shape[-2], block_size):
        block = (..., slice(start, start + block_size), slice(None))
        weights = np.exp(query @ key[block].mT * scale - logsumexp[..., None])
        grad_scores = weights * (grad_output @ value[block].mT - terms) * scale
        grad_query += grad_scores @ key[block]
        grad_key[block] = grad_scores.mT @ query
        grad_value[block] = weights.mT @ grad_output
    return grad_query, grad_key, grad_value


def right_into_lists(query, key, value, output, logsumexp, grad_output, block_size):
    """Collect each block's gradients of keys and values, which belong to it alone."""
    query, key, value = floating(query), floating(key), floating(value)
    terms = np.einsum("...ic,...ic->...i", grad_output, output)[..., None]
    root, pulls, keys, values = math.sqrt(query.shape[-1]), 0.0, [], []
    places = range(block_size, key.shape[-2], block_size)
    for k, v in zip(np.split(key, places, axis=-2), np.split(value, places, axis=-2), strict=True):
        weights = np.exp(scaled_scores(query, k) - logsumexp[..., None])
        grad_scores = weights * (np.einsum("...ic,...jc->...ij", grad_output, v) - terms)
        pulls = pulls + weighted_sum(grad_scores, k) / root
        keys.append(np.einsum("...ij,...id->...jd", grad_scores, query) / root)
        values.append(np.swapaxes(weights, -1, -2) @ grad_output)
    return [pulls, np.concatenate(keys, axis=-2), np.concatenate(values, axis=-2)]


def right_in_tiles_of_queries_too(query, key, value, output, logsumexp, grad_output, block_size):
    """The keys outside, the queries inside, in blocks of 16."""
    query, key, value = floating(query), floating(key), floating(value)
    grads = [np.zeros_like(array) for array in (query, key, value)]
    scale = float(query.shape[-1] ** -0.5)
    for start in range(0, key.shape[-2], block_size):
        keys = (..., slice(start, start + block_size), slice(None))
        for first in range(0, query.shape[-2], 16):
            rows = (..., slice(first, first + 16), slice(None))
            scores = scale * (query[rows] @ key[keys].mT)
            weights = np.exp(scores - logsumexp[..., first : first + 16, None])
            terms = np.sum(grad_output[rows] * output[rows], axis=-1, keepdims=True)
            grad_scores = scale * weights * (grad_output[rows] @ value[keys].mT - terms)
            grads[0][rows] += grad_scores @ key[keys]
            grads[1][keys] += grad_scores.mT @ query[rows]
            grads[2][keys] += weights.mT @ grad_output[rows]
    return tuple(grads)


def right_in_longdouble(*arguments, **named):
    *arrays, block_size = (*arguments, *named.values())
    dtype = np.result_type(arrays[0], np.float32)
    wide = [np.asarray(array, np.longdouble) for array in arrays]
    return tuple(gradient.astype(dtype) for gradient in right_by_hand(*wide, block_size))


def right_from_the_last_block(query, key, value, output, logsumexp, grad_output, block_size):
    """The log-sum-exp as one more component of queries and keys, D as one more of the values."""
    query, key, value = floating(query), floating(key), floating(value)
    root = float(query.shape[-1] ** 0.5)
    terms = -(grad_output * output).sum(axis=-1, keepdims=True)
    rows = np.concatenate([query / root, -logsumexp[..., None]], axis=-1)
    pulls = np.concatenate([grad_output, terms], axis=-1)
    grad_query, parts = np.zeros_like(query), []
    for start in reversed(range(0, key.shape[-2], block_size)):
        keys, values = (a[..., start : start + block_size, :] for a in (key, value))
        one = np.ones_like(keys[..., :1])
        weights = np.exp(rows @ np.concatenate([keys, one], axis=-1).mT)
        grad_scores = weights * (pulls @ np.concatenate([values, one], axis=-1).mT)
        grad_query += grad_scores @ (keys / root)
        parts.insert(0, (grad_scores.mT @ query / root, weights.mT @ grad_output))
    return grad_query, *(np.concatenate(part, axis=-2) for part in zip(*parts, strict=True))


def backward(size=lambda block_size, keys: block_size, through=None, weigh=None, change=None):
    """Make the backward loop with some of its steps exchanged."""

    def answer(query, key, value, output, logsumexp, grad_output, block_size):
        query, key, value = floating(query), floating(key), floating(value)
        scale, width = float(query.shape[-1] ** -0.5), size(block_size, key.shape[-2])
        terms = (grad_output * output).sum(axis=-1, keepdims=True)
        grads = [np.zeros_like(array) for array in (query, key, value)]
        for start in range(0, key.shape[-2], width):
            block = (..., slice(start, start + width), slice(None))
            scores = query @ key[block].mT * scale
            weights = weigh(scores, logsumexp) if weigh else np.exp(scores - logsumexp[..., None])
            grad_weights = grad_output @ value[block].mT
            grad_scores = scale * (
                through(weights, grad_weights) if through else weights * (grad_weights - terms)
            )
            grads[0] += grad_scores @ key[block]
            grads[1][block] = grad_scores.mT @ query
            grads[2][block] = weights.mT @ grad_output
        return change(grads) if change else tuple(grads)

    return answer


def wrong_whole_matrix(query, key, value, output, logsumexp, grad_output, block_size):
    weights = softmax(scaled_scores(floating(query), floating(key)))
    scale = float(query.shape[-1] ** -0.5)
    grad_scores = scale * softmax_vjp(weights, grad_output @ floating(value).mT)
    return grad_scores @ key, grad_scores.mT @ query, weights.mT @ grad_output


def row_sums_first(query, key, value, output, logsumexp, grad_output, block_size):
    """Form all weights once for D, and again for the gradients."""
    rows = 0.0
    for start in range(0, key.shape[-2], block_size):
        block = (..., slice(start, start + block_size), slice(None))
        weights = np.exp(scaled_scores(query, key[block]) - logsumexp[..., None])
        rows = rows + (weights * (grad_output @ value[block].mT)).sum(axis=-1)
    # D is the sum over grad_output * output: an output of D in its first component gives it back.
    output, ones = np.zeros(output.shape, rows.dtype), np.ones_like(rows)
    output[..., 0] = rows / np.where(grad_output[..., 0] == 0, ones, grad_output[..., 0])
    return right_by_hand(query, key, value, output, logsumexp, grad_output, block_size)


def wrong_weights_kept(query, key, value, output, logsumexp, grad_output, block_size):
    starts = range(0, key.shape[-2], block_size)
    blocks = [(..., slice(start, start + block_size), slice(None)) for start in starts]
    weights = [
        np.exp(scaled_scores(floating(query), floating(key[b])) - logsumexp[..., None])
        for b in blocks
    ]
    scale = float(query.shape[-1] ** -0.5)
    terms = (grad_output * output).sum(axis=-1, keepdims=True)
    pulls = [
        scale * p * (grad_output @ value[b].mT - terms)
        for p, b in zip(weights, blocks, strict=True)
    ]
    return (
        sum(pull @ key[b] for pull, b in zip(pulls, blocks, strict=True)),
        np.concatenate([pull.mT @ query for pull in pulls], axis=-2),
        np.concatenate([p.mT @ grad_output for p in weights], axis=-2),
    )


def first_batch_item_for_all(grads):
    return tuple(g if g.ndim < 3 else np.broadcast_to(g[:1], g.shape) for g in grads)


def wrong_doubles_grad_output(query, key, value, output, logsumexp, grad_output, block_size):
    result = right_by_hand(query, key, value, output, logsumexp, grad_output, block_size)
    grad_output *= 2
    return result


WRONG = {
    "all weights formed for D": row_sums_first,
    "blocks of 64": backward(size=lambda block_size, keys: 64),
    "as many blocks": backward(size=lambda block_size, keys: -(-keys // block_size)),
    "eight blocks at a time": backward(size=lambda block_size, keys: 8 * block_size),
    "weights cut at 1e-9": backward(
        weigh=lambda scores, lse: np.exp(np.maximum(scores - lse[..., None], -20))
    ),
    "the first batch item for all": backward(change=first_batch_item_for_all),
    "negative": backward(change=lambda grads: tuple(-g for g in grads)),
    "rounded": backward(change=lambda grads: tuple(g.round(10) for g in grads)),
    "a generator": backward(change=iter),
    "the library's": functools.partial(attention_lib.tiled_attention_backward),
}
