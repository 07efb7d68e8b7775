"""Checksums: what is said of numbers beside one is what is said beside the array itself."""

import dataclasses

import numpy as np
import pytest

from attention_lib import softmax
from attention_lib.checks.cases import EXACT, Expected
from attention_lib.checks.comparing import alike, differ_in_numbers
from attention_lib.checks.judging import HIDDEN_NUMBERS, judge
from attention_lib.edition.checksums import Checksum, summed
from attention_lib.edition.exercises import recorded_exercise
from attention_lib.edition.recording import recorded
from attention_lib.exercises import EXERCISES

ARRAY = np.random.default_rng(0).normal(size=(2, 3, 4, 5))
ROUNDING = 1e-15 * np.random.default_rng(1).normal(size=ARRAY.shape)


def with_one(change):
    array = ARRAY.copy()
    array[1, 2, 3, 4] = change(array[1, 2, 3, 4])
    return array


@pytest.mark.parametrize(
    ("other", "same"),
    [
        (ARRAY, True),
        (ARRAY * (1 + ROUNDING), True),
        (ARRAY * (1 + 1e-15), True),
        (np.asfortranarray(ARRAY), True),
        (with_one(lambda number: number * (1 + 1e-10)), False),
        (with_one(lambda number: -number), False),
        (with_one(lambda number: np.nan), False),
        (with_one(lambda number: np.inf), False),
        (ARRAY + 1e-11, False),
        (-ARRAY, False),
        (ARRAY[..., ::-1], False),
        (ARRAY[::-1], False),
        (ARRAY.swapaxes(0, 1), False),
        (ARRAY.reshape(6, 4, 5), False),
        (ARRAY.astype(np.float32), False),
        (ARRAY.astype(str), False),
        (ARRAY.tolist(), False),
        (None, False),
        (1.0, False),
    ],
)
def test_other_numbers_are_near_a_checksum_if_they_are_near_the_array(other, same):
    assert alike(other, ARRAY, None, EXACT) is same
    assert bool(alike(other, summed(ARRAY), None, EXACT)) is same


@pytest.mark.parametrize(
    ("right", "differ"), [(ARRAY, False), (ARRAY * (1 + ROUNDING), False), (ARRAY + 1e-11, True)]
)
def test_array_of_a_checksum_is_right_if_the_array_is(right, differ):
    expected, allowed = Expected(right, right.dtype, False), 1e-14 * np.abs(right)
    assert differ_in_numbers(ARRAY, expected, allowed) is differ
    assert differ_in_numbers(summed(ARRAY), expected, allowed) is differ


def test_checksum_is_the_same_number_on_every_machine():
    assert summed(np.arange(6.0)) == Checksum((6,), 5.235861088026898)


@pytest.mark.parametrize(
    "value", [np.array([1.0, np.nan, 2, 3]), np.arange(6), np.ones(3), 1.0, None, "text"]
)
def test_what_a_checksum_cannot_stand_for_stays(value):
    assert summed(value) is value


def test_each_of_several_results_has_its_own_checksum():
    first, second, third = summed((ARRAY, ARRAY[0], 2.0))
    assert (first.shape, second.shape, third) == (ARRAY.shape, ARRAY[0].shape, 2.0)


def softmax_of_weights_and_dot(weights, values):
    return np.dot(softmax(weights), values)


@pytest.fixture(scope="module")
def look_up(tmp_path_factory):
    """Record an exercise, and make one of its records."""
    exercise, folder = EXERCISES["weighted_sum"], tmp_path_factory.mktemp("records")
    packer, content = recorded(exercise)
    packer.write(folder / "weighted_sum.bin", content)
    known = ((one.sentence, one.id, one.measured, len(one.variants)) for one in exercise.mistakes)
    made = recorded_exercise(
        exercise.name,
        module="attention_lib.lessons.softmax",
        mistakes=tuple(known),
        has_magnitude=exercise.magnitude is not None,
        is_over=False,
        folder=folder,
        points=exercise.points,
        minutes=exercise.minutes,
    )
    return dataclasses.replace(made, lesson=exercise.lesson), folder


def test_two_faults_are_named_from_checksums_alone(look_up):
    exercise, _ = look_up
    sentence = judge(exercise, softmax_of_weights_and_dot, 0, HIDDEN_NUMBERS).sentence
    assert sentence.startswith("Two faults together give your numbers. np.dot pairs every")
    assert "the softmax of weights in place of weights" in sentence
    full = EXERCISES[exercise.name]
    assert sentence == judge(full, softmax_of_weights_and_dot, 0, HIDDEN_NUMBERS).sentence


def test_records_of_an_exercise_hold_few_arrays(look_up):
    _, folder = look_up
    assert (folder / "weighted_sum.bin").stat().st_size < 80_000
