"""What right and wrong answers to the tiled exercises are made from."""

import numpy as np

from attention_lib.checks.judging import judge
from attention_lib.exercises import find
from attention_lib.lessons.scaling import scaled_scores


def floating(array):
    return array.astype(np.result_type(array.dtype, np.float32), copy=False)


def stats_of(block):
    maximum = block.max(axis=-1)
    return maximum, np.exp(block - maximum[..., None]).sum(axis=-1)


def scored(query, key, scale=None):
    return scaled_scores(floating(query), floating(key), scale)


def whole_matrix(query, key, value, mask=None):
    """Compute attention with all scores at a time."""
    scores = scored(query, key)
    if mask is not None:
        scores = np.where(mask, scores, -np.inf)
    exponentials = np.exp(scores - scores.max(axis=-1, keepdims=True))
    return exponentials / exponentials.sum(axis=-1, keepdims=True) @ value


def nothing_yet(query, value, first=-np.inf):
    """Return the maximum, total and output before the first block."""
    dtype = floating(query).dtype
    rows = (*query.shape[:-1], 1)
    output = np.zeros((*query.shape[:-1], value.shape[-1]), dtype)
    return np.full(rows, first, dtype), np.zeros(rows, dtype), output


def with_block(state, scores, value):
    """Add one block to the maximum, total and output so far."""
    maximum, total, output = state
    new = np.maximum(maximum, scores.max(axis=-1, keepdims=True))
    shrink, exponentials = np.exp(maximum - new), np.exp(scores - new)
    total = total * shrink + exponentials.sum(axis=-1, keepdims=True)
    return new, total, output * shrink + exponentials @ value


def sentence_of(name, answer):
    """Return what the check of exercise `name` says of a wrong answer."""
    report = judge(find(name), answer, seed=0)
    assert report.outcome == "wrong"
    return report.sentence
