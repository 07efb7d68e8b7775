"""A class hands in each lesson, nbgrader grades it, and everyone gets the points they deserve."""

import pytest
from nbformat.v4 import new_code_cell

from attention_lib.grading.grade import table
from tests.grading.classroom import LESSONS, Classroom, cell_of, make_lean_course

MISTAKEN = 2  # students with known mistakes in each class


@pytest.mark.parametrize("lesson", LESSONS)
def test_a_class_gets_the_points_it_deserves_and_is_told_why(lesson, tmp_path):
    room = Classroom(make_lean_course(tmp_path, lesson), lesson)
    room.seat("blank", room.blank(), room.nothing)
    room.seat("key", room.key(), room.most)
    for number in range(MISTAKEN):
        room.seat(f"mistaken_{number}", *mistaken(room, number))

    results = room.grade()
    assert {name: result.points for name, result in results.items()} == room.deserved

    for number in range(MISTAKEN):
        tells_the_mistakes(room, number)
    for student in room.deserved:
        feedback = room.feedback(student)
        assert "HIDDEN TESTS" not in feedback
        assert "seed=" not in feedback

    lines = table(room.worth, list(results.values())).splitlines()
    assert lines[0].split()[1:-2] == list(room.worth)
    assert [line.split()[0] for line in lines[2:]] == sorted(room.deserved)


def mistaken(room, number):
    """Return a notebook with known mistakes in two exercises of three, and what it deserves.

    Below its check each mistake is mended, so that later answers may use what they are meant to.
    """
    notebook, deserved = room.key(), room.most
    for place, exercise in enumerate(room.exercises):
        name = exercise.name
        if exercise.kind == "written" or (place + number) % 3 == 0:
            continue
        answer = cell_of(notebook, name)
        below = notebook.cells.index(cell_of(notebook, f"check_{name}")) + 1
        notebook.cells.insert(below, new_code_cell(answer.source))
        answer.source = (
            "from attention_lib.checks.catalogue import EXERCISES\n"
            f"wrong = EXERCISES[{name!r}].mistakes[{which(exercise, number)}].variants[0]\n"
        )
        if exercise.kind == "value":
            answer.source += f"{name} = wrong"
        else:
            answer.source += (
                f"def {name}(*args, wrong=wrong, **kwargs):\n    return wrong(*args, **kwargs)"
            )
        deserved[name] = 0
    return notebook, deserved


def which(exercise, number):
    return number % len(exercise.mistakes)


def tells_the_mistakes(room, number):
    """Require that feedback says right where points were given, and what is wrong elsewhere."""
    feedback = room.feedback(f"mistaken_{number}")
    points = room.deserved[f"mistaken_{number}"]
    assert any(points[name] == 0 for name in room.checked)
    for exercise in room.exercises:
        assert (f">{exercise.name}: right." in feedback) == bool(points[exercise.name])
        if points[exercise.name] == 0:
            told = exercise.mistakes[which(exercise, number)].sentence
            words = [word for word in told.split(":")[0].split() if word.isalpha()]
            assert f">{exercise.name}: not right yet." in feedback
            assert all(word in feedback for word in words)
