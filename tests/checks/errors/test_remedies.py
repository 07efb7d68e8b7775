"""Errors of NumPy's and Python's get a sentence that says what to do."""

import math
import warnings

import numpy as np
import pytest

import attention_lib as lib
from tests.checks.judged import WITHOUT_SOURCE, right, verdict


def _filled_in_place(scores, axis=-1):
    scores[scores < -99] = -np.inf
    return right(scores, axis)


def _maximum_without_its_axis(scores, axis=-1):
    return right(scores - scores.max(axis=axis), axis)


def _by_math(scores, axis=-1):
    return math.exp(scores)


def _with_two_results(scores, axis=-1):
    _result, _none = (right(scores, axis),)
    return _result


def _with_two_letters(scores, axis=-1):
    return np.einsum("ij->ij", right(scores, axis))


def _joined_along_another_axis(scores, axis=-1):
    return np.concatenate([np.atleast_2d(right(scores, axis)), np.zeros((1, 9))])


def _added_crosswise(scores, axis=-1):
    return right(scores, axis) if scores.ndim < 2 else scores + scores.T


def _filled_where_integers_are(scores, axis=-1):
    weights = np.zeros_like(scores)
    weights[...] += right(scores, axis)
    return weights


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        (_filled_where_integers_are, "cannot hold fractions: make `weights` an array of floats."),
        (
            _filled_in_place,
            "integer. An integer array cannot hold -inf: use np.where, or a float array.",
        ),
        (_by_math, "Functions of math take one number: those of np take arrays."),
        (_with_two_results, "values to unpack (expected 2, got 1)"),
        (_with_two_letters, "and ... stands for any number of batch dimensions."),
        (
            _joined_along_another_axis,
            "np.concatenate joins along the axis that grows, axis=-2 for rows: all other axes must "
            "be equal, also those before it.",
        ),
        (
            _added_crosswise,
            "`scores` has shape (2, 3) and `scores.T` has shape (3, 2). Shapes are compared from the "
            "last axis on, and 3 and 2, the last, differ: neither is 1.",
        ),
    ],
)
def test_errors_of_numpy_end_with_their_remedy(answer, said):
    report = verdict(answer, policy=WITHOUT_SOURCE)
    assert report.outcome == "error"
    assert report.sentence.endswith(said)


def _joined_where_filled(left, right):
    maximum, total = np.maximum(left[0], right[0]), np.zeros_like(left[1])
    for part, count in (left, right):
        filled = part > -np.inf
        total[filled] += count[filled] * np.exp(part[filled] - maximum[filled])
    return maximum, total


def _joined_in_the_dtype_of_the_left(left, right):
    maximum = np.maximum(left[0], right[0])
    base = np.where(np.isneginf(maximum), 0, maximum).astype(left[0].dtype)
    return maximum, left[1] * np.exp(left[0] - base) + right[1] * np.exp(right[0] - base)


@pytest.mark.parametrize("answer", [_joined_where_filled, _joined_in_the_dtype_of_the_left])
def test_an_array_that_is_a_plain_number_has_its_remedy(answer):
    report = verdict(answer, "merge_softmax_stats", policy=WITHOUT_SOURCE)
    assert report.outcome == "error"
    assert "' object " in report.sentence
    assert report.sentence.endswith(
        "np.asarray(x) makes an array of x, and NumPy's functions take either."
    )


def test_a_table_of_names_of_dtypes_has_its_remedy():
    def answer(dtype):
        return {"float16": 11.0898, "float32": 88.7228}[str(dtype)]

    sentence = verdict(answer, "largest_exponent", policy=WITHOUT_SOURCE).sentence
    assert sentence.endswith("a class, a name or an np.dtype: np.dtype(...) takes each.")


def test_an_error_that_the_answer_raises_where_none_is_asked_for_is_said_so():
    def answer(weights, p):
        if not 0 < p < 1:
            raise ValueError("p must lie between 0 and 1")
        return lib.top_p(weights, p)

    sentence = verdict(answer, "top_p", policy=WITHOUT_SOURCE).sentence
    assert sentence.endswith("between 0 and 1. The contract allows p = 1.")


def _lists_in_numpy(scores, axis=-1):
    return np.exp(scores) / max(len(scores.shape))


def test_words_of_kernels_are_left_to_kernels():
    sentence = verdict(_lists_in_numpy).sentence
    assert "Python's max, min and sum go through a list" in sentence
    assert "tl." not in sentence
    assert "kernel" not in sentence


def test_part_without_keys_is_named_where_its_maximum_stops():
    torch = pytest.importorskip("torch")

    def answer(query, key, value):
        scores = query @ key.mT / query.shape[-1] ** 0.5
        top = scores.max(dim=-1, keepdim=True).values
        total = torch.exp(scores - top).sum(dim=-1, keepdim=True)
        output = torch.exp(scores - top) / total @ value
        return output, (top + torch.log(total)).squeeze(-1)

    sentence = verdict(answer, "decode_part").sentence
    assert "The array is empty here, and an empty array has no maximum" in sentence
    assert "wrong variable" not in sentence


def test_np_errstate_is_named_for_warnings_of_floating_point_alone():
    def warns(scores, axis=-1):
        warnings.warn("an old name", FutureWarning, stacklevel=1)
        return right(scores, axis)

    def divides(scores, axis=-1):
        np.log(np.zeros(1))
        return right(scores, axis)

    assert "np.errstate" not in verdict(warns).sentence
    assert "np.errstate" in verdict(divides).sentence


def test_class_numbers_are_an_index_and_take_no_new_axis():
    sentence = verdict(_minus_class_numbers, "cross_entropy_grad").sentence
    assert "`targets` holds whole numbers, one for each row of `weights`" in sentence
    assert "None" not in sentence


def _minus_class_numbers(scores, targets):
    weights = right(scores)
    return (weights - targets) / len(targets)


def test_flat_result_is_not_said_to_lack_keepdims():
    def flat(f, x, eps=1e-6):
        gradient = np.zeros(x.size)
        for place in range(x.size):
            step = np.zeros(x.size)
            step[place] = eps
            up, down = x + step.reshape(x.shape), x - step.reshape(x.shape)
            gradient[place] = (f(up) - f(down)) / (2 * eps)
        return gradient

    sentence = verdict(flat, "numerical_gradient").sentence
    assert "keepdims" not in sentence
    assert "numerical_gradient returned shape" in sentence


# The line's code is folded, and nothing is said twice


def _torchs_word_in_two_lines(scores, axis=-1):
    weights = scores.exp()
    return weights / weights.sum(dim=axis, keepdim=True)


@pytest.mark.parametrize(
    ("answer", "said", "folded"),
    [
        (_maximum_without_its_axis, "The max loses its axis", "keepdims=True)"),
        (_torchs_word_in_two_lines, "`exp` is a word of torch", "np.exp(scores)"),
    ],
)
def test_error_says_its_fault_once_and_folds_the_code(answer, said, folded):
    report = verdict(answer)
    assert report.sentence.count(said) == 1
    assert "loses the axis" not in report.sentence
    assert "wrong function" not in report.sentence
    assert folded not in report.sentence
    assert folded in report.edit
