"""Right and wrong answers to `online_softmax_stats`."""

import functools
import itertools
import math

import numpy as np

import attention_lib
from attention_lib.lessons.stability import logsumexp, merge_softmax_stats
from tests.exercises.flash.parts import floating, stats_of


def right_stats_by_merging(blocks):
    """Join the pairs with the function of lesson 02."""
    return functools.reduce(merge_softmax_stats, map(stats_of, map(floating, blocks)))


def right_by_hand(blocks):
    maximum = total = None
    for block in blocks:
        if maximum is None:
            maximum = np.full(block.shape[:-1], -np.inf, np.result_type(block, np.float32))
            total = np.zeros_like(maximum)
        new = np.maximum(maximum, block.max(axis=-1))
        total = total * np.exp(maximum - new) + np.exp(block - new[..., np.newaxis]).sum(axis=-1)
        maximum = new
    return maximum, total


def right_score_by_score(blocks):
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


def right_in_pure_python(blocks):
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


def right_in_logarithms(blocks):
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


def right_two_blocks_at_a_time(blocks):
    blocks, stats = iter(blocks), None
    while pair := list(itertools.islice(blocks, 2)):
        new = stats_of(floating(np.concatenate(pair, axis=-1)))
        stats = new if stats is None else merge_softmax_stats(stats, new)
    return stats


def right_with_a_column_for_the_past(blocks):
    """Put the log-sum-exp so far in front of each block, as one more score."""
    maximum, past = None, None
    for block in blocks:
        dtype = np.result_type(block, np.float32)
        peak = block.max(axis=-1)
        maximum = peak if past is None else np.maximum(maximum, peak)
        row = block if past is None else np.concatenate([past[..., None], block], axis=-1)
        past = logsumexp(row.astype(float))
    return np.asarray(maximum, dtype), np.exp(past - maximum).astype(dtype)


def stats(blocks, first=-np.inf):
    maximum, total = first, 0.0
    for block in map(floating, blocks):
        new = np.maximum(maximum, block.max(axis=-1)).astype(block.dtype)
        total = total * np.exp(maximum - new) + np.exp(block - new[..., None]).sum(axis=-1)
        maximum, total = new, total.astype(block.dtype)
    return maximum, total


def wrong_keeping_what_it_saw(blocks):
    seen = []
    return stats(seen.append(block) or block for block in blocks)


def wrong_read_twice_through_tee(blocks):
    first, second = itertools.tee(blocks)
    maximum = functools.reduce(np.maximum, (block.max(axis=-1) for block in first))
    return maximum, sum(np.exp(block - maximum[..., None]).sum(axis=-1) for block in second)


def wrong_no_maximum_in_the_total(blocks):
    maximum, total = -np.inf, 0.0
    with np.errstate(all="ignore"):
        for block in blocks:
            maximum = np.maximum(maximum, block.max(axis=-1))
            total = total + np.exp(block).sum(axis=-1)
        return maximum, total * np.exp(-maximum)


def wrong_rescaled_once_at_most(blocks):
    """Take the larger maximum of the first two blocks for that of all."""
    blocks = list(blocks)
    maximum = functools.reduce(np.maximum, (block.max(axis=-1) for block in blocks[:2]))
    with np.errstate(over="ignore"):
        return maximum, sum(np.exp(block - maximum[..., None]).sum(axis=-1) for block in blocks)


WRONG = {
    "starting at -1": functools.partial(stats, first=-1.0),
    "starting at -1e5": functools.partial(stats, first=-1e5),
    "starting at -1e60": functools.partial(stats, first=-1e60),
    "a generator": lambda blocks: (part for part in stats(blocks)),
    "always float64": lambda blocks: stats(block.astype(float) for block in blocks),
    "whole numbers": lambda blocks: tuple(map(np.rint, stats(blocks))),
    "the library's": lambda blocks: attention_lib.online_softmax_stats(iter(blocks)),
}
