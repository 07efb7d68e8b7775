"""A class hands in each lesson, nbgrader grades it, and everyone gets the points they deserve."""

import shutil

import pytest
from nbformat.v4 import new_code_cell

from attention_lib.grading.batch import batch
from attention_lib.grading.classroom.course import Course
from attention_lib.grading.grade import table
from attention_lib.grading.judge import execution
from tests.grading.sample_class import LESSONS, Classroom, cell_of

MISTAKEN = 2  # students with mistakes in each class
EDITED = {
    "softmax_kernel": ("tl.exp(", "tl.exp2("),
    "flash_kernel": ("tl.exp2(", "tl.sqrt("),
    "flash_program": ("tl.program_id(1)", "0 * tl.program_id(1)"),
}
pytestmark = [pytest.mark.sandbox, pytest.mark.batch]


@pytest.mark.parametrize("lesson", LESSONS)
def test_a_class_gets_the_points_it_deserves_and_is_told_why(
    released_course, lesson, tmp_path, monkeypatch
):
    """No answer looks for a name that the setup cells do not bind."""
    monkeypatch.setattr(execution, "_misses_a_name", names_are_not_missing)
    monkeypatch.setattr(
        batch, "require_full_points", lambda *_: None
    )  # the mistaken two try every model answer
    shutil.copytree(released_course.root, tmp_path / "course")
    room = Classroom(Course(tmp_path / "course"), lesson)
    room.seat("blank", room.blank(), room.nothing)
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


def names_are_not_missing(cells, ran, misses_a_name=execution._misses_a_name):
    assert not misses_a_name(cells, ran)
    return False


def mistaken(room, number):
    """Return a notebook with mistakes in every other exercise, and what it deserves.

    Below its check each mistake is mended, so that later answers may use what they are meant to. That
    is done where nobody sees the definition: a second one below a check counts if the first is wrong.
    """
    notebook, deserved = room.key(), room.most
    for place, exercise in enumerate(room.exercises):
        name = exercise.name
        if exercise.kind == "written" or (place + number) % MISTAKEN == 0:
            continue
        answer = cell_of(notebook, name)
        below = notebook.cells.index(cell_of(notebook, f"check_{name}")) + 1
        notebook.cells.insert(below, new_code_cell(f"get_ipython().run_cell({answer.source!r});"))
        if name in EDITED:  # compiled from its text
            assert EDITED[name][0] in answer.source
            answer.source = answer.source.replace(*EDITED[name])
        elif exercise.kind == "value":
            answer.source += f"\n{name} = [2 * number for number in {name}]"
        else:
            answer.source += WRONG.format(name=name)
        deserved[name] = 0
    return notebook, deserved


# A model answer whose results are changed on their way out.
WRONG = """

right_{name} = {name}


def doubled(value):
    if isinstance(value, (tuple, list)):
        return type(value)(map(doubled, value))
    if str(value) in ("cpu", "cuda", "mps"):
        return "the fastest"
    return ~value if getattr(value, "dtype", None) == bool else 2 * value + 1


def {name}(*args, **kwargs):
    return doubled(right_{name}(*args, **kwargs))
"""


def tells_the_mistakes(room, number):
    """Require that feedback says right where points were given, and what is wrong elsewhere."""
    feedback = room.feedback(f"mistaken_{number}")
    points = room.deserved[f"mistaken_{number}"]
    assert any(points[name] == 0 for name in room.checked)
    for exercise in room.exercises:
        assert (f">{exercise.name}: right." in feedback) == bool(points[exercise.name])
        if points[exercise.name] == 0:
            assert f">{exercise.name}: not right yet." in feedback
