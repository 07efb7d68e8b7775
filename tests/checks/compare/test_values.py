"""An answer that is a value is compared number by number."""

import numpy as np
import pytest

from attention_lib.exercises import EXERCISES
from tests.checks.judged import sentence_of, verdict


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (0.5, "should be 3 numbers"),
        ([0.1, 0.2], "should be 3 numbers"),
        (["a", "b", "c"], "should be 3 numbers"),
        ({"study": 1}, "should be 3 numbers"),
        (lambda: [0.063, 0.468, 0.468], "it is a function"),
        (
            ["0.063", "0.468", "0.468"],
            "should be 3 numbers, such as [0.1, 0.2, 0.7]; '0.063' is not a number",
        ),
        ([0.063, [0.468], 0.468], "[0.468] is not a number"),
        ([0.063, 0.468, np.nan], "nan is not a number"),
        ([0.063, 0.468, 0.47], "Number 3 of study_weights"),
        ([0.064, 0.468, 0.468], "Number 1 of study_weights"),
    ],
)
def test_values_have_their_sentences(value, expected):
    assert expected in sentence_of(value, "study_weights")


def test_weights_that_do_not_sum_to_1_are_told_their_sum():
    exponentials = np.exp([2.0, 4.0, 4.0])
    sentence = sentence_of(exponentials / np.exp(10.0), "study_weights")
    assert sentence == (
        "None of the 3 numbers of study_weights is right to 3 decimals. They sum to "
        "0.005293, and weights sum to 1."
    )
    assert "They sum to" not in sentence_of([0.2, 0.4, 0.4], "study_weights")


@pytest.mark.parametrize(("share", "outcome"), [(0.9, "right"), (1.1, "wrong")])
def test_a_value_may_be_off_by_its_tolerance(share, outcome):
    exercise = EXERCISES["study_weights"]
    value = np.asarray(exercise.reference) + share * exercise.tolerance
    assert verdict(value.tolist(), "study_weights").outcome == outcome
