"""An answer that is a value is compared number by number."""

import numpy as np
import pytest

from tests.checks.judged import sentence_of


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
            "should be 3 numbers, such as [0.1, 0.2, 0.7]; '0.063' is none",
        ),
        ([0.063, [0.468], 0.468], "[0.468] is none"),
        ([0.063, 0.468, np.nan], "nan is none"),
        ([0.063, 0.468, 0.47], "Number 3 of study_weights"),
        ([0.064, 0.468, 0.468], "Number 1 of study_weights"),
    ],
)
def test_values_have_their_sentences(value, expected):
    assert expected in sentence_of(value, "study_weights")
