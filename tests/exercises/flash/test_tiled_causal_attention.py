"""What the check of `tiled_causal_attention` measures: memory, block_size, blocks of the future."""

import itertools
import math

import numpy as np
import pytest

from attention_lib.checks.judging import judge
from attention_lib.exercises import find
from attention_lib.lessons.attention import attention
from tests.exercises.answers import answers_of
from tests.exercises.flash.parts import sentence_of
from tests.exercises.flash.tiled_causal_attention import right_causal_by_hand


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


def test_blocks_on_and_before_the_diagonal_may_be_computed():
    answer = causal_up_to(lambda i: i + 1)
    assert judge(find("tiled_causal_attention"), answer, seed=0).outcome == "right"


def test_overflow_elsewhere_is_not_taken_for_a_block_of_the_future():
    def with_norms(query, key, value, block_size):
        norms = (query.astype(float) ** 2).sum(axis=-1) * (key.astype(float) ** 2).sum(axis=-1)
        assert norms is not None
        return right_causal_by_hand(query, key, value, block_size)

    assert judge(find("tiled_causal_attention"), with_norms, seed=0).outcome == "right"


def test_the_whole_causal_matrix_is_recognized():
    def masked(query, key, value, block_size):
        return attention(query, key, value, np.tri(query.shape[-2], dtype=bool))[0]

    assert "holds the whole L × L matrix" in sentence_of("tiled_causal_attention", masked)


@pytest.mark.slow
@pytest.mark.parametrize("size", [1, 8])
def test_blocks_of_a_fixed_size_are_recognized(size):
    def stubborn(query, key, value, block_size):
        return right_causal_by_hand(query, key, value, size)

    assert "ignores block_size" in sentence_of("tiled_causal_attention", stubborn)


@pytest.mark.parametrize("way", ["whole rows of blocks", "whole columns"])
def test_strips_that_grow_with_the_sequence_are_recognized(way):
    wrong = answers_of("tiled_causal_attention", "WRONG")[way]
    assert "a strip that grows with L" in sentence_of("tiled_causal_attention", wrong)


def test_a_strip_is_told_beside_a_known_mistake():
    strips = answers_of("tiled_causal_attention", "WRONG")["whole rows of blocks"]

    def unscaled(query, key, value, block_size):
        root = np.result_type(query, np.float32).type(query.shape[-1] ** 0.5)
        return strips(query * root, key, value, block_size)

    said = sentence_of("tiled_causal_attention", unscaled)
    assert "The scores are not scaled" in said
    assert "a strip that grows with L" in said
