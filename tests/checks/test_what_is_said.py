"""What is said of an answer is so: each row was once told something else."""

import numpy as np
import pytest

from attention_lib.exercises import EXERCISES
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
    ("softmax", "scores", "`scores` is returned unchanged", "Two faults"),
    ("softmax", "1.0 * scores", "`scores` is returned unchanged", "Two faults"),
    ("stable_softmax", "scores - 0", "`scores` is returned unchanged", "Two faults"),
    ("rotary_embedding", "x", "", "Two faults"),
    ("normalize_by_sum", "scores.copy()", "`scores` is returned unchanged", "Two faults"),
    ("merge_attention", "(left[0] * 0 + 3, left[1])", "", "returned unchanged"),
    # What is quoted of a call is what is wrong in it.
    ("dot_product_scores", "np.swapaxes(query @ key, -1, -2)", "", "lengths as one tuple"),
    ("dot_product_scores", "np.swapaxes(query @ key.T, -1, -2)", "leave it out", "is wrong in"),
]


@pytest.mark.parametrize(("exercise", "returned", "said", "never"), ROWS)
def test_what_is_said_of_a_returned_expression_is_so(exercise, returned, said, never):
    sentence = verdict(as_written(exercise, returned), exercise).sentence
    assert said in sentence
    assert never not in sentence


CELLS = [
    (
        "normalize_by_sum",
        "def normalize_by_sum(scores):\n    total = scores.sum(axis=-1, keepdims=True)\n"
        "    return scores / totl",
        "`totl` has no value: is `total` meant?",
        "variable of the notebook",
    ),
    (
        "normalize_by_sum",
        "score = 12\ndef normalize_by_sum(scores):\n"
        "    return scores / score.sum(axis=-1, keepdims=True)",
        "AttributeError: `score` is a variable of the notebook: is `scores` meant?",
        "plain number",
    ),
    (
        "normalize_by_sum",
        "score = np.ones((7, 1))\ndef normalize_by_sum(scores):\n"
        "    return scores / score.sum(axis=-1, keepdims=True)",
        "`score` is a variable of the notebook: is `scores` meant?",
        "wrong variable",
    ),
    (
        "normalize_by_sum",
        "def normalize_by_sum(scores):\n    return nump.divide(scores, scores.sum())",
        "`nump` has no value: is `np` meant?",
        "is not defined",
    ),
    (
        "softmax",
        "def softmax(scores, axis=-1):\n    e = np.exp(scores)\n"
        "    return e / e.sum(axis=axes, keepdims=True)",
        "`axes` has no value: is `axis` meant?",
        "goes along another axis",
    ),
    (
        "softmax",
        "def softmax(scores, axis=-1):\n    e = np.exp(scores)\n"
        "    return e / e.sum(axis=dimension, keepdims=True)",
        "`dimension` has no value.",
        "goes along another axis",
    ),
    (
        "softmax",
        "def softmax(scores, axis=-1):\n    shifted = scores - scores.max(axis=axis, keepdims=True)\n"
        "    e = np.exp(shiftd)\n    return e / e.sum(axis=axis, keepdims=True)",
        "`shiftd` has no value: is `shifted` meant?",
        "np.exp(scores)",
    ),
    (
        "softmax",
        "def softmax(scores, axis=-1):\n    length = len(scores)\n"
        "    return np.array([np.exp(scores[i]) for i in range(3) if i < lenght])",
        "`lenght` has no value: is `length` meant?",
        "is not defined",
    ),
    (
        "softmax",
        "ROOM = 0.0\ndef softmax(scores, axis=-1):\n    e = np.exp(scores + ROM)\n"
        "    return e / e.sum(axis=axis, keepdims=True)",
        "`ROM` has no value: is your `ROOM` meant?",
        "is not defined",
    ),
    (
        "softmax",
        "def softmax(scores, axis=-1):\n    return np.array([np.exp(scores[i]) for i in rang(3)])",
        "`rang` has no value: is Python's `range` meant?",
        "is not defined",
    ),
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
        "`copied` has no value yet that this line could change",
        "works on the value from before",
    ),
    (
        "softmax",
        "def softmax():\n    return 1",
        "its first line should be def softmax(scores, axis=-1)",
        "decorator",
    ),
    (
        "softmax",
        "def softmax(scores, axis=-1):\n    max = scores.max(axis=axis, keepdims=True)\n"
        "    e = np.exp(scores - max(scores))\n    return e / e.sum(axis=axis, keepdims=True)",
        "hides Python's own max: give it another name",
        "eave",
    ),
    (
        "dot_product_scores",
        "def dot_product_scores(query, key):\n    len = 3\n"
        "    return query @ np.swapaxes(key, -1, -2) * len(key) / len(key)",
        "hides Python's own len: give it another name",
        "not the length",
    ),
    (
        "softmax_jacobian",
        "def softmax_jacobian(weights):\n    n = weights.shape[-1]\n    j = np.zeros((n, n))\n"
        "    for i in range(n):\n        for k in range(n):\n"
        "            j[i, k] = weights[i] * ((i == k) - weights[k])\n    return j",
        "index from the end, as x[..., i]",
        "leave it out",
    ),
    (
        "stable_softmax",
        "def stable_softmax(scores, axis=-1):\n"
        "    return softmax(scores - scores.max(axis=axis, keepdims=True), axis)",
        "your own has one once its cell is run",
        "name 'softmax'",
    ),
    (
        "softmax",
        "def softmax(scores, axis=-1):\n    return lib.stable_softmax(scores, axis)",
        "run the first cell of the notebook",
        "name 'lib'",
    ),
    (
        "next_word_loss",
        "def next_word_loss(scores, tokens):\n    scores = scores[..., :-1, :][..., :-1, :]\n"
        "    tokens = tokens[..., 1:][..., 1:]\n"
        "    scores = scores - scores.max(axis=-1, keepdims=True)\n"
        "    scores = scores - np.log(np.exp(scores).sum(axis=-1, keepdims=True))\n"
        "    return -np.take_along_axis(scores, tokens[..., None], axis=-1).mean()",
        "shifted twice",
        "grad_",
    ),
    (
        "log_softmax",
        "def log_softmax(scores, axis=-1):\n"
        "    return scores - log_sum_exp(scores, axis=axis, keepdims=True)",
        "is `logsumexp` meant, your own or `lib.logsumexp`?",
        "is not defined",
    ),
    (
        "softmax",
        "def normalise(x, axis):\n    return x / x.sum(axis=axis, keepdims=True)\n"
        "def softmax(scores, axis=-1):\n    return normalize(np.exp(scores), axis)",
        "is your `normalise` meant?",
        "is not defined",
    ),
    (
        "softmax",
        "def softmax(scores, axis=-1):\n    e = exp(scores)\n"
        "    return e / e.sum(axis=axis, keepdims=True)",
        "NumPy's function is `np.exp`",
        "is not defined",
    ),
    (
        "grouped_query_attention",
        "import attention_lib as lib\n"
        "def grouped_query_attention(query, key, value, mask=None):\n"
        "    key = np.repeat(key, key.shape[-3])\n"
        "    return lib.attention(query, key, value, mask)[0]",
        "np.repeat without an axis makes one row of all entries",
        "needs at least two dimensions",
    ),
    (
        "softmax_jacobian",
        "def softmax_jacobian(weights):\n    n = weights.shape[-1]\n"
        "    j = np.zeros((*weights.shape, n))\n    for i in range(n):\n        for k in range(n):\n"
        "            j[i, k] = weights[i] * ((i == k) - weights[k])\n    return j",
        "write `weights[..., k]`, as batch axes may come first",
        "The first entry has index 0",
    ),
    (
        "log_softmax",
        "def log_softmax(scores, axis=-1):\n"
        "    return np.log(scores / np.exp(scores).sum(axis=axis, keepdims=True))",
        "The first NaN arises in line 2 of its cell, from the logarithm of a negative number.",
        "exp overflows",
    ),
]

# A second fault is not a mere consequence of the first.
CELLS += [
    (
        "logsumexp",
        "def logsumexp(scores, axis=-1, keepdims=False):\n"
        "    m = np.max(scores, axis=axis, keepdims=True)\n"
        "    out = m + np.log(np.sum(np.exp(scores - m), axis=axis, keepdims=True))\n"
        "    return out if not keepdims else np.squeeze(out, axis=axis)",
        "the two choices of `out if not keepdims else np.squeeze(out, axis=axis)` are swapped",
        "keepdims is ignored",
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


@pytest.mark.parametrize("exercise", ["tiled_attention", "merge_attention", "masked_softmax"])
def test_nan_in_every_place_of_every_call_is_no_known_mistake(exercise):
    def answer(*args, **kwargs):
        right = EXERCISES[exercise].reference(*args, **kwargs)
        return tuple(np.nan * one for one in right) if isinstance(right, tuple) else np.nan * right

    assert verdict(answer, exercise).mistake == ""
