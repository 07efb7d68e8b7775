"""What the check of `online_softmax_stats` measures: what is read once, and what is held."""

import itertools

import numpy as np

from attention_lib.checks.judging import judge
from attention_lib.exercises import find
from attention_lib.exercises.flash.online_softmax_stats import BYTES_ALLOWED
from tests.exercises.flash.online_softmax_stats import right_stats_by_merging
from tests.exercises.flash.parts import sentence_of


def test_second_reading_is_named_even_where_it_ends_in_an_error():
    def stacked(blocks):
        maximum = np.max([block.max(axis=-1) for block in blocks], axis=0)
        parts = [np.exp(block - maximum[..., None]).sum(axis=-1) for block in blocks]
        return maximum, np.stack(parts).sum(axis=0)

    assert "reads its input a second time" in sentence_of("online_softmax_stats", stacked)


def test_answer_that_indexes_the_blocks_is_told_to_loop_over_them():
    def by_number(blocks):
        return right_stats_by_merging(blocks[i] for i in range(len(blocks)))

    report = judge(find("online_softmax_stats"), by_number, seed=0)
    assert "one by one, in a for loop" in report.sentence


def test_looking_for_another_block_after_the_last_is_no_mistake():
    def pairwise(blocks):
        pairs = iter(lambda: list(itertools.islice(blocks, 2)), [])
        return right_stats_by_merging(np.concatenate(pair, axis=-1) for pair in pairs)

    assert judge(find("online_softmax_stats"), pairwise, seed=0).outcome == "right"


def test_a_block_changed_in_place_is_a_changed_input():
    def in_place(blocks):
        def copies():
            for block in blocks:
                yield block.copy()
                block -= 1

        return right_stats_by_merging(copies())

    assert "changes its input blocks" in sentence_of("online_softmax_stats", in_place)


def test_blocks_kept_for_nothing_are_reported_in_bytes():
    def kept(blocks):
        return right_stats_by_merging(list(blocks))

    sentence = sentence_of("online_softmax_stats", kept)
    assert "keeps the blocks" in sentence
    assert f"{BYTES_ALLOWED:,} are allowed" in sentence
