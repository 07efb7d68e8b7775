"""What is said of an answer is so: each row was once told something else."""

import pytest

from tests.checks.judged import verdict
from tests.checks.written import as_written

ROWS = [
    # Shapes that fit are not blamed for an error about something else.
    ("weighted_sum", "np.dot(weights, values, keepdims=True)", "", "A product sums"),
    ("weighted_sum", "np.matmul(weights, values, axis=-1)", "", "must be equal"),
    (
        "weighted_sum",
        "np.einsum('...ij,...jk->...ik', weights, values, keepdims=True)",
        "",
        "letter",
    ),
    ("weighted_sum", "np.inner(weights, values, axis=0)", "", "A product sums"),
    # The input comes back.
    ("softmax", "scores", "`scores` comes back as it was", "Two faults"),
    ("softmax", "1.0 * scores", "`scores` comes back as it was", "Two faults"),
    ("stable_softmax", "scores - 0", "`scores` comes back as it was", "Two faults"),
    ("rotary_embedding", "x", "", "Two faults"),
    ("normalize_by_sum", "scores.copy()", "`scores` comes back as it was", "Two faults"),
    ("merge_attention", "(left[0] * 0 + 3, left[1])", "", "comes back"),
    # What is quoted of a call is what is wrong in it.
    ("dot_product_scores", "np.swapaxes(query @ key, -1, -2)", "", "lengths as one tuple"),
]


@pytest.mark.parametrize(("exercise", "returned", "said", "never"), ROWS)
def test_what_is_said_of_a_returned_expression_is_so(exercise, returned, said, never):
    sentence = verdict(as_written(exercise, returned), exercise).sentence
    assert said in sentence
    assert never not in sentence


CELLS = [
    (
        "softmax",
        "import functools\n@functools.lru_cache\ndef softmax(scores, axis=-1):\n    return scores",
        "leave the decorator out",
        "its first line should be",
    ),
    (
        "softmax",
        "def softmax(scores, axis=-1):\n    x = helper(scores)\n    return softmax(x, axis)\n"
        "def helper(x):\n    return np.exp(x)",
        "in line 3 of its cell with RecursionError",
        "line 5",
    ),
    (
        "softmax",
        "def softmax(scores, axis=-1):\n    for _ in range(3):\n        copied += 1\n    return scores",
        "`copied` gets a value in this function only after this line",
        "works on the value from before",
    ),
    (
        "softmax",
        "def softmax():\n    return 1",
        "its first line should be def softmax(scores, axis=-1)",
        "decorator",
    ),
]


@pytest.mark.parametrize(("exercise", "cell", "said", "never"), CELLS)
def test_what_is_said_of_a_cell_is_so(exercise, cell, said, never):
    report = verdict(as_written(exercise, cell=cell), exercise)
    assert said in report.sentence
    assert never not in report.sentence + report.edit


def test_a_function_that_a_decorator_lost_is_not_called_unattempted():
    report = verdict(None)
    assert report.outcome == "wrong"
    assert "softmax is None" in report.sentence
