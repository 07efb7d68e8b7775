"""What the check of `tiled_attention` measures: the memory held, and whether block_size matters."""

import math

import numpy as np
import pytest

from attention_lib.checks.judging import judge
from attention_lib.exercises import find
from tests.exercises.flash.parts import sentence_of
from tests.exercises.flash.tiled_attention import WRONG, right_tiled_by_hand


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


def test_blocks_too_large_are_not_taken_for_blocks_of_queries():
    def eightfold(query, key, value, block_size):
        return right_tiled_by_hand(query, key, value, 8 * block_size)

    assert "holds more than one block of scores" in sentence_of("tiled_attention", eightfold)


def test_blocks_far_larger_than_asked_for_are_too_much():
    def in_blocks_of_512(query, key, value, block_size):
        return right_tiled_by_hand(query, key, value, max(block_size, 512))

    assert "holds more than one block" in sentence_of("tiled_attention", in_blocks_of_512)


def test_copies_of_keys_and_values_are_allowed():
    def copying(query, key, value, block_size):
        keys, values = key.astype(np.longdouble), value.astype(np.longdouble)
        kept = [keys.mT.copy(), values.mT.copy(), key.tolist()]
        result = right_tiled_by_hand(query, key, value, block_size)
        assert kept
        return result

    assert judge(find("tiled_attention"), copying, seed=0).outcome == "right"


@pytest.mark.parametrize("size", [1, 8])
def test_blocks_of_a_fixed_size_are_recognized(size):
    def stubborn(query, key, value, block_size):
        return right_tiled_by_hand(query, key, value, size)

    assert "ignores block_size" in sentence_of("tiled_attention", stubborn)


def test_scores_formed_twice_are_counted():
    sentence = sentence_of("tiled_attention", WRONG["two passes"])
    assert "forms the score of one query and one key 2 times" in sentence


def test_overflow_of_other_numbers_is_not_taken_for_a_score_formed_twice():
    def with_norms(query, key, value, block_size):
        with np.errstate(over="ignore"):
            norms = (query**2).sum(axis=-1), (key**2).sum(axis=-1)
        assert norms
        return right_tiled_by_hand(query, key, value, block_size)

    assert judge(find("tiled_attention"), with_norms, seed=0).outcome == "right"


def test_outputs_kept_for_every_block_are_reported_in_bytes():
    sentence = sentence_of("tiled_attention", WRONG["blocks in a list"])
    assert "keeps something of every block" in sentence
