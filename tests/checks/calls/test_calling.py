"""Calling an answer, also by a proxy, and noting what it does."""

import time
import warnings

import numpy as np
import pytest
import torch

from attention_lib.checks.calls import timeouts
from attention_lib.checks.calls.calling import observe, observe_all
from attention_lib.checks.calls.case import Case
from attention_lib.checks.calls.timeouts import OutOfTime
from attention_lib.checks.judging import judge
from attention_lib.checks.show.panel import as_text
from attention_lib.exercises import find
from tests.checks.calls.by_value import ByValue
from tests.checks.judged import right, verdict


def breaks(x):
    raise KeyError("there is none")


def test_a_call_returns_raises_and_warns_as_the_answer_does():
    def halves(x):
        warnings.warn("look out", stacklevel=1)
        return x / 2

    with pytest.warns(UserWarning, match="look out"):
        assert ByValue(halves)(x=3.0) == 1.5
    with pytest.raises(KeyError, match="there is none"):
        ByValue(breaks)(1)


def test_changes_to_arguments_stay_in_the_other_process():
    def fills(x):
        x[...] = 7.0

    x = np.zeros(3)
    assert ByValue(fills)(x) is None
    assert not x.any()
    (seen,) = observe_all(ByValue(fills), [Case(x)])
    assert seen.changed == ["0"]


def test_tensors_without_values_are_sent_too():
    without_values = torch.empty(2, 3, device="meta")
    (seen,) = observe_all(ByValue(lambda tensor: tensor.mT), [Case(without_values)])
    assert (seen.value.is_meta, tuple(seen.value.shape), seen.changed) == (True, (3, 2), [])


def test_running_out_of_time_in_another_process_is_raised_here():
    class Late(ByValue):
        def observe_all(self, cases, forbidden, limit):
            (seen,) = super().observe_all(cases, forbidden, limit)
            seen.out_of_time = True
            return [seen]

    with pytest.raises(OutOfTime):
        Late(abs)(1)


def test_the_frames_of_an_error_are_the_learners_and_come_with_their_lines():
    frames = observe(breaks, Case(1)).frames
    assert [(frame.name, frame.line) for frame in frames] == [
        ("breaks", 'raise KeyError("there is none")')
    ]


def test_the_time_limit_does_not_cut_off_replies_from_another_process(monkeypatch):
    """A probe may take as long as the answers to its calls; each of them is limited there."""
    monkeypatch.setattr(timeouts, "CALL_SECONDS", 0.05)
    before = time.process_time()

    class Slow(ByValue):
        def __call__(self, *args, **kwargs):
            while time.process_time() < before + 0.2:
                pass
            return super().__call__(*args, **kwargs)

    assert judge(find("decode_step"), Slow(decode_step), 0).outcome == "right"
    assert time.process_time() > before + 0.2


def decode_step(query, key, value, cache=None):
    if cache is not None:
        key, value = (np.concatenate(pair, -2) for pair in zip(cache, (key, value), strict=True))
    scores = query @ key.mT / query.shape[-1] ** 0.5
    weights = np.exp(scores - scores.max(-1, keepdims=True))
    weights /= weights.sum(-1, keepdims=True)
    return weights @ value, (key, value)


def test_a_probe_that_ran_out_of_time_in_another_process_says_so():
    class Stuck(ByValue):
        def __call__(self, *args, **kwargs):
            raise OutOfTime

    report = judge(find("decode_step"), Stuck(decode_step), 0)
    assert report.outcome == "wrong"
    assert "took over 5 seconds" in report.sentence


def test_a_report_shows_the_lines_of_an_error_from_another_process():
    report = judge(find("softmax"), ByValue(lambda scores, axis=-1: scores / np.ones((7, 11))), 0)
    assert report.outcome == "error"
    assert "scores / np.ones((7, 11))" in as_text(report)


def test_what_an_answer_does_to_numpys_error_state_ends_with_it():
    def silences(scores, axis=-1):
        np.seterr(all="ignore")
        return right(scores, axis)

    before = np.geterr()
    assert verdict(silences).outcome == "right"
    assert np.geterr() == before


@pytest.mark.parametrize(
    ("operation", "outcome"),
    [("matmul", "right"), ("dot", "right"), ("vecdot", "right"), ("exp", "wrong")],
)
def test_a_flag_that_a_blas_raises_is_no_fault_of_the_answer(operation, outcome):
    def flagged(scores, axis=-1):
        warnings.warn(f"invalid value encountered in {operation}", RuntimeWarning, stacklevel=1)
        return right(scores, axis)

    assert judge(find("softmax"), flagged, 0).outcome == outcome


def test_warnings_and_prints_of_an_answer_do_not_leak(capsys):
    def loud(scores, axis=-1):
        print("noise")
        warnings.warn("noise", stacklevel=1)
        return right(scores, axis)

    observe(loud, Case(np.ones(3)))
    captured = capsys.readouterr()
    assert captured.out == captured.err == ""
