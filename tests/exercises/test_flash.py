"""What lesson 07's checks measure: what is read once, what is held, which blocks are computed."""

import copy
import itertools
import math

import numpy as np
import pytest

from attention_lib.checks.calls.case import Stream
from attention_lib.checks.judging import judge
from attention_lib.exercises import find, flash
from attention_lib.lessons.attention import attention
from tests.exercises.right_answers.flash import causal_by_hand, stats_by_merging, tiled_by_hand


def sentence_of(name, answer):
    report = judge(find(name), answer, seed=0)
    assert report.outcome == "wrong"
    return report.sentence


# An argument that can be read once


def test_a_stream_ends_for_good_and_its_copies_start_anew():
    stream = Stream([np.ones(2), np.zeros(3)])
    first = copy.deepcopy(stream)
    assert [len(item) for item in first] == [2, 3]
    assert list(first) == []
    assert [len(item) for item in copy.deepcopy(first)] == [2, 3]
    assert not stream.read_again
    assert first.read_again


def test_looking_twice_is_told_even_where_it_ends_in_an_error():
    def stacked(blocks):
        maximum = np.max([block.max(axis=-1) for block in blocks], axis=0)
        parts = [np.exp(block - maximum[..., None]).sum(axis=-1) for block in blocks]
        return maximum, np.stack(parts).sum(axis=0)

    assert "reads its input a second time" in sentence_of("online_softmax_stats", stacked)


def test_blocks_taken_by_their_number_are_told_to_come_one_by_one():
    def by_number(blocks):
        return stats_by_merging(blocks[i] for i in range(len(blocks)))

    report = judge(find("online_softmax_stats"), by_number, seed=0)
    assert "one by one, in a for loop" in report.sentence


def test_looking_whether_there_is_more_is_no_mistake():
    def pairwise(blocks):
        pairs = iter(lambda: list(itertools.islice(blocks, 2)), [])
        return stats_by_merging(np.concatenate(pair, axis=-1) for pair in pairs)

    assert judge(find("online_softmax_stats"), pairwise, seed=0).outcome == "right"


def test_blocks_too_large_are_not_taken_for_blocks_of_queries():
    def eightfold(query, key, value, block_size):
        return tiled_by_hand(query, key, value, 8 * block_size)

    assert "holds more than one block of scores" in sentence_of("tiled_attention", eightfold)


def test_a_block_changed_in_place_is_a_changed_input():
    def in_place(blocks):
        def copies():
            for block in blocks:
                yield block.copy()
                block -= 1

        return stats_by_merging(copies())

    assert "changes its input blocks" in sentence_of("online_softmax_stats", in_place)


def test_blocks_kept_for_nothing_are_told_with_their_bytes():
    def kept(blocks):
        return stats_by_merging(list(blocks))

    sentence = sentence_of("online_softmax_stats", kept)
    assert "keeps the blocks" in sentence
    assert f"{flash.BLOCKS_ALLOWED * flash.ONE_BLOCK:,} are allowed" in sentence


# Memory, and block_size


def in_place_softmax(query, key, value, block_size):
    """The whole matrix, once: nothing smaller will do for an answer that forms it."""
    scores = query @ key.mT / math.sqrt(query.shape[-1])
    scores -= scores.max(axis=-1, keepdims=True)
    np.exp(scores, out=scores)
    total = scores.sum(axis=-1, keepdims=True)
    return (scores @ value / total).astype(np.result_type(query, np.float32))


def test_the_smallest_whole_matrix_is_too_much():
    sentence = sentence_of("tiled_attention", in_place_softmax)
    assert "holds the whole L × S matrix" in sentence
    assert f"{flash.BYTES_ALLOWED:,}" in sentence


def test_blocks_far_larger_than_asked_for_are_too_much():
    def in_blocks_of_512(query, key, value, block_size):
        return tiled_by_hand(query, key, value, max(block_size, 512))

    assert "holds more than one block" in sentence_of("tiled_attention", in_blocks_of_512)


def test_copies_of_keys_and_values_are_no_matrix():
    def copying(query, key, value, block_size):
        keys, values = key.astype(np.longdouble), value.astype(np.longdouble)
        kept = [keys.mT.copy(), values.mT.copy(), key.tolist()]
        result = tiled_by_hand(query, key, value, block_size)
        assert kept
        return result

    assert judge(find("tiled_attention"), copying, seed=0).outcome == "right"


@pytest.mark.parametrize(
    ("name", "by_hand"),
    [("tiled_attention", tiled_by_hand), ("tiled_causal_attention", causal_by_hand)],
)
@pytest.mark.parametrize("size", [1, 8])
def test_blocks_of_a_size_nobody_asked_for_are_told(name, by_hand, size):
    def stubborn(query, key, value, block_size):
        return by_hand(query, key, value, size)

    assert "ignores block_size" in sentence_of(name, stubborn)


# Blocks of the future


def causal_up_to(last, mask_values=False, skip=False):
    """Make causal attention whose tiles of queries look at `last(i)` blocks of keys."""

    def answer(query, key, value, block_size):
        length, dtype = query.shape[-2], np.result_type(query, np.float32)
        pieces = []
        for i, first in enumerate(range(0, length, block_size)):
            queries = query[..., first : first + block_size, :]
            rows = np.arange(first, first + queries.shape[-2])[:, None]
            m, t, o = -np.inf, 0.0, 0.0
            for start in itertools.islice(range(0, length, block_size), last(i)):
                block = slice(start, start + block_size)
                scores = queries @ key[..., block, :].mT / math.sqrt(query.shape[-1])
                past = np.arange(start, start + scores.shape[-1]) <= rows
                if skip and not past.any():
                    continue
                scores = np.where(past, scores, -np.inf)
                values = value[..., block, :]
                if mask_values:
                    values = np.nan_to_num(values)
                n = np.maximum(m, scores.max(axis=-1, keepdims=True))
                p = np.exp(scores - n)
                t = t * np.exp(m - n) + p.sum(axis=-1, keepdims=True)
                o = o * np.exp(m - n) + p @ values
                m = n
            pieces.append(o / t)
        return np.concatenate(pieces, axis=-2).astype(dtype)

    return answer


@pytest.mark.parametrize(
    ("answer", "count"),
    [
        (causal_up_to(lambda i: None), 6),
        (causal_up_to(lambda i: i + 2), 3),
        (causal_up_to(lambda i: None, mask_values=True), 6),
        (causal_up_to(lambda i: i + 2, skip=True), 3),
    ],
)
def test_blocks_of_the_future_are_counted(answer, count):
    assert f"{count} of the 6 such blocks" in sentence_of("tiled_causal_attention", answer)


def test_the_blocks_that_are_needed_are_free():
    answer = causal_up_to(lambda i: i + 1)
    assert judge(find("tiled_causal_attention"), answer, seed=0).outcome == "right"


def test_large_numbers_that_overflow_elsewhere_are_no_sign_of_the_future():
    def with_norms(query, key, value, block_size):
        norms = (query.astype(float) ** 2).sum(axis=-1) * (key.astype(float) ** 2).sum(axis=-1)
        assert norms is not None
        return causal_by_hand(query, key, value, block_size)

    assert judge(find("tiled_causal_attention"), with_norms, seed=0).outcome == "right"


def test_the_whole_causal_matrix_is_told_as_such():
    def masked(query, key, value, block_size):
        return attention(query, key, value, np.tri(query.shape[-2], dtype=bool))[0]

    assert "holds the whole L × L matrix" in sentence_of("tiled_causal_attention", masked)
