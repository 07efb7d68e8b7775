"""What the check of `tiled_attention_backward` measures: memory, and how often scores are formed."""

import pytest

from tests.exercises.answers import answers_of
from tests.exercises.flash.parts import sentence_of

NAME = "tiled_attention_backward"
WRONG = answers_of(NAME, "WRONG")


@pytest.mark.parametrize("way", ["whole matrix", "weights kept", "eight blocks at a time"])
def test_more_than_one_block_of_weights_is_too_much(way):
    assert "holds more than one block of weights" in sentence_of(NAME, WRONG[way])


def test_weights_formed_once_for_their_sums_and_once_more_are_counted():
    sentence = sentence_of(NAME, WRONG["all weights formed for D"])
    assert "forms the score of one query and one key 2 times" in sentence


def test_attention_backward_of_lesson_04_may_not_do_the_work():
    assert "holds the whole L × S matrix: carry" in sentence_of(NAME, WRONG["lesson 04's"])
