"""What a learner meets: one clear sentence for every way an answer can go wrong."""

import contextlib
import math
import sys
import time
import warnings

import numpy as np
import pytest
import scipy.special
import torch
from scipy.special import expit

import attention_lib
from attention_lib import check, hint, solution
from attention_lib.checks.calls import timeouts
from attention_lib.checks.calls.calling import observe
from attention_lib.checks.calls.case import Case
from attention_lib.checks.commands import CheckFailed
from attention_lib.checks.judging import GRADER, judge
from attention_lib.checks.panel import as_html, as_text
from attention_lib.checks.wording import known_name
from attention_lib.exercises import EXERCISES, find
from attention_lib.lessons import fast_flash


def right(scores, axis=-1):
    exponentials = np.exp(scores)
    return exponentials / exponentials.sum(axis=axis, keepdims=True)


def verdict(answer, name="softmax", seed=0):
    return judge(EXERCISES[name], answer, seed)


def sentence_of(answer, name="softmax"):
    report = verdict(answer, name)
    assert report.outcome != "right"
    assert "\n" not in report.sentence
    return report.sentence


def test_right_answer_says_so_and_returns_none(capsys):
    assert check("softmax", right) is None
    assert capsys.readouterr().out.startswith("softmax: right. ")


def test_wrong_answer_raises_with_the_sentence():
    with pytest.raises(CheckFailed, match="the sum must run along axis only"):
        check("softmax", lambda scores, axis=-1: np.exp(scores) / np.exp(scores).sum())


@pytest.mark.parametrize("answer", [None, ...])
def test_nothing_there_is_not_attempted(answer):
    assert verdict(answer).outcome == "unattempted"
    assert verdict(answer, "study_weights").outcome == "unattempted"


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


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        (lambda weights: None, "returned None"),
        (lambda weights: weights.tolist(), "returned a list of 3; it should return a NumPy array"),
        (lambda weights: (weights, 1), "returned a tuple of 2"),
        (lambda weights: iter(weights), "it should return a NumPy array"),
        (lambda weights: "weights", "it should return a NumPy array"),
        (lambda weights: torch.as_tensor(weights), "calls torch"),
        (lambda weights: weights[..., None], "returned shape (3, 1); it should be (3,)"),
        (lambda weights: weights.astype(np.float16), "dtype float16"),
        (lambda weights: weights.astype(object), "dtype object"),
        (lambda weights: weights + 0j, "dtype complex128"),
        (lambda weights: weights * np.nan, "NaN"),
        (lambda weights: weights * 1.0001, "gives 0.4224 at [0]; it should be 0.4223"),
    ],
)
def test_wrong_results_have_their_sentence(change, expected):
    assert expected in sentence_of(lambda scores, axis=-1: change(right(scores, axis)))


def test_float32_must_stay_float32():
    sentence = sentence_of(lambda scores, axis=-1: right(scores.astype(float), axis))
    assert "returned dtype float64; for this input it should be float32" in sentence
    assert "np.sqrt" in sentence  # where it mostly comes from


def test_integers_must_not_stay_integers():
    def cut(query, key, value, mask=None, scale=None):
        output, weights = attention_lib.attention(query, key, value, mask, scale)
        return output.astype(value.dtype), weights

    sentence = judge(EXERCISES["attention"], cut, seed=0, policy=GRADER).sentence
    assert "returned dtype int64; for this input it should be float64" in sentence
    assert "np.zeros_like" in sentence


def test_float64_computed_in_float32_is_not_right():
    def narrow(scores, axis=-1):
        dtype = scores.dtype if scores.dtype.kind == "f" else float
        return right(scores.astype(np.float32), axis).astype(dtype)

    assert "it should be" in sentence_of(narrow)


def test_a_changed_input_is_named():
    def changes(scores, axis=-1):
        result = right(scores, axis)
        scores[...] = 0
        return result

    assert "changes its input scores" in sentence_of(changes)


def test_a_warning_is_quoted():
    def warns(scores, axis=-1):
        warnings.warn("look out", stacklevel=1)
        return right(scores, axis)

    assert 'warns: "look out"' in sentence_of(warns)


@pytest.mark.parametrize("stream", ["stdout", "stderr"])
def test_a_print_is_quoted(stream):
    def prints(scores, axis=-1):
        print("debugging", file=getattr(sys, stream))
        return right(scores, axis)

    assert "prints 'debugging'" in sentence_of(prints)


def test_wrong_numbers_come_before_side_effects():
    def both(scores, axis=-1):
        print("debugging")
        return np.exp(scores) / np.exp(scores).sum()

    assert "the sum must run along axis only" in sentence_of(both)


def _with_torch(scores, axis=-1):
    return torch.softmax(torch.as_tensor(scores, dtype=torch.float64), axis).numpy()


def _with_torch_methods(scores, axis=-1):
    return torch.from_numpy(scores).softmax(axis).numpy()


@pytest.mark.parametrize(
    ("answer", "named"),
    [
        (lambda scores, axis=-1: scipy.special.softmax(scores, axis), "scipy"),
        (lambda scores, axis=-1: attention_lib.softmax(scores, axis), "the course's own solution"),
        (attention_lib.softmax, "the course's own solution"),
        (lambda s, axis=-1: s / fast_flash.thread_count(), "the course's own solution"),
        (lambda s, axis=-1: attention_lib.stable_softmax(s, axis), "the course's own solution"),
        (
            lambda s, axis=-1: np.exp(attention_lib.log_softmax(s, axis)),
            "attention_lib.log_softmax",
        ),
        (_with_torch, "torch"),
        (_with_torch_methods, "torch"),
    ],
)
def test_calls_that_do_the_work_are_named(answer, named):
    assert named in sentence_of(answer)


@pytest.mark.parametrize(
    ("name", "known"),
    [
        ("scipy.special._logsumexp.softmax", "scipy.special.softmax"),
        ("scipy.stats._policy._policy_factory.<locals>.decorator.<locals>.wra", "scipy.stats"),
        ("torch._scaled_dot_product", "torch._scaled_dot_product"),
        ("attention_lib.lessons.softmax.softmax", "attention_lib.softmax"),
    ],
)
def test_calls_have_the_names_that_learners_know(name, known):
    assert known_name(name) == known


def _divided_in_place(scores, axis=-1):
    scores /= 1
    return right(scores, axis)


def _filled_in_place(scores, axis=-1):
    scores[scores < -99] = -np.inf
    return right(scores, axis)


def _maximum_without_its_axis(scores, axis=-1):
    return right(scores - scores.max(axis=axis), axis)


def _by_math(scores, axis=-1):
    return math.exp(scores)


def _with_an_if(scores, axis=-1):
    return max(scores, 0)


def _by_another_mask(scores, axis=-1):
    return right(scores, axis)[np.array([True])]


def _with_fixed_axes(scores, axis=-1):
    return right(scores.transpose(0, 1), axis)


def _with_two_axes(scores, axis=-1):
    _rows, _columns = scores.shape
    return right(scores, axis)


def _with_two_results(scores, axis=-1):
    _result, _none = (right(scores, axis),)
    return _result


def _with_two_letters(scores, axis=-1):
    return np.einsum("ij->ij", right(scores, axis))


def _added_crosswise(scores, axis=-1):
    return right(scores, axis) if scores.ndim < 2 else scores + scores.T


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        (
            _divided_in_place,
            "An integer array takes no fractions: put the result in a new array, "
            "as x = x / y does and x /= y does not.",
        ),
        (
            _filled_in_place,
            "integer. An integer array takes no -inf: use np.where, or a float array.",
        ),
        (
            _maximum_without_its_axis,
            "(2,3) (2,). Is an axis missing at the end? keepdims=True keeps it in a sum or maximum, "
            "and [..., None] adds one.",
        ),
        (_by_math, "Functions of math take one number: those of np take arrays."),
        (
            _with_an_if,
            "if, max and min take one number: np.where, np.maximum and np.minimum take arrays, "
            "and `is not None` asks whether there is one.",
        ),
        (_by_another_mask, "A mask of another shape is broadcast first, as np.where does."),
        (_with_fixed_axes, "exchange two axes with np.swapaxes, counted from the end."),
        (_with_two_axes, "*batch, length, width = x.shape takes them all."),
        (_with_two_results, "values to unpack (expected 2, got 1)"),
        (_with_two_letters, "and ... stands for any number of batch dimensions."),
        (_added_crosswise, "could not be broadcast together with shapes (2,3) (3,2)"),
    ],
)
def test_errors_of_numpy_end_with_their_remedy(answer, said):
    report = verdict(answer)
    assert report.outcome == "error"
    assert report.sentence.endswith(said)


def _with_a_ufunc(scores, axis=-1):
    return right(scores, axis) + expit(scores) * 0


def _with_a_ufunc_imported_inside(scores, axis=-1):
    import scipy.special as special

    return right(scores, axis) + special.expit(scores) * 0


@pytest.mark.parametrize("answer", [_with_a_ufunc, _with_a_ufunc_imported_inside])
def test_scipy_ufuncs_are_seen_too(answer):
    assert "calls scipy.special.expit" in sentence_of(answer)


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

    def reversed_(scores, axis=-1):
        return scipy.special.softmax(scores, axis)[..., ::-1]

    report = judge(find("softmax"), along_the_whole, 0, policy=GRADER)
    assert "the sum must run along axis only" in report.sentence
    report = judge(find("softmax"), reversed_, 0, policy=GRADER)
    assert "it should be" in report.sentence
    assert report.advice == ()


def test_what_is_measured_counts_for_a_grader_too():
    def by_a_matrix(weights, grad_weights):
        jacobian = weights[..., None] * (np.eye(weights.shape[-1]) - weights[..., None, :])
        return (grad_weights[..., None, :] @ jacobian)[..., 0, :].astype(weights.dtype)

    report = judge(find("softmax_vjp"), by_a_matrix, 0, policy=GRADER)
    assert "builds an n × n matrix" in report.sentence


def test_what_an_answer_does_to_numpys_error_state_ends_with_it():
    def silences(scores, axis=-1):
        np.seterr(all="ignore")
        return right(scores, axis)

    before = np.geterr()
    assert verdict(silences).outcome == "right"
    assert np.geterr() == before


def test_functions_of_earlier_lessons_are_welcome():
    report = verdict(lambda s, axis=-1: attention_lib.softmax(s, axis), "stable_softmax")
    assert report.outcome == "right"


def test_their_error_shows_their_lines_and_none_of_ours():
    def breaks(scores, axis=-1):
        return scores / np.ones((7, 11, 13))

    report = verdict(breaks)
    text = as_text(report)
    assert report.outcome == "error"
    assert "return scores / np.ones((7, 11, 13))" in text
    assert "calling.py" not in text
    assert "observe" not in text


def test_missing_parameters_show_the_first_line_to_write():
    sentence = sentence_of(lambda scores: right(scores))
    assert "its first line should be def softmax(scores, axis=-1):" in sentence


def test_an_endless_loop_is_stopped(monkeypatch):
    monkeypatch.setattr(timeouts, "CALL_SECONDS", 0.2)

    def endless(scores, axis=-1):
        while True:
            with contextlib.suppress(Exception):
                time.sleep(60)

    assert "was stopped: look for a loop that never ends" in sentence_of(endless)


def test_waiting_for_a_busy_processor_is_no_endless_loop():
    with timeouts.time_limit(0.5):
        time.sleep(0.6)


def test_a_library_that_is_only_imported_does_no_work(tmp_path, monkeypatch):
    (tmp_path / "sklearn.py").write_text("def load():\n    return 1\n\n\nLOADED = load()\n")
    monkeypatch.syspath_prepend(tmp_path)

    def importing(scores, axis=-1):
        import sklearn  # noqa: F401

        return right(scores, axis)

    def calling_it(scores, axis=-1):
        import sklearn

        return right(scores, axis) * sklearn.load()

    assert verdict(importing).outcome == "right"
    del sys.modules["sklearn"]
    assert "calls sklearn.load" in sentence_of(calling_it)
    del sys.modules["sklearn"]


def test_another_error_than_the_one_asked_for_is_told_apart():
    def asserting(x, num_heads):
        if x.shape[-1] % num_heads:
            raise AssertionError
        return np.stack(np.split(x, num_heads, axis=-1), axis=-3)

    sentence = sentence_of(asserting, "split_heads")
    assert "should raise ValueError here; it stopped in line" in sentence
    assert sentence.endswith("with AssertionError.")


def test_booleans_are_shown_as_booleans():
    flipped = sentence_of(lambda length: np.tri(length, dtype=bool)[::-1], "causal_mask")
    assert flipped == "causal_mask gives True at [0, 1]; it should be False."


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


def test_an_unknown_name_names_the_nearest():
    with pytest.raises(ValueError, match="Did you mean softmax"):
        check("sofmax", right)
    with pytest.raises(ValueError, match="in quotes"):
        check(right, right)


def test_a_written_answer_is_read_by_a_person(capsys):
    check("written_softmax", None)
    assert "read by a person" in capsys.readouterr().out


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


def test_an_entropy_in_place_of_a_temperature_is_named():
    sentence = sentence_of(lambda scores, target: target, "temperature_for_entropy")
    assert sentence.endswith("you returned an entropy. Return the temperature that leads to it.")


def test_hints_come_one_at_a_time(capsys):
    hints = find("softmax").hints
    for number, text in enumerate(hints, start=1):
        hint("softmax")
        assert capsys.readouterr().out == f"Hint {number} of {len(hints)}: {text}\n"
    hint("softmax")
    assert capsys.readouterr().out.startswith("Hint 1 of ")


def test_solution_shows_the_reference_with_its_docstring(capsys):
    solution("softmax")
    shown = capsys.readouterr().out
    assert shown.startswith("def softmax(")
    assert "Returns\n" in shown


@pytest.mark.parametrize("name", EXERCISES)
def test_every_exercise_can_show_its_solution_and_its_hints(name, capsys):
    solution(name)
    hint(name)
    assert capsys.readouterr().out


def test_the_panel_holds_no_markup_of_the_learners():
    def hostile(scores, axis=-1):
        raise ValueError("<script>alert(1)</script>")

    panel = as_html(verdict(hostile))
    assert "<script>" not in panel
    assert 'data-outcome="error"' in panel


def test_the_panel_marks_the_wrong_entries():
    panel = as_html(verdict(lambda s, axis=-1: right(s, axis) * np.linspace(1, 1.1, s.shape[-1])))
    assert panel.count("outline") == 2  # the first of three entries is right


def test_of_what_is_far_too_large_a_report_writes_the_beginning():
    class Counted:
        def __repr__(self):
            written.append(self)
            return "entry"

    written = []
    short_axes = np.zeros((4,) * 8)  # each of which would be written in full
    many = [[Counted()] * 100] * 100
    for returned in (short_axes, many):
        report = verdict(lambda scores, axis=-1, returned=returned: returned)
        assert len(as_text(report)) < 1000
    assert 0 < len(written) <= 400


def test_hidden_cases_differ_from_the_learners():
    def cases(seed):
        return [case.args[0].sum() for case in find("softmax").cases(np.random.default_rng(seed))]

    assert cases(0) == cases(0)
    assert cases(0) != cases(1)


def test_the_graders_seed_is_taken_from_the_environment(monkeypatch):
    seeds = []
    monkeypatch.setenv("ATTENTION_LIB_SEED", "77")
    monkeypatch.setattr(
        "attention_lib.checks.commands.judge",
        lambda exercise, answer, seed: seeds.append(seed) or verdict(right),
    )
    check("softmax", right, seed=None)
    assert seeds == [77]


def test_warnings_and_prints_of_an_answer_do_not_leak(capsys):
    def loud(scores, axis=-1):
        print("noise")
        warnings.warn("noise", stacklevel=1)
        return right(scores, axis)

    observe(loud, Case(np.ones(3)))
    captured = capsys.readouterr()
    assert captured.out == captured.err == ""


def test_a_wrong_pair_is_shown_result_by_result():
    def turned(left, right):
        return attention_lib.merge_softmax_stats(left, right)[::-1]

    text = as_text(verdict(turned, "merge_softmax_stats"))
    for label in ("you returned, result 1", "right is, result 1", "right is, result 2"):
        assert label in text


def test_a_wrong_result_within_a_result_is_shown_part_by_part():
    def doubled(query, key, value, cache=None):
        keys, values = cache or (key[:0], value[:0])
        return value, [np.concatenate([keys, key], -2), 2 * np.concatenate([values, value], -2)]

    report = verdict(doubled, "decode_step")
    assert report.sentence == "part 2 of result 2 of decode_step gives 6 at [0, 0]; it should be 3."
    for label in ("you returned, result 1", "you returned, part 2 of result 2"):
        assert label in as_text(report)

    report = verdict(lambda query, key, value, cache=None: (value, None), "decode_step")
    assert report.sentence == "result 2 of decode_step returned None; it should return 2 parts."
    assert "right is, part 2 of result 2" in as_text(report)


def test_minus_zero_is_written_as_zero():
    def one_for_zero(query, key, scale=None):
        scale = query.shape[-1] ** -0.5 if scale is None else scale or 1.0
        return query @ np.swapaxes(key, -1, -2) * scale

    assert sentence_of(one_for_zero, "scaled_scores").endswith("; it should be 0.")
