"""Calls of functions that may not do the work are noticed."""

import sys

import numpy as np
import pytest
import scipy.special
import torch
from scipy.special import expit

import attention_lib
from attention_lib.checks.calls.calling import observe
from attention_lib.checks.calls.case import Case
from tests.checks.judged import right, sentence_of, verdict


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
        (lambda s, axis=-1: attention_lib.stable_softmax(s, axis), "the course's own solution"),
        (
            lambda s, axis=-1: np.exp(attention_lib.log_softmax(s, axis)),
            "calls lib.log_softmax",
        ),
        (_with_torch, "torch"),
        (_with_torch_methods, "torch"),
    ],
)
def test_calls_that_do_the_work_are_named(answer, named):
    assert named in sentence_of(answer)


def _with_a_ufunc(scores, axis=-1):
    return right(scores, axis) + expit(scores) * 0


def _with_a_ufunc_imported_inside(scores, axis=-1):
    import scipy.special as special

    return right(scores, axis) + special.expit(scores) * 0


@pytest.mark.parametrize("answer", [_with_a_ufunc, _with_a_ufunc_imported_inside])
def test_scipy_ufuncs_are_seen_too(answer):
    assert "calls scipy.special.expit" in sentence_of(answer)


def logit(scores):
    return scores


def test_a_learners_own_function_is_not_taken_for_scipys():
    def with_its_own(scores, axis=-1):
        assert scipy.special is not None
        return right(logit(scores), axis)

    assert observe(with_its_own, Case(np.ones(2)), ("scipy",)).forbidden == ""


def test_functions_that_numpy_has_too_are_not_taken_for_scipys():
    def of_numpy(scores, axis=-1):
        assert scipy.special is not None
        return right(scores, axis) * np.exp2(0.0)

    assert observe(of_numpy, Case(np.ones(2)), ("scipy",)).forbidden == ""


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


def test_a_package_imported_by_an_answer_has_not_been_called(tmp_path, monkeypatch):
    (tmp_path / "their_lib").mkdir()
    (tmp_path / "their_lib" / "__init__.py").write_text("import their_lib.work")
    (tmp_path / "their_lib" / "work.py").write_text("class Work:\n    def do(self): ...")
    monkeypatch.syspath_prepend(tmp_path)

    def imports(works):
        from their_lib.work import Work

        if works:
            Work().do()

    forbidden = ("their_lib.work.Work",)
    assert observe(imports, Case(False), forbidden).forbidden == ""
    assert observe(imports, Case(True), forbidden).forbidden == "their_lib.work.Work.do"
