"""Calls of withheld functions that nothing is recorded for say what must come before."""

import pytest

from attention_lib.edition import calls, storage
from attention_lib.edition.lookups import NotRecorded
from attention_lib.edition.packing import Packer
from attention_lib.lessons.fast_flash import attend
from attention_lib.lessons.gradients import numerical_gradient
from attention_lib.record import RELEASES


@pytest.fixture(autouse=True)
def nothing_recorded(tmp_path, monkeypatch):
    Packer().write(tmp_path / "calls.bin", {"tables": {}, "outcomes": []})
    monkeypatch.setattr(calls, "RECORDS", tmp_path)
    monkeypatch.setattr(calls, "own", {})
    monkeypatch.chdir(tmp_path)
    calls._calls.cache_clear()
    yield
    calls._calls.cache_clear()


@pytest.mark.parametrize(("is_kept", "where"), [(True, "there"), (False, "in this notebook")])
def test_open_exercise_is_named_with_its_lesson(tmp_path, is_kept, where):
    if is_kept:
        (tmp_path / RELEASES).write_text("{}")
    with pytest.raises(NotRecorded) as caught:
        calls.call(numerical_gradient, lambda x: x, 1.0)
    assert str(caught.value) == (
        "numerical_gradient is an exercise of lesson 04: once "
        f"check('numerical_gradient', numerical_gradient) has passed {where}, "
        "lib.numerical_gradient is your own function."
    )


def test_function_that_is_no_exercise_is_withheld_until_its_lesson_is_over():
    with pytest.raises(NotRecorded) as caught:
        calls.call(attend, 1.0)
    assert str(caught.value) == (
        "attend has no recorded result for these arguments: this edition of the course withholds "
        "it until lesson 07 is over, and records the calls of the lesson's own cells and checks."
    )


def test_function_that_another_notebook_stores_is_called_from_then_on(tmp_path):
    (tmp_path / RELEASES).write_text("{}")
    with pytest.raises(NotRecorded):
        calls.call(numerical_gradient, abs, -1.0, 1e-5)
    for factor in (1, 10):
        names = {"__name__": "__main__"}
        exec(f"def numerical_gradient(f, x, step=1): return {factor} * f(x) + step", names)
        calls.remember("numerical_gradient", names["numerical_gradient"])
        calls.own.clear()  # as in a kernel of its own
        assert calls.call(numerical_gradient, abs, -1.0, 2.0) == factor + 2
    (stored,) = (tmp_path / storage.FOLDER).iterdir()
    stored.unlink()
    with pytest.raises(NotRecorded):
        calls.call(numerical_gradient, abs, -1.0, 2.0)
