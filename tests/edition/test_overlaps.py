"""What answers an exercise elsewhere, and what stands in place of code that does."""

import ast

import numpy as np
import pytest

from attention_lib.edition import calls, engine
from attention_lib.edition.curves import sampled, value_at
from attention_lib.edition.lookups import NotRecorded
from attention_lib.edition.overlaps import answered_by, functions_of, shown_by, stand_in
from attention_lib.exercises import EXERCISES
from attention_lib.exercises.scaling.temperature_for_entropy import entropy_at
from attention_lib.lessons import LESSONS, softmax

STABILITY = [one for one in EXERCISES.values() if one.lesson == "02_stability"]


def test_function_of_earlier_lesson_that_answers_a_later_exercise_is_found():
    found = [
        (name, exercise.name)
        for place, lesson in enumerate(LESSONS[:3])
        for module, name in functions_of(lesson)
        for exercise in answered_by(
            getattr(module, name),
            [one for one in EXERCISES.values() if one.lesson in LESSONS[place + 1 : 4]],
        )
    ]
    assert found == [("softmax", "stable_softmax")]


def test_model_answer_of_its_own_lesson_stands_in_for_a_function_unless_it_answers_too():
    node = stand_in(softmax, "softmax", EXERCISES, STABILITY)
    assert "max" not in ast.unparse(node).replace("softmax", "")
    assert stand_in(softmax, "softmax", EXERCISES, [EXERCISES["softmax"]]) is None


def rows_only(row):
    exponentials = np.exp(row)
    return exponentials / exponentials.sum()


def calls_the_answer(row):
    return softmax.softmax(row)


def calls_another(row):
    return calls_the_answer(row)


def test_notebooks_function_that_shows_an_answer_is_named_and_one_that_calls_it_is_not():
    functions = [rows_only, calls_the_answer, calls_another]
    graded = [EXERCISES["softmax"], EXERCISES["weighted_sum"]]
    shown = [(name, exercise.name) for name, exercise in shown_by(functions, graded)]
    assert shown == [("rows_only", "softmax")]


def test_curve_gives_the_digits_that_a_sentence_prints():
    scores = np.array([3.0, 1.0, 0.0])
    table = sampled(lambda temperature: entropy_at(scores, temperature), 3.0)
    for temperature in np.geomspace(0.15, 1e12, 500):
        assert f"{value_at(table, temperature):.7g}" == f"{entropy_at(scores, temperature):.7g}"
    assert value_at(table, 1e-300) < 1e-15
    assert np.isnan([value_at(table, number) for number in (0.0, -1.0, np.inf, np.nan)]).all()


def test_own_function_stands_in_for_the_tuned_engine_and_says_so_once(monkeypatch, capsys):
    monkeypatch.setattr(calls, "own", {})
    monkeypatch.setattr(engine, "_named", set())
    with pytest.raises(NotRecorded, match="tiled_causal_attention is an exercise of lesson 07"):
        engine.attend(1, 2, 3, is_causal=True)
    calls.own["tiled_attention"] = lambda *args: args
    assert [engine.attend(1, 2, 3, 16) for _ in range(2)] == [((1, 2, 3, 16),)] * 2
    assert capsys.readouterr().out.count("This is your own tiled_attention.") == 1
