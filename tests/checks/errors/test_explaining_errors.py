"""Errors are explained by the names, shapes and values in the learner's own line."""

import linecache
import math
import re

import numpy as np
import pytest

from attention_lib.checks.calls.calling import observe
from attention_lib.checks.calls.case import Case
from attention_lib.checks.errors import explaining
from attention_lib.grading.inside.conversation import as_message

ROWS = np.arange(6.0).reshape(2, 3)
BATCH = np.arange(24.0).reshape(2, 3, 4)


def explanation(answer, *args):
    seen = observe(answer, Case(*args))
    assert seen.error is not None
    return re.sub(r"line \d+", "line N", explaining.explanation(seen.error)[0])


def _sum_without_its_axis(x):
    total = np.sum(x, axis=-1)
    return x / total


def _sum_in_a_branch(x):
    if x.ndim == 1:  # noqa: SIM108
        total = x.sum()
    else:
        total = x.sum(axis=-1)
    return x / total


def _row_that_lost_an_axis(x, row):
    return x + row


def _mask_for_all_heads(scores, mask):
    return np.where(mask, scores, -np.inf)


def _product_in_the_other_order(x, w):
    return w @ x


def _product_with_every_axis_reversed(x):
    return x @ x.T


def _product_that_no_order_mends(x, w):
    return x @ w


def _cut_by_a_fraction(x):
    d = x.shape[-1] / 3
    return x.reshape(2, d, 3)


def _of_two_axes(x):
    rows, columns = x.shape
    return rows * columns


def _misspelled_function(x):
    return np.ex(x)


def _misspelled_in_a_module(x):
    return np.linalg.nrm(x)


def _misspelled_method(x):
    return x.summ()


def _own_function_as_numpys(x):
    return np.row_sums(x)


def _columns_for_rows(x, words):
    return x[:, words]


def _function_for_its_result(x):
    return x / x.sum


def _array_called(x):
    return x(2)


def _picked_out(x, axis):
    picked = x[x > 1]
    return np.sum(picked * np.log(picked), axis=axis)


def _one_hot_rows_too_short(words):
    return np.eye(len(words))[words]


def _length_of_axis_2(x):
    return x.sum() / x.shape[2]


def _row_of_two_indices(x, rows):
    return rows * x[0, 1]


def _misspelt(values):
    return np.exp(value)  # noqa: F821


def _too_early(values):
    total = total + values.sum()  # noqa: F821
    return total


@pytest.mark.parametrize(
    ("answer", "args", "said"),
    [
        (_misspelt, (ROWS,), "`value` has no value: is `values` meant?"),
        (_too_early, (ROWS,), "`total` gets a value in this function only after this line"),
        (
            _sum_without_its_axis,
            (ROWS,),
            "`x` has shape (2, 3) and `total`, made in line N by `np.sum(x, axis=-1)`, has shape (2,).",
        ),
        (
            _row_that_lost_an_axis,
            (BATCH, ROWS),
            "`row` lacks an axis of length 1 at its end.",
        ),
        (
            _mask_for_all_heads,
            (np.ones((2, 3, 3, 5, 5)), np.ones((2, 3, 5, 5), bool)),
            "`mask` lacks an axis of length 1 before its last 2 axes.",
        ),
        (
            _picked_out,
            (BATCH, 1),
            "has no such axis: `x[x > 1]` is flat, as a boolean index keeps no axes.",
        ),
        (
            _one_hot_rows_too_short,
            (np.array([0, 4]),),
            "`np.eye(len(words))` has shape (2, 2), and `words` holds 4 for axis 0. One-hot rows"
            " have an entry",
        ),
        (_length_of_axis_2, (ROWS,), "`x` has shape (2, 3) here: it has no `x.shape[2]`."),
        (_row_of_two_indices, (BATCH, np.ones((4, 2))), "`x` has shape (2, 3, 4): more axes may"),
        (
            _product_in_the_other_order,
            (ROWS, np.ones((3, 5))),
            "A product sums over the last axis of `w` (5) and the second-to-last of `x` (2): these must "
            "be equal. The shapes fit the other way around.",
        ),
        (
            _product_with_every_axis_reversed,
            (BATCH,),
            ".T reverses all 3 axes of `x`, not only the last two.",
        ),
        (
            _cut_by_a_fraction,
            (ROWS,),
            "`d`, made in line N by `x.shape[-1] / 3`, is a float, and a length or an index is an int",
        ),
        (_of_two_axes, (BATCH,), "`x` has shape (2, 3, 4) here, which is 3 numbers."),
        (_misspelled_function, (ROWS,), "There is no `ex`: is `exp` meant?"),
        (_misspelled_in_a_module, (ROWS,), "There is no `nrm`: is `norm` meant?"),
        (_misspelled_method, (ROWS,), "There is no `summ`: is `sum` meant?"),
        (_own_function_as_numpys, (ROWS,), "NumPy has no function `row_sums`: is it one of yours"),
        (_columns_for_rows, (ROWS.T, np.array([2])), "3: `x[words]` takes rows."),
        (_function_for_its_result, (ROWS,), "`x.sum` is the function itself: parentheses call it."),
        (_array_called, (ROWS,), "`x` is an array, and (...) calls a function"),
    ],
)
def test_an_error_is_explained_by_what_met_in_its_line(answer, args, said):
    assert said in explanation(answer, *args)


def test_a_variable_made_in_one_of_two_branches_is_not_traced_back():
    text = explanation(_sum_in_a_branch, ROWS)
    assert "`total` has shape (2,)" in text
    assert "made in" not in text
    assert "keepdims" not in text


def test_no_order_or_transpose_is_named_that_does_not_fit():
    text = explanation(_product_that_no_order_mends, np.ones((2, 3)), np.ones((5, 7)))
    assert text.endswith("these must be equal.")


def test_torchs_size_is_named_in_numpys_words():
    said = explanation(lambda x: x / x.size(-1), ROWS)
    assert said.startswith("`x.size` is the number of all entries, not a function")
    assert "in NumPy a length is an entry of the shape." in said


def test_neither_of_two_mends_that_both_fit_is_named():
    text = explanation(_product_in_the_other_order, np.ones((5, 3)), np.ones((3, 3)))
    assert text.endswith("these must be equal.")  # x @ w fits, and w @ x transposed
    text = explanation(_product_that_no_order_mends, np.ones((4, 5)), np.ones((4, 5)))
    assert text.endswith("these must be equal.")


def test_what_a_loop_takes_one_at_a_time_lacks_no_axis():
    def answer(x):
        for direction in np.eye(len(x)):
            step = 0.5 * direction
            x = x + step

    text = explanation(answer, ROWS)
    assert text.endswith("the last, differ: neither is 1.")


def test_what_an_answer_raises_itself_is_left_as_it_is():
    def refuses(x):
        raise ValueError("could not be broadcast")

    assert explanation(refuses, ROWS) == ""


def test_functions_of_the_learners_are_not_called_again():
    calls = []

    def helper(x):
        calls.append(x)
        return x

    assert explanation(lambda x: helper(x) @ x, ROWS) == ""
    assert len(calls) == 1


def test_numbers_of_arrays_are_not_told():
    secret = np.full((2, 3), 0.123456)
    assert "0.123" not in explanation(_sum_without_its_axis, secret)


def test_an_explanation_crosses_from_the_process_of_an_answer():
    message = as_message(observe(_sum_without_its_axis, Case(ROWS)))
    assert "The sum loses its axis" in message["explanation"]
    assert as_message(observe(math.exp, Case(1.0)))["explanation"] == ""


def _one_head_meets_the_full_width(x, w_o, num_heads):
    head = x[..., : x.shape[-1] // num_heads]
    return head @ w_o


def _keys_that_are_not_split(query, key, num_heads):
    head = query[..., : query.shape[-1] // num_heads]
    return head @ key.T


def test_nothing_is_said_of_heads_where_no_learned_matrix_is_multiplied():
    said = explanation(_keys_that_are_not_split, np.ones((3, 4)), np.ones((3, 4)), 2)
    assert "these must be equal" in said
    assert "full width" not in said


def test_matrix_of_another_width_is_not_said_to_meet_a_head():
    said = explanation(_one_head_meets_the_full_width, np.ones((3, 4)), np.ones((5, 4)), 2)
    assert "these must be equal" in said
    assert "full width" not in said


def _in_a_notebook(line, body):
    """Define a function in a notebook, in which another cell has run a line before."""
    source = f"def answer(x):\n    {body}\n"
    file = f"<cell {line} {body}>"
    linecache.cache[file] = (len(source), None, source.splitlines(keepends=True), file)
    namespace = {"__name__": "__main__", "np": np}
    exec(line, namespace)
    exec(compile(source, file, "exec"), namespace)
    return namespace["answer"]


@pytest.mark.parametrize(
    ("line", "body", "said"),
    [
        ("sum = 3", "return x / sum(x)", "`sum` is a number and no longer Python's own sum"),
        ("max = np.ones(3)", "return max(x.shape)", "`max` is an array and no longer Python's own"),
        ("range = [1]", "return [i for i in range(3)]", "`range` is a list and no longer Python's"),
        (
            "abs = -1",
            "return list(map(abs, x))",
            "`abs` is a number and no longer Python's own abs",
        ),
        ("float = 3.0", "return x.astype(float)", "then run `del float` once and that cell again."),
        (
            "int = 3",
            "return isinstance(x, int)",
            "`int` is a number and no longer Python's own int",
        ),
        (
            "np = 3",
            "return np.exp(x)",
            "`np` is a number and no longer the module: give that anothe",
        ),
        (
            "",
            "len = x.size; return len(x)",
            "`len` is a number in this function, and hides Python's",
        ),
        ("", "np = x; return np.exp(x)", "`np` is an array and no longer the module: give that"),
    ],
)
def test_a_name_of_pythons_or_a_module_that_holds_something_else_is_named(line, body, said):
    assert said in explanation(_in_a_notebook(line, body), ROWS)


@pytest.mark.parametrize("body", ["max = x.max(); return x - (max, 'a')", "sum = 1; return x['a']"])
def test_a_variable_with_the_name_of_a_built_in_is_not_blamed_for_other_errors(body):
    assert "Python's own" not in explanation(_in_a_notebook("", body), ROWS)
