"""A small change that makes an answer right is found, tried, and said; nothing else is said."""

import ast
import warnings

import numpy as np
import pytest

from attention_lib.checks.attempt import Attempt
from attention_lib.checks.calls.calling import observe
from attention_lib.checks.calls.timeouts import time_limit
from attention_lib.checks.compare.cases import trials_of
from attention_lib.checks.compare.comparing import Comparison
from attention_lib.checks.edits import search as searching
from attention_lib.checks.edits.search import search
from attention_lib.checks.findings import source
from attention_lib.checks.findings.source import edits_in_part, edits_of_all, left_after
from attention_lib.checks.judging import GRADER
from attention_lib.exercises import EXERCISES
from attention_lib.lessons.attention import attention
from attention_lib.lessons.stability import stable_softmax
from tests.checks.judged import explain_only_by, right, sentence_of, verdict


def _two_faults(scores, axis=-1):
    exponentials = np.exp(-scores)
    return exponentials / exponentials.sum(axis=1, keepdims=True)


def _two_faults_in_one_line(weights, axis=-1):
    w = np.where(weights > 0, weights, 1.0)
    return np.sum(w * np.log(w))


def _turned_shares(weights, grad_weights):
    dot = (weights * grad_weights).sum(axis=-1)
    return weights * (dot - grad_weights)


def _nothing_returned(scores):
    weights = scores / scores.sum(axis=-1, keepdims=True)
    warnings.warn(f"{weights}", stacklevel=1)


def _asserting(x, num_heads):
    assert x.shape[-1] % num_heads == 0
    return np.stack(np.split(x, num_heads, axis=-1), axis=-3)


def _search_that_stops_early(scores, target):
    if not 0 < target < np.log(len(scores)):
        raise ValueError
    low, high = 1e-6 * np.ptp(scores), 1e6 * np.ptp(scores)
    for _ in range(300):
        middle = np.sqrt(low * high)
        weights = np.exp((scores - scores.max()) / middle)
        weights = weights / weights.sum()
        if -np.sum(weights * np.log(np.maximum(weights, 1e-300))) > target:
            high = middle
        else:
            low = middle
        if high - low < 1e-4:
            break
    return middle


def _search_that_goes_astray(scores, target):
    if not 0 < target < np.log(len(scores)):
        raise ValueError
    shifted = scores - scores.max()
    low, high = 1e-6 * np.ptp(scores), 1e6 * np.ptp(scores)
    for _ in range(200):
        middle = np.sqrt(low * high)
        exponentials = np.exp(shifted / middle)
        weights = exponentials / exponentials.sum()
        if -np.sum(weights * np.log(np.maximum(weights, 1e-300))) > target:
            low = middle
        else:
            high = middle
    return middle


@pytest.mark.parametrize(
    ("name", "answer", "said"),
    [
        (
            "softmax",
            _two_faults,
            [
                "`exponentials / exponentials.sum(axis=axis, keepdims=True)`",
                ", write `exponentials = np.exp(scores)`",
            ],
        ),
        ("entropy", _two_faults_in_one_line, ["np.sum(-(w * np.log(w)), axis=axis)`"]),
        (
            "softmax_vjp",
            _turned_shares,
            ["`return weights * (grad_weights - dot)` in place of", "keepdims=True"],
        ),
        ("split_heads", _asserting, ["raise ValueError(...)` in place of the assert"]),
        (
            "temperature_for_entropy",
            _search_that_goes_astray,
            ["1e-300))) < target` in place of"],
        ),
    ],
)
def test_the_change_that_makes_every_result_right_is_named(name, answer, said):
    sentence = sentence_of(answer, name)
    assert sentence.endswith(", and every result is right.")
    for words in said:
        assert words in sentence.replace("return exponentials", "exponentials")


def test_what_the_check_refuses_after_a_change_is_said_with_it():
    report = verdict(_nothing_returned, "normalize_by_sum")
    assert report.edit == "End with `return weights`, and every result is right."
    assert "The function ends without a return. Besides: normalize_by_sum" in report.sentence
    assert report.sentence.endswith("Avoid the operation that warns.")


def test_a_change_that_the_rest_of_the_check_refuses_is_not_named(monkeypatch):
    words = "return weights * (grad_weights - dot)"
    assert words in sentence_of(_turned_shares, "softmax_vjp")
    monkeypatch.setattr(source, "left_after", lambda attempt, edited: None)
    assert words not in sentence_of(_turned_shares, "softmax_vjp")


def test_a_change_that_brings_in_a_fault_is_to_blame_for_it():
    exercise = EXERCISES["softmax"]

    def in_place(scores, axis=-1):
        scores[...] = scores + 1.0
        return right(scores, axis)

    def cools(scores, axis=-1):
        return right(2 * scores, axis)

    def cools_in_place(scores, axis=-1):
        scores[...] = 2.0 * scores
        return right(scores, axis)

    for before, said in ((cools, None), (cools_in_place, "softmax changes its input scores")):
        trials = [Comparison(exercise.name, *pair) for pair in _called(exercise, before)]
        after = left_after(Attempt(exercise, before, trials), in_place)
        assert (after and after[0].text[: len(said or "")]) == said


def test_a_change_that_is_right_on_these_inputs_alone_is_none():
    exercise, before = EXERCISES["softmax"], _two_faults
    trials = [Comparison(exercise.name, *pair) for pair in _called(exercise, before)]
    known = {one.trial.case.args[0].tobytes() for one in trials}

    def by_heart(scores, axis=-1):
        return right(scores, axis) if scores.tobytes() in known else scores

    assert left_after(Attempt(exercise, before, trials), by_heart) is None
    assert left_after(Attempt(exercise, before, trials), right) == []


def test_an_axis_counted_from_the_front_is_changed_wherever_it_stands():
    def for_one_batch_axis(query, key, value, mask=None):
        count = query.shape[1] // key.shape[1]
        keys, values = np.repeat(key, count, axis=1), np.repeat(value, count, axis=1)
        return attention(query, keys, values, mask)[0]

    sentence = sentence_of(for_one_batch_axis, "grouped_query_attention")
    assert "query.shape[-3] // key.shape[-3]" in sentence
    assert sentence.count("axis=-3") == 2
    assert sentence.endswith(", and every result is right.")


def test_words_of_torch_and_a_squeeze_of_every_axis_are_changed():
    def scaled(query, key):
        return query @ key.mT / np.sqrt(query.size(-1))

    def joined(scores, axis=-1, keepdims=False):
        top = scores.max(axis=axis, keepdims=True)
        total = np.exp(scores - np.where(np.isfinite(top), top, 0)).sum(axis=axis, keepdims=True)
        with np.errstate(divide="ignore"):
            result = np.log(total) + np.where(np.isfinite(top), top, 0)
        return result if keepdims else result.squeeze()

    assert "query.shape[-1]" in sentence_of(scaled, "scaled_scores")
    assert "result.squeeze(axis=axis)" in sentence_of(joined, "logsumexp")


def test_a_missing_sign_of_a_logarithm_is_not_mended_by_turning_its_quotient_round(monkeypatch):
    def without_minus(scores, targets):
        exponentials = np.exp(scores)  # overflows, the second fault
        shares = exponentials / exponentials.sum(axis=-1, keepdims=True)
        return np.log(shares[np.arange(len(targets)), targets]).mean()

    assert "The sign is reversed" in sentence_of(without_minus, "cross_entropy")
    explain_only_by(monkeypatch, edits_of_all, edits_in_part)
    sentence = sentence_of(without_minus, "cross_entropy")
    assert "write `return -np.log(" in sentence
    assert "/ exponentials`" not in sentence


def _called(exercise, answer):
    trials = trials_of(exercise, 0)
    return [(trial, observe(answer, trial.case)) for trial in trials]


def test_a_fault_besides_the_first_is_left_for_the_next_check(monkeypatch):
    def cools(scores, temperature, axis=-1):
        return right(scores * temperature, axis)

    explain_only_by(monkeypatch, edits_of_all, edits_in_part)
    sentence = sentence_of(cools, "softmax_with_temperature")
    assert "`scores / temperature`" in sentence or "right(scores / temperature, axis)" in sentence
    assert sentence.endswith("and this result is right; then look at the next.")


def test_a_change_that_is_right_by_chance_is_not_named():
    # With context twice the softmax is the same: right without a mask, and beside the point.
    def both_sequences(x, context, w_q, w_k, w_v, mask=None):
        both = np.concatenate([x, context], axis=-2)
        return attention(x @ w_q, both @ w_k, both @ w_v, mask)[0]

    assert "[context, context]" not in sentence_of(both_sequences, "cross_attention")


def test_the_source_of_a_right_answer_is_not_read(monkeypatch):
    monkeypatch.setattr(searching, "source_of", lambda _: pytest.fail("the source was read"))
    assert verdict(right).outcome == "right"


def test_the_grader_reads_no_source(monkeypatch):
    monkeypatch.setattr(searching, "source_of", lambda _: pytest.fail("the source was read"))
    assert verdict(_two_faults, policy=GRADER).outcome == "error"


@pytest.mark.slow
def test_an_answer_that_nothing_small_mends_takes_a_limited_time():
    def beyond(query, key, value, mask=None, scale=None):
        for _ in range(3):
            query = query @ key.mT @ key
        return query @ value.mT, np.tanh(value) + query.sum() - key.sum() * value.mean()

    with time_limit(30):  # without limits, minutes
        assert verdict(beyond, "attention").outcome == "error"


@pytest.mark.slow
def test_a_change_that_never_ends_is_given_up():
    def counts(scores, axis=-1):
        n = 0
        while n < 3:
            n += 1
        return right(scores, axis) * n

    with time_limit(30):
        assert sentence_of(counts)


def test_variables_of_the_notebook_stay_as_they_are():
    def uses_a_global(scores, axis=-1):
        return SCALE * right(scores, axis)

    before = dict(globals())
    sentence_of(uses_a_global)
    assert globals() == before


SCALE = 2.0


def test_no_change_of_a_test_for_closeness_is_named():
    said = sentence_of(_search_that_stops_early, "temperature_for_entropy")
    assert "wrong operation" not in said


def _refusing_negative_scales(query, key, scale=None):
    scale = query.shape[-1] ** -0.5 if scale is None else scale
    if scale <= 0:
        raise ValueError("scale must be positive")
    return query @ np.swapaxes(key, -1, -2) * scale


def test_a_condition_that_refuses_too_much_is_named_and_not_its_number():
    said = sentence_of(_refusing_negative_scales, "scaled_scores")
    assert ") refuses what the contract allows" in said


def test_a_second_search_of_an_answer_calls_no_edit_again(monkeypatch):
    exercise, real = EXERCISES["softmax"], searching.Search._call
    trials = [Comparison(exercise.name, *pair) for pair in _called(exercise, _two_faults)]
    calls, tried = [], {}
    count = lambda *given: calls.append(given) or real(*given)  # noqa: E731
    monkeypatch.setattr(searching.Search, "_call", count)
    first = [fix.words for fix in search(exercise, _two_faults, trials, tried).wholes()]
    assert len(calls) > 100
    calls.clear()
    assert [one.words for one in search(exercise, _two_faults, trials, tried).wholes()] == first
    assert calls == []


def _asserting_a_temperature(scores, temperature, axis=-1):
    assert temperature > 0
    return stable_softmax(scores / temperature, axis)


def test_two_edits_of_which_one_does_all_are_no_pair(monkeypatch):
    """As on a busy machine, where the edit that does all had run out of time by itself."""
    exercise = EXERCISES["softmax_with_temperature"]
    trials = [
        Comparison(exercise.name, *pair) for pair in _called(exercise, _asserting_a_temperature)
    ]
    begun = search(exercise, _asserting_a_temperature, trials, {})
    assert next(fix.words for fix in begun.wholes()).startswith("In line")
    real = searching.Search._calls_right
    late = lambda self, edits: real(self, edits) if len(edits) > 1 else 1  # noqa: E731
    monkeypatch.setattr(searching.Search, "_calls_right", late)
    begun = search(exercise, _asserting_a_temperature, trials, {})
    assert [fix.words for fix in begun.wholes()] == []


def test_a_function_without_its_text_is_left_alone():
    names = {"np": np}
    exec("def softmax(scores, axis=-1):\n    return np.exp(scores)", names)
    assert search(EXERCISES["softmax"], names["softmax"], [], {}) is None


def test_variables_that_get_their_value_below_are_not_tried():
    source = "def answer(x):\n    first = x + 1\n    second = x * first\n    return second"
    changes = searching.edits_of((ast.parse(source).body[0],), False)
    tried = {
        (edit.old.lineno, edit.new.id)
        for edit, *_ in changes
        if isinstance(edit.old, ast.Name) and isinstance(edit.new, ast.Name)
    }
    assert tried == {(3, "first"), (3, "x"), (4, "first"), (4, "x")}
