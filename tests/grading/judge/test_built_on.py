"""A fault costs its points once: what is built on it is tried with the model answer in its place."""

import time
from types import SimpleNamespace

import pytest
from nbformat.v4 import new_code_cell

from attention_lib.exercises import EXERCISES
from attention_lib.grading import limits
from attention_lib.grading.judge import execution
from attention_lib.grading.judge.built_on import model_answers
from tests.grading.judge.running import answer_cell, check_cell, errors, run_cells

LESSON = "05_attention"
pytestmark = [pytest.mark.sandbox, pytest.mark.slow]
IMPORTS = "import numpy as np\nimport attention_lib as lib"
STUB = "def attention(query, key, value, mask=None, scale=None):\n    raise NotImplementedError()"
UNSCALED = """
def attention(query, key, value, mask=None, scale=None):
    weights = lib.masked_softmax(query @ np.swapaxes(key, -2, -1), True if mask is None else mask)
    return weights @ value, weights
"""
SELF = """
def self_attention(x, w_q, w_k, w_v, mask=None):
    print("secret of", attention.__name__)
    return attention(x @ w_q, x @ w_k, x @ w_v, mask)[0]
"""
WITH_HELPER = f"def project(x, *ways):\n    return [x @ way for way in ways]\n{UNSCALED}"
SELF_BY_HELPER = """
def self_attention(x, w_q, w_k, w_v, mask=None):
    return attention(*project(x, w_q, w_k, w_v), mask)[0]
    # raise NotImplementedError()
"""
SELF_WRONG = SELF.replace("x @ w_k", "x @ w_q")
SELF_STUB = "def self_attention(x, w_q, w_k, w_v, mask=None):\n    raise NotImplementedError()"


NAMES = ("attention", "self_attention", "cross_attention")


def checked(*sources, lesson=LESSON, names=NAMES):
    """Return the check cells of the first exercises as they are shown."""
    cells = [new_code_cell(IMPORTS, id="added-0")]
    for name, source in zip(names, sources, strict=False):
        cells += [answer_cell(name, source), check_cell(name)]
    answers = model_answers(lesson)
    return run_cells(*cells, lesson=lesson, cell_seconds=1.0, answers=answers)[2::2]


SOURCES = {
    "wrong": UNSCALED,
    "blank": STUB,
    "stops": "1 / 0",
    "never ends": f"while True: pass\n{UNSCALED}",
    "ends Python": f"import os; os._exit(0)\n{UNSCALED}",
    "ends Python when called": "import os\ndef attention(*_): os._exit(0)",
}


@pytest.mark.parametrize("attention", SOURCES.values(), ids=list(SOURCES))
def test_right_answer_built_on_a_wrong_one_is_right_and_says_with_whose(attention):
    first, second = checked(attention, SELF)
    assert errors(first)
    assert not errors(second)
    (output,) = second.outputs
    assert output.metadata.attention_lib["ours"] == ["attention"]
    assert "right with ours in place of your attention" in output.data["text/plain"]
    assert "secret" not in str(output)


STUDY_LESSON = {"lesson": "01_softmax", "names": ("softmax", "study_weights")}
STUDY = "study_weights = None\nstudy_weights = softmax(np.array([2.0, 4.0, 4.0]))"


def test_value_whose_cell_a_wrong_function_stopped_is_right_with_ours(monkeypatch):
    monkeypatch.setattr(limits, "CHECK_SECONDS", 1.0)
    softmax = "def softmax(scores, axis=-1):\n    while True: pass"
    first, second = checked(softmax, STUDY, **STUDY_LESSON)
    assert errors(first)
    assert second.outputs[0].metadata.attention_lib["ours"] == ["softmax"]


CROSS = """
def cross_attention(x, context, w_q, w_k, w_v, mask=None):
    return attention(x @ w_q, context @ w_k, context @ w_v, mask)[0]
"""


def test_reruns_with_ours_have_their_own_time_each_an_equal_share(monkeypatch):
    now, deadlines, run_and_check = [0.0], [], execution._run_and_check

    def use_all_of_the_time(notebook, cells, task, deadline):
        ran = run_and_check(notebook, cells, task, time.monotonic() + 60)
        now[0] = deadline
        deadlines.append(deadline)
        return ran

    monkeypatch.setattr(execution, "_run_and_check", use_all_of_the_time)
    monkeypatch.setattr(execution, "time", SimpleNamespace(monotonic=lambda: now[0]))
    *_, last = checked(UNSCALED, SELF_WRONG, CROSS)
    assert last.outputs[0].metadata.attention_lib["ours"] == ["attention", "self_attention"]
    assert deadlines == [50.0, 55.0, 60.0]


UNANSWERED = {
    "study_weights = None\nwhile True: pass": "study_weights has no answer: its cell did not end.",
    "study_weights = None\nstudy_weight = np.ones(3)": "a cell defines study_weight instead of",
    "study_weights = None\nraise NotImplementedError()": "'outcome': 'unattempted'",
}


@pytest.mark.parametrize("source", UNANSWERED)
def test_placeholder_says_not_attempted_only_if_no_cell_answers_it(source):
    _, second = checked("", source, **STUDY_LESSON)
    assert UNANSWERED[source] in str(second.outputs)


def test_what_else_a_wrong_answers_cell_defines_is_there_with_ours():
    first, second = checked(WITH_HELPER, SELF_BY_HELPER)
    assert errors(first)
    assert not errors(second)


@pytest.mark.parametrize("own", [SELF_WRONG, SELF_STUB], ids=["wrong", "blank"])
def test_what_is_wrong_by_itself_stays_wrong(own):
    first, second = checked(UNSCALED, own)
    assert errors(first)
    assert errors(second)


def test_exercises_are_built_on_earlier_ones_of_their_lesson():
    names = list(EXERCISES)
    for exercise in EXERCISES.values():
        for other in exercise.built_on:
            assert EXERCISES[other].lesson == exercise.lesson
            assert names.index(other) < names.index(exercise.name)
