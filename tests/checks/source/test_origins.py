"""The line is named in which NaN, infinity or a negative index first arises."""

import numpy as np
import pytest

import attention_lib as lib
from attention_lib.checks.calls.calling import observe
from attention_lib.checks.calls.observation import Observation
from attention_lib.checks.cases import trials_of
from attention_lib.checks.comparing import Comparison
from attention_lib.checks.explaining import known_in_most_calls, where_it_arises
from attention_lib.checks.source.cell import silenced
from attention_lib.checks.source.origins import origin, unrefused
from attention_lib.exercises import EXERCISES
from tests.checks.judged import explain_only_by, sentence_of


def _difference_of_infinities(left, right):
    maximum = np.maximum(left[0], right[0])
    total = left[1] * np.exp(left[0] - maximum)
    total += right[1] * np.exp(right[0] - maximum)
    return maximum, total


def _overflow(scores, axis=-1):
    exps = np.exp(scores)
    return exps / exps.sum(axis=axis, keepdims=True)


def _underflow(scores, axis=-1):
    with np.errstate(divide="ignore"):
        exps = np.exp(scores - 1000)
        return np.log(exps / exps.sum(axis=axis, keepdims=True))


def _column_before_the_first(length, window):
    mask = np.zeros((length, length), dtype=bool)
    for i in range(length):
        for back in range(window):
            mask[i, i - back] = True
    return mask


def _last_none(lengths, max_length):
    mask = np.ones((len(lengths), max_length), dtype=bool)
    for row, length in zip(mask, lengths, strict=True):
        padding = max_length - length
        row[-padding:] = False
    return mask


def _nan_is_left_out(scores, axis=-1):
    exps = np.exp(scores)
    shares = np.where(np.isfinite(exps), exps / exps, 0)
    return shares + 0 * exps


def _overflow_in_place(scores, axis=-1):
    exps = scores.astype(np.float64)
    np.exp(exps, out=exps)
    return exps / exps.sum(axis=axis, keepdims=True)


def _overflow_and_0_by_0_in_torch(query, key, value):
    weights = (query @ key.mT * query.shape[-1] ** -0.5).exp()
    total = weights.sum(dim=-1, keepdim=True)
    return weights @ value / total, total.log()[..., 0]


@pytest.mark.parametrize(
    ("answer", "exercise", "origin"),
    [
        (
            _difference_of_infinities,
            "merge_softmax_stats",
            "`left[0] - maximum` is -inf - (-inf), which is NaN: an entry that is -inf "
            "in both needs a value of its own.",
        ),
        (_overflow, "stable_softmax", "`np.exp(scores)` overflows: the exponential of"),
        (_overflow, "stable_softmax", "keepdims=True)` is inf / inf, which is NaN."),
        (_overflow_in_place, "stable_softmax", "`np.exp(exps, out=exps)` overflows"),
        (_overflow_and_0_by_0_in_torch, "decode_part", "` is 0 / 0, which is NaN. Besides: "),
        (_overflow_and_0_by_0_in_torch, "decode_part", "exp()` overflows: the exponential of"),
        (_underflow, "log_softmax", "`np.exp(scores - 1000)` underflows to 0. In line"),
        (
            _column_before_the_first,
            "sliding_window_mask",
            "`i - back` is -1: a negative index counts",
        ),
        (_last_none, "padding_mask", "`-padding` is 0: -0 counts from the beginning, not from"),
    ],
)
def test_line_is_named(answer, exercise, origin, monkeypatch):
    explain_only_by(monkeypatch, where_it_arises)
    assert origin in sentence_of(answer, exercise)


def test_each_float64_that_reaches_the_result_is_named_and_no_other():
    def answer(blocks):
        blocks = iter(blocks)
        first = next(blocks)
        half = (first / np.float64(2)).astype(np.result_type(first, np.float32))  # back at once
        maximum = np.full(first.shape[:-1], -np.inf)
        total = np.zeros(first.shape[:-1])
        for block in (half + half, *blocks):
            larger = np.maximum(maximum, block.max(axis=-1))
            total = total * np.exp(maximum - larger)
            total += np.exp(block - larger[..., None]).sum(axis=-1)
            maximum = larger
        return maximum, total

    said = sentence_of(answer, "online_softmax_stats")
    assert "-np.inf)` is float64. In line" in said
    assert "`np.zeros(first.shape[:-1])` is float64." in said
    assert "/ np.float64(2)" not in said


def test_nan_that_is_left_out_is_not_named(monkeypatch):
    explain_only_by(monkeypatch, where_it_arises)
    said = sentence_of(_nan_is_left_out, "stable_softmax")
    assert "`0 * exps` is 0 * inf, which is NaN" in said
    assert "exps / exps" not in said.partition(" Besides: ")[0]


def test_origin_is_named_beside_a_known_mistake_of_the_other_calls(monkeypatch):
    def attention(query, key, value, mask=None, scale=None):
        scores = query @ np.swapaxes(key, -1, -2)
        scores = scores / np.sqrt(value.shape[-1]) if scale is None else scores * scale
        if mask is None:
            weights = lib.stable_softmax(scores)
        elif mask.dtype == bool:
            weights = lib.masked_softmax(scores, mask)
        else:
            weights = lib.stable_softmax(scores + mask)
        return weights @ value, weights

    explain_only_by(monkeypatch, known_in_most_calls)
    said = sentence_of(attention, "attention")
    assert "divided by √d_v" in said
    assert "`lib.stable_softmax(scores + mask)` is NaN for a row of nothing but -inf" in said


def _softmax_down_the_columns(query, key, value, mask=None, scale=None):
    scores = query @ np.swapaxes(key, -1, -2)
    if mask is not None:
        scores = np.where(mask, scores, -np.inf)
    weights = lib.softmax(scores, axis=-2)
    return weights @ value, weights


def test_column_of_infinities_is_not_called_a_row():
    exercise = EXERCISES["attention"]
    with silenced():
        comparisons = [
            Comparison(exercise.name, trial, observe(_softmax_down_the_columns, trial.case))
            for trial in trials_of(exercise, 0)
        ]
        said = origin(exercise, _softmax_down_the_columns, comparisons)
    assert said.endswith("`lib.softmax(scores, axis=-2)` is NaN.")


def test_nan_of_another_call_is_not_named_beside_a_wrong_number(monkeypatch):
    explain_only_by(monkeypatch, where_it_arises)
    assert "NaN" not in sentence_of(_softmax_down_the_columns, "attention")


def _returns_before_it_raises(scores, temperature, axis=-1):
    if temperature != 0:
        return lib.stable_softmax(scores / temperature, axis)
    raise ValueError


def _asks_for_0_alone(scores, temperature, axis=-1):
    if temperature == 0:
        raise ValueError
    return lib.stable_softmax(scores / temperature, axis)


def _never_raises(scores, temperature, axis=-1):
    return lib.stable_softmax(scores / temperature, axis)


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        (_returns_before_it_raises, "is not reached."),
        (_asks_for_0_alone, "`temperature == 0` is False here: nothing is raised."),
        (_never_raises, "No line of it raises an error."),
    ],
)
def test_reason_for_a_missing_error_is_named(answer, reason):
    exercise = EXERCISES["softmax_with_temperature"]
    trials = trials_of(exercise, 0)
    negative = next(one for one in trials if one.case.raises and one.case.args[1] < 0)
    comparison = Comparison(exercise.name, negative, Observation())
    assert unrefused(exercise, answer, comparison).endswith(reason)
