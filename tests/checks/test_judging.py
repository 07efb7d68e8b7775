"""Judging: one sentence for the gravest thing wrong with an answer."""

import contextlib
import sys
import time
import warnings

import numpy as np
import pytest
import scipy.special

import attention_lib
from attention_lib.checks import judging
from attention_lib.checks.calls import timeouts
from attention_lib.checks.compare.cases import cases_of
from attention_lib.checks.judging import GRADER, HIDDEN_NUMBERS, LEARNER, judge
from attention_lib.checks.show.panel import as_html, as_text
from attention_lib.exercises import find
from tests.checks.calls.by_value import ByValue
from tests.checks.judged import VERDICT_ALONE, right, sentence_of, verdict
from tests.exercises.attention import attention as attention_answers


@pytest.mark.parametrize("answer", [None, ...])
def test_nothing_there_is_not_attempted(answer):
    assert verdict(answer, "study_weights").outcome == "unattempted"
    assert verdict(...).outcome == "unattempted"


def test_the_released_stub_is_not_attempted():
    def softmax(scores, axis=-1):
        raise NotImplementedError()

    assert verdict(softmax).outcome == "unattempted"


def test_a_stub_that_an_answer_calls_is_named():
    def log_softmax(scores, axis=-1):
        raise NotImplementedError()

    def cross_entropy(scores, targets):
        return -log_softmax(scores)[np.arange(len(targets)), targets].mean()

    report = verdict(cross_entropy, "cross_entropy")
    assert report.outcome == "unattempted"
    assert report.sentence == "cross_entropy calls log_softmax, which is not written yet."


def test_a_result_in_place_of_the_function():
    assert "give it the function itself" in sentence_of(np.ones(3))


def test_a_warning_is_quoted():
    def warns(scores, axis=-1):
        warnings.warn("look out", stacklevel=1)
        return right(scores, axis)

    assert 'warns: "look out"' in sentence_of(warns)


@pytest.mark.parametrize("stream", ["stdout", "stderr"])
def test_a_print_is_remarked_on_and_costs_nothing(stream):
    def prints(scores, axis=-1):
        print("debugging", file=getattr(sys, stream))
        return right(scores, axis)

    for policy in (LEARNER, GRADER):
        report = verdict(prints, policy=policy)
        assert report.outcome == "right"
        assert [one for one in report.advice if "prints 'debugging'" in one] == list(report.advice)


def test_a_changed_input_comes_before_the_dtype_it_leads_to():
    def in_place(
        parameter, gradient, mean, square, step, rate=0.001, beta1=0.9, beta2=0.999, epsilon=1e-8
    ):
        mean *= beta1
        mean += (1 - beta1) * gradient
        square *= beta2
        square += (1 - beta2) * gradient**2
        size = np.sqrt(square / (1 - beta2**step)) + epsilon
        return parameter - rate * mean / (1 - beta1**step) / size, mean, square

    sentence = sentence_of(in_place, "adam_step")
    assert sentence.startswith("The values are right. adam_step changes its input mean")


def test_wrong_numbers_come_before_side_effects():
    def both(scores, axis=-1):
        print("debugging")
        return np.exp(scores) / np.exp(scores).sum()

    assert "the sum must run along axis only" in sentence_of(both)


def _with_a_forbidden_call_and_side_effects(scores, axis=-1):
    print("debugging")
    warnings.warn("look out", stacklevel=1)
    result = scipy.special.softmax(scores, axis)
    scores[...] = 0
    return result


def test_a_grader_remarks_on_calls_and_side_effects_below_a_right_verdict():
    report = judge(find("softmax"), _with_a_forbidden_call_and_side_effects, 0, policy=GRADER)
    assert (report.outcome, len(report.advice)) == ("right", 4)
    first, *remarks = as_text(report).splitlines()
    assert first.startswith("softmax: right. All ")
    told = ["calls scipy", "changes its input scores", 'warns: "look out"', "prints 'debugging'"]
    for remark, what in zip(remarks, told, strict=True):
        assert remark.startswith("  A remark: softmax ")
        assert what in remark
    assert as_html(report).count("<div>A remark: ") == 4
    assert "look out&quot;" in as_html(report)


def test_for_a_learner_the_same_answer_is_wrong():
    report = judge(find("softmax"), _with_a_forbidden_call_and_side_effects, 0)
    assert (report.outcome, report.advice) == ("wrong", ())


def test_a_forbidden_call_does_not_make_wrong_values_right():
    def along_the_whole(scores, axis=-1):
        return scipy.special.softmax(scores, axis=None)

    report = judge(find("softmax"), along_the_whole, 0, policy=GRADER)
    assert "the sum must run along axis only" in report.sentence
    assert report.advice == ()


def test_what_is_measured_counts_for_a_grader_too():
    def by_a_matrix(weights, grad_weights):
        jacobian = weights[..., None] * (np.eye(weights.shape[-1]) - weights[..., None, :])
        return (grad_weights[..., None, :] @ jacobian)[..., 0, :].astype(weights.dtype)

    report = judge(find("softmax_vjp"), by_a_matrix, 0, policy=GRADER)
    assert "builds an n × n matrix" in report.sentence


def _gradient_through_softmax(scores, targets):
    gradient = attention_lib.softmax(scores)
    gradient[np.arange(len(targets)), targets] -= 1
    return gradient / np.asarray(len(targets), gradient.dtype)


def test_functions_of_earlier_lessons_are_welcome():
    assert verdict(_gradient_through_softmax, "cross_entropy_grad").outcome == "right"


def _softmax_of_lesson_01(scores, axis=-1):
    return attention_lib.softmax(scores, axis)


def _masked_by_softmax_of_lesson_01(scores, mask, axis=-1):
    weights = np.where(mask, np.asarray(scores, np.result_type(scores, np.float32)), -np.inf)
    weights = weights.astype(np.result_type(scores, np.float32))
    return np.nan_to_num(attention_lib.softmax(weights, axis))


@pytest.mark.parametrize(
    ("answer", "name", "said"),
    [
        (
            _softmax_of_lesson_01,
            "stable_softmax",
            "stable_softmax hands its work to lib.softmax, which already subtracts the "
            "maximum: do that yourself.",
        ),
        (
            _masked_by_softmax_of_lesson_01,
            "masked_softmax",
            "masked_softmax hands its work to lib.softmax, which already subtracts the "
            "maximum: do that yourself, after the mask.",
        ),
    ],
)
def test_an_earlier_function_that_would_do_all_the_work_is_named(answer, name, said):
    report = verdict(answer, name)
    assert (report.outcome, report.sentence) == ("wrong", said)
    report = judge(find(name), answer, 0, policy=GRADER)
    assert (report.outcome, report.advice[0]) == ("right", said)


def _masked_without_nan(scores, mask, axis=-1):
    visible = np.where(mask, scores, -np.inf).astype(np.result_type(scores, np.float32))
    maximum = visible.max(axis=axis, keepdims=True)
    exponentials = np.exp(visible - np.where(np.isneginf(maximum), 0, maximum))
    total = exponentials.sum(axis=axis, keepdims=True)
    return np.nan_to_num(exponentials / np.where(total == 0, 1, total))


def _logsumexp_without_nan(scores, axis=-1, keepdims=False):
    return np.logaddexp.reduce(np.where(scores > -np.inf, scores, -np.inf), axis, keepdims=keepdims)


def _entropy_without_nan(weights, axis=-1):
    return -np.sum(weights * np.log(np.where(weights > 0, weights, 1)), axis, where=weights > 0)


def _attention_without_nan(query, key, value, mask=None, scale=None):
    output, weights = attention_answers.right_textbook(query, key, value, mask, scale)
    return np.nan_to_num(output), np.nan_to_num(weights)


HIDES_NAN = {
    "attention": _attention_without_nan,
    "masked_softmax": _masked_without_nan,
    "logsumexp": _logsumexp_without_nan,
    "entropy": _entropy_without_nan,
}


@pytest.mark.parametrize("policy", [LEARNER, GRADER])
@pytest.mark.parametrize("name", HIDES_NAN)
def test_a_right_answer_that_hides_nan_gets_a_remark(name, policy):
    report = judge(find(name), HIDES_NAN[name], 0, policy=policy)
    assert report.outcome == "right", report.sentence
    (remark,) = report.advice
    assert remark.startswith(f"A row with a NaN comes back from {name} without one")
    assert f"A remark: {remark}" in as_text(report)


@pytest.mark.parametrize("name", HIDES_NAN)
def test_an_answer_that_lets_nan_through_gets_no_remark(name):
    def plain(*args, **kwargs):
        return reference(*args, **kwargs)

    reference = find(name).reference
    report = judge(find(name), plain, 0, policy=GRADER)
    assert report.outcome == "right"
    assert [remark for remark in report.advice if "NaN" in remark] == []


def test_a_remark_that_cannot_be_made_is_left_out():
    def stops_at_nan(weights, axis=-1):
        if np.isnan(weights).any():
            raise ValueError("NaN")
        return _entropy_without_nan(weights, axis)

    report = verdict(stops_at_nan, "entropy")
    assert (report.outcome, report.advice) == ("right", ())


@pytest.mark.slow
def test_an_endless_loop_is_stopped(monkeypatch):
    monkeypatch.setattr(timeouts, "CALL_SECONDS", 0.2)

    def endless(scores, axis=-1):
        while True:
            with contextlib.suppress(Exception):
                time.sleep(60)

    assert "was stopped. It was in the loop of line" in sentence_of(endless)


def test_leaving_python_is_an_error_like_others():
    assert "SystemExit" in sentence_of(lambda scores, axis=-1: sys.exit(0))


def test_running_out_of_stack_is_an_error_like_others():
    def deep(scores, axis=-1):
        return deep(scores, axis)

    assert "RecursionError" in sentence_of(deep)


def test_a_stop_by_the_learner_is_not_swallowed():
    def interrupted(scores, axis=-1):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        verdict(interrupted)


def test_a_remark_of_each_kind_is_made_once():
    def prints_twice(scores, axis=-1):
        print("first" if scores.ndim == 1 else "second")
        return right(scores, axis)

    report = judge(find("softmax"), prints_twice, 0, policy=GRADER)
    assert [sentence.partition(": ")[0] for sentence in report.advice] == ["softmax prints 'first'"]


def test_on_hidden_numbers_the_values_alone_count():
    report = judge(
        find("softmax"), _with_a_forbidden_call_and_side_effects, 3, policy=HIDDEN_NUMBERS
    )
    assert (report.outcome, report.advice) == ("right", ())
    report = judge(find("softmax"), lambda scores, axis=-1: scores, 3, policy=HIDDEN_NUMBERS)
    assert report.outcome == "wrong"


ODD = {
    "a list": lambda value: np.asarray(value).tolist(),
    "a nested tuple": lambda value: ((value, (value,)),),
    "text": str,
    "a dict": lambda value: {"result": value},
    "nothing in it": lambda value: np.asarray(value)[..., :0],
    "an axis too many": lambda value: np.asarray(value)[None],
    "one number": lambda value: np.asarray(value).sum(),
    "booleans": lambda value: np.asarray(value) > 0,
    "objects": lambda value: np.asarray(value).astype(object),
    "complex numbers": lambda value: np.asarray(value) * 1j,
    "dates": lambda value: np.asarray(value).astype("datetime64[s]"),
    "NaN": lambda value: np.asarray(value) * np.nan,
    "whole numbers": lambda value: np.nan_to_num(np.asarray(value) * 3).astype(int),
    "very large numbers": lambda value: np.asarray(value) * 1e300,
}


@pytest.mark.parametrize(
    "exercise",
    [
        "softmax",
        "online_softmax_stats",
        pytest.param("attention", marks=pytest.mark.slow),
        pytest.param("decode_step", marks=pytest.mark.slow),
    ],
)
@pytest.mark.parametrize("change", ODD.values(), ids=ODD)
def test_odd_values_are_explained_or_left_alone(exercise, change):
    reference = find(exercise).reference

    def odd(*args, **kwargs):
        value = reference(*args, **kwargs)
        return tuple(map(change, value)) if isinstance(value, tuple) else change(value)

    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert judge(find(exercise), odd, 0, GRADER).outcome in ("wrong", "error")


def test_a_slow_wrong_answer_is_called_no_more_than_decides(monkeypatch):
    calls = []

    def wrong(scores, axis=-1):
        calls.append(scores)
        return scores

    monkeypatch.setattr(judging, "MOST_SECONDS", -1.0)
    report = judge(find("softmax"), wrong, 0, VERDICT_ALONE)
    assert report.outcome == "wrong"
    assert len(calls) == 1
    assert judge(find("softmax"), right, 0).case_count > 1


def test_nothing_that_an_answer_does_ends_the_calls_of_a_right_verdict(monkeypatch):
    """A slow grader, and a forbidden call in the first case: the last case is compared too."""
    cases = len(cases_of(find("softmax"), 0))

    def wrong_at_last(scores, axis=-1):
        calls.append(scores)
        return scipy.special.softmax(scores, axis) * (1.0 if len(calls) < cases else 2.0)

    monkeypatch.setattr(judging, "MOST_SECONDS", -1.0)
    for policy in (GRADER, HIDDEN_NUMBERS):
        calls = []
        assert judge(find("softmax"), wrong_at_last, 0, policy).outcome == "wrong"
        assert len(calls) == cases


@pytest.mark.parametrize("count", [0, 1, -1])
@pytest.mark.parametrize("policy", [GRADER, HIDDEN_NUMBERS])
def test_fewer_results_than_cases_are_never_right(count, policy):
    class Short(ByValue):
        def observe_all(self, cases, forbidden, limit):
            return super().observe_all(cases, forbidden, limit)[:count]

    report = judge(find("softmax"), Short(right), 0, policy)
    assert report.outcome == "wrong"
    assert "calls of softmax came to an end" in report.sentence
