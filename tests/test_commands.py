"""What a learner calls from a notebook: `check`, `hint`, `solution`."""

import sys

import numpy as np
import pytest

import attention_lib.plots
from attention_lib import check, commands, hint, progress, solution
from attention_lib.commands import CheckFailed
from attention_lib.exercises import find
from attention_lib.model import ModelUnavailable, load_model
from tests.checks.judged import right, verdict


def test_right_answer_says_so_and_returns_none(capsys):
    assert check("softmax", right) is None
    assert capsys.readouterr().out.startswith("softmax: right. ")


def test_wrong_answer_raises_with_the_sentence():
    with pytest.raises(CheckFailed, match="the sum must run along axis only"):
        check("softmax", lambda scores, axis=-1: np.exp(scores) / np.exp(scores).sum())


BUILT_ON_LOG_SOFTMAX = """
def log_softmax(scores, axis=-1):
    return np.log(stable_softmax(scores, axis))
def cross_entropy(scores, targets):
    return -np.take_along_axis(log_softmax(scores), targets[..., None], -1).mean()
"""


@pytest.mark.parametrize(
    ("old", "new", "blamed"),
    [
        ("", "", True),
        ("-np.take", "np.take", False),
        ("(log_softmax(scores)", "(lib.log_softmax(scores)", False),
        ("    return -np", "    scores -= 1\n    return -np", False),
    ],
)
def test_a_wrong_answer_built_on_a_wrong_one_is_told_which(old, new, blamed, capsys):
    names = {"np": np, "lib": attention_lib, "stable_softmax": attention_lib.stable_softmax}
    exec(BUILT_ON_LOG_SOFTMAX.replace(old, new), names)
    before = names["log_softmax"]
    with pytest.raises(CheckFailed):
        check("cross_entropy", names["cross_entropy"])
    told = "Right with our log_softmax in place of yours: the fault is in your log_softmax."
    assert (told in capsys.readouterr().out) is blamed
    assert names["log_softmax"] is before


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda: hint("sofmax"), 'There is no exercise "sofmax". Did you mean softmax?'),
        (lambda: solution(" Softmax"), "Did you mean softmax?"),
        (lambda: check("saturation", right), "Did you mean written_saturation?"),
        (lambda: check(right, right), 'name in quotes: "right".'),
        (lambda: hint(2), 'name in quotes: "softmax".'),
        (lambda: check("softmax"), 'Give your answer too: check("softmax", softmax).'),
        (lambda: check(), 'Name the exercise and give your answer: check("softmax", softmax).'),
        (lambda: progress("03"), 'There is no lesson "03". Did you mean 03_scaling?'),
        (lambda: attention_lib.stable_sofmax, "Did you mean stable_softmax?"),
        (lambda: attention_lib.plots.sharpnes, "Did you mean sharpness?"),
        (lambda: load_model(2), "There is no file 2."),
        (lambda: attention_lib.plots.Slider([1, 2], 3, "step"), "and 3 is not one."),
    ],
)
def test_a_mistaken_call_gets_one_line_in_jupyter(call, said, monkeypatch):
    monkeypatch.setattr("attention_lib.model.is_installed", lambda: True)
    with pytest.raises((ValueError, AttributeError, ModelUnavailable)) as raised:
        call()
    (line,) = raised.value._render_traceback_()
    assert line.endswith(said)


def test_a_command_without_a_name_means_the_exercise_last_checked(capsys):
    for command in (hint, solution):
        with pytest.raises(ValueError, match="Name the exercise in quotes"):
            command()
    check("softmax", right)
    check("written_softmax", None)
    check("normalize_by_sum", lambda scores: scores / scores.sum(-1, keepdims=True))
    capsys.readouterr()
    solution()
    assert "def normalize_by_sum" in capsys.readouterr().out
    hint()
    assert find("normalize_by_sum").hints[0] in capsys.readouterr().out


def test_a_lesson_newer_than_the_library_asks_for_an_update():
    update = "this copy of the course is older than the lesson: update it, with git pull"
    with pytest.raises(ValueError, match=update):
        check("an_exercise_of_next_year", None)
    for module in (attention_lib, attention_lib.plots):
        with pytest.raises(AttributeError, match=f"has no attribute 'of_next_year'.*{update}"):
            print(module.of_next_year)
    assert not hasattr(attention_lib.plots, "of_next_year")


def test_without_pytorch_its_exercise_is_not_checked(monkeypatch):
    monkeypatch.setitem(sys.modules, "torch", None)
    monkeypatch.delitem(sys.modules, "attention_lib.lessons.gpu", raising=False)
    with pytest.raises(ImportError, match="needs PyTorch") as raised:
        check("pick_device", lambda: "cpu")
    assert len(raised.value._render_traceback_()) == 1
    assert commands._checked == []


def test_a_written_answer_is_read_by_a_person(capsys):
    check("written_softmax", None)
    assert "read by a person" in capsys.readouterr().out


def test_hints_come_one_at_a_time(capsys):
    hints = find("softmax").hints
    for number, text in enumerate(hints, start=1):
        hint("softmax")
        said = capsys.readouterr().out
        assert said.startswith(f"Hint {number} of {len(hints)}: {text}")
        assert ('last hint: solution("softmax")' in said) == (number == len(hints))
    hint("softmax")
    assert capsys.readouterr().out.startswith("Hint 1 of ")


def test_the_graders_seed_is_taken_from_the_environment(monkeypatch):
    seeds = []
    monkeypatch.setenv("ATTENTION_LIB_SEED", "77")
    monkeypatch.setattr(
        "attention_lib.commands.judge",
        lambda exercise, answer, seed: seeds.append(seed) or verdict(right),
    )
    check("softmax", right, seed=None)
    assert seeds == [77]
