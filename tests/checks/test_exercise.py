"""An exercise as the checks use it."""

import dataclasses

import pytest

from attention_lib.checks.compare.cases import cases_of
from attention_lib.checks.exercise import known_mistakes
from attention_lib.exercises import EXERCISES, _listed
from attention_lib.exercises.scaling import entropy

FUNCTIONS = [exercise for exercise in EXERCISES.values() if exercise.kind == "function"]


def test_exercises_can_be_keys_of_a_cache():
    assert len({hash(exercise) for exercise in EXERCISES.values()}) == len(EXERCISES)


@pytest.mark.parametrize("exercise", FUNCTIONS, ids=lambda exercise: exercise.name)
def test_parameters_name_the_arguments_of_every_case(exercise):
    assert all(name.isidentifier() for name in exercise.parameters)
    for case in cases_of(exercise, 0):
        assert len(case.args) <= len(exercise.parameters)
        assert set(case.kwargs) <= set(exercise.parameters)


def test_parameters_of_a_kernel_are_those_of_its_launch():
    parameters = EXERCISES["flash_kernel"].parameters
    assert parameters == ("query", "key", "value", "is_causal", "tile")


@pytest.mark.parametrize(
    ("table", "measured", "said"),
    [
        (("You took the last axis: use axis.", len), (), "Begin .* with the mistake's id"),
        (("one: A.", len, "one: B.", len), (), "Two mistakes of one exercise have the id one"),
        (("one: A.", len), ("two",), "measured names two"),
    ],
)
def test_table_of_mistakes_with_a_wrong_id_is_refused(table, measured, said):
    with pytest.raises(ValueError, match=said):
        known_mistakes(*table, measured=measured)


def test_one_hint_without_a_comma_is_refused():
    with pytest.raises(TypeError, match="entropy: hints must be a tuple"):
        dataclasses.replace(EXERCISES["entropy"], hints="Use np.log.")


def test_a_name_that_is_not_the_modules_is_refused(monkeypatch):
    other = dataclasses.replace(EXERCISES["entropy"], name="entropi")
    monkeypatch.setattr(entropy, "EXERCISE", other)
    with pytest.raises(ValueError, match=r"scaling\.entropy: its exercise has the name 'entropi'"):
        list(_listed("03_scaling"))
