"""Right and wrong answers to `online_softmax_stats`."""

import functools
import itertools

import numpy as np

from attention_lib.lessons.stability import merge_softmax_stats
from tests.exercises.flash.parts import floating, stats_of


def right_stats_by_merging(blocks):
    """Join the pairs with the function of lesson 02."""
    return functools.reduce(merge_softmax_stats, map(stats_of, map(floating, blocks)))


def right_two_blocks_at_a_time(blocks):
    blocks, stats = iter(blocks), None
    while pair := list(itertools.islice(blocks, 2)):
        new = stats_of(floating(np.concatenate(pair, axis=-1)))
        stats = new if stats is None else merge_softmax_stats(stats, new)
    return stats


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


WRONG = {
    "starting at -1": functools.partial(stats, first=-1.0),
    "a generator": lambda blocks: (part for part in stats(blocks)),
    "always float64": lambda blocks: stats(block.astype(float) for block in blocks),
    "whole numbers": lambda blocks: tuple(map(np.rint, stats(blocks))),
}
