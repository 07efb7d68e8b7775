"""A class hands in, nbgrader grades, and everyone gets exactly the points they deserve.

Each lesson has a class of its own; the students who do strange things to their notebooks sit in
the first lesson's, since what becomes of them does not depend on the lesson.
"""

import signal
from copy import deepcopy

import nbformat
import pytest
from nbformat.v4 import new_code_cell, new_notebook, new_raw_cell

from attention_lib.grading.course import Course
from attention_lib.grading.grade import Result, grade, table
from attention_lib.grading.rebuild import rebuild
from tests.grading.classroom import LESSONS, Classroom, cell_of, make_lean_course, quietly

SECONDS_A_CELL = 8  # what two of the students below use up
STRANGE = LESSONS[0]
MISTAKEN = 2  # students with known mistakes in each class


def one_worker_each(prefix, lessons):
    """Keep the tests of a class together, so that it is graded once."""
    return [
        pytest.param(lesson, marks=pytest.mark.xdist_group(f"{prefix}_{lesson}"))
        for lesson in lessons
    ]


class GradedClass:
    """A classroom, what each student deserves, and what they got."""

    def __init__(self, course: Course, lesson: str):
        self.room = Classroom(course, lesson)
        self.deserved: dict[str, dict[str, float | None]] = {}
        self.results: dict[str, Result] = {}

    def seat(self, student, notebook, deserved, modules=()):
        self.room.hand_in(student, notebook, modules)
        self.deserved[student] = deserved

    def grade(self):
        self.most, results = quietly(grade, self.room.course, self.room.lesson)
        self.results = {result.student: result for result in results}
        return self


@pytest.fixture(scope="module", params=one_worker_each("class", LESSONS))
def usual_class(request, tmp_path_factory) -> GradedClass:
    course = make_lean_course(tmp_path_factory.mktemp("course"), request.param)
    graded = GradedClass(course, request.param)
    room = graded.room
    graded.seat("blank", room.blank(), room.nothing)
    graded.seat("key", room.key(), room.most)
    for number in range(MISTAKEN):
        graded.seat(f"mistaken_{number}", *mistaken(room, number))
    return graded.grade()


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


def test_everyone_in_the_usual_class_gets_what_they_deserve(usual_class):
    got = {student: result.points for student, result in usual_class.results.items()}
    assert got == usual_class.deserved


def test_the_mistaken_are_told_their_mistake_in_the_feedback(usual_class):
    room = usual_class.room
    for number in range(MISTAKEN):
        feedback = room.feedback(f"mistaken_{number}")
        points = usual_class.deserved[f"mistaken_{number}"]
        assert any(points[name] == 0 for name in room.checked)
        for exercise in room.exercises:
            assert (f">{exercise.name}: right." in feedback) == bool(points[exercise.name])
            if points[exercise.name] == 0:
                told = exercise.mistakes[which(exercise, number)].sentence
                words = [word for word in told.split(":")[0].split() if word.isalpha()]
                assert f">{exercise.name}: not right yet." in feedback
                assert all(word in feedback for word in words)


def test_feedback_shows_no_hidden_check(usual_class):
    for student in usual_class.deserved:
        feedback = usual_class.room.feedback(student)
        assert "HIDDEN TESTS" not in feedback
        assert "seed=" not in feedback


def test_the_table_has_a_line_for_everyone(usual_class):
    lines = table(usual_class.most, list(usual_class.results.values())).splitlines()
    assert lines[0].split()[1:-2] == list(usual_class.most)
    assert [line.split()[0] for line in lines[2:]] == sorted(usual_class.deserved)


# Students who do strange things.


@pytest.fixture(scope="module", params=one_worker_each("strange", [STRANGE]))
def strange_class(request, tmp_path_factory) -> GradedClass:
    course = make_lean_course(tmp_path_factory.mktemp("course"), request.param)
    config = course.root / "nbgrader_config.py"
    config.write_text(f"{config.read_text()}\nc.Execute.timeout = {SECONDS_A_CELL}\n")
    graded = GradedClass(course, request.param)
    room = graded.room
    for student in (careless, sly, sly_with_numbers, noisy, ends_python, never_ends, old):
        graded.seat(student.__name__, *student(room))
    graded.seat("broken", nbformat.writes(room.key())[:-50], room.nothing)
    graded.seat("foreign", new_notebook(cells=[new_code_cell("1 + 1")]), room.nothing)
    graded.seat("picture", b"\x89PNG\xff", room.nothing)
    graded.seat("zz_last", room.key(), room.most)
    return graded.grade()


def careless(room):
    """Right answers; check cells lost, copied, turned into text, and answers copied."""
    notebook = room.key()
    lost, copied, retyped, twice = room.checked[:4]
    notebook.cells.remove(cell_of(notebook, f"check_{lost}"))
    place = notebook.cells.index(cell_of(notebook, f"check_{copied}"))
    notebook.cells[place:place] = [deepcopy(notebook.cells[place]) for _ in range(2)]
    for name in (retyped, f"check_{retyped}"):
        cell = cell_of(notebook, name)
        cell.metadata.nbgrader.schema_version = 99
        raw = new_raw_cell(cell.source, id=cell.id, metadata=cell.metadata)
        notebook.cells[notebook.cells.index(cell)] = raw
    answer = cell_of(notebook, twice)
    place = notebook.cells.index(answer)
    later = deepcopy(answer)  # a second try, below the check, that came to nothing
    later.source = "1 / 0"
    notebook.cells.insert(place + 2, later)
    notebook.cells.insert(place, deepcopy(cell_of(room.blank(), twice)))
    return notebook, room.most


def sly(room):
    """No answers; check cells skipped, emptied, rewritten to pass, and without their marks."""
    notebook = room.blank()
    skipped, passing, number, unmarked = (
        cell_of(notebook, f"check_{name}") for name in room.checked[:4]
    )
    skipped.metadata.tags = ["skip-execution"]
    passing.source = "pass"
    number.source, number.metadata.nbgrader.points = "100", 100
    unmarked.metadata, unmarked.source = {}, ""
    return notebook, room.nothing


def sly_with_numbers(room):
    """No answers, and a check that returns a score."""
    notebook = room.blank()
    notebook.cells.insert(2, new_code_cell("check = lambda *args, **kwargs: 100"))
    return notebook, room.nothing


def noisy(room):
    """Something on stderr in every cell, check cells included, and modules that would hide ours."""
    notebook = room.key()
    line = (
        "import sys\n"
        "def complain(*_): print('careful', file=sys.stderr)\n"
        "get_ipython().events.register('post_run_cell', complain)"
    )
    notebook.cells.insert(0, new_code_cell(line))
    return notebook, room.most, ("attention_lib", "numpy", "json", "ipykernel_launcher")


def ends_python(room):
    """The second answer ends Python: the first keeps its points."""
    notebook, deserved = room.key(), room.most
    _, *later = room.checked
    cell_of(notebook, later[0]).source += "\nimport os; os._exit(0)"
    return notebook, {**deserved, **dict.fromkeys(later, 0)}


def never_ends(room):
    """The first answer loops after its definition, the last one cannot even be interrupted."""
    notebook, deserved = room.key(), room.most
    first, *_, last = room.checked
    cell_of(notebook, first).source += "\nwhile True: pass"
    cell_of(
        notebook, last
    ).source = (
        f"import signal\nsignal.signal({signal.SIGINT.value}, signal.SIG_IGN)\nwhile True: pass"
    )
    return notebook, {**deserved, last: 0}


def old(room):
    """A notebook in nbformat 4.4, whose cells have no ids, with scripts in it."""
    notebook = room.key()
    display = "from IPython.display import HTML\nHTML('<script>stolen()</script><b>bold words</b>')"
    notebook.cells.append(new_code_cell(display))
    notebook.cells.append(new_raw_cell("<script>stolen()</script>"))
    notebook.nbformat_minor = 4
    for cell in notebook.cells:
        del cell["id"]
    return notebook, room.most


def test_everyone_in_the_strange_class_gets_what_they_deserve(strange_class):
    got = {student: result.points for student, result in strange_class.results.items()}
    assert got == strange_class.deserved


@pytest.mark.parametrize(
    ("student", "told"),
    [
        ("broken", "nothing to grade: it is not valid JSON"),
        ("picture", "nothing to grade: it is not text in UTF-8"),
        ("foreign", "nothing to grade: it has none of this lesson's answer cells"),
        ("ends_python", "Python ended while this cell ran"),
        ("never_ends", "could not be interrupted"),
        ("zz_last", "written_softmax waits for a human"),
    ],
)
def test_the_table_says_what_an_instructor_should_know(strange_class, student, told):
    assert told in strange_class.results[student].note


@pytest.mark.parametrize(
    ("student", "told"),
    [
        ("broken", "This submission could not be graded: it is not valid JSON"),
        ("careless", "The check cell of normalize_by_sum was missing and was put back."),
        ("careless", "The check cell of softmax was there 3 times"),
        ("careless", "The answer cell of study_weights had been turned into another type"),
        ("careless", "The answer cell of weighted_sum was there 3 times"),
        ("sly", "The check cell of normalize_by_sum had lost or changed its settings"),
        ("sly", "The check cell of softmax had been changed; the lesson's own decides."),
        ("sly_with_numbers", "The check did not come to a verdict."),
        ("ends_python", "The check could not run."),
        ("never_ends", "CellTimeoutError"),
        ("noisy", "careful"),
    ],
)
def test_the_feedback_says_what_a_student_should_know(strange_class, student, told):
    assert told in strange_class.room.feedback(student).replace("&#39;", "'")


def test_feedback_runs_no_script_of_a_students(strange_class):
    feedback = strange_class.room.feedback("old")
    assert "bold words" in feedback
    assert "<script>stolen()" not in feedback


def test_extra_files_are_left_behind(strange_class):
    graded = strange_class.room.course.autograded(STRANGE, "noisy").parent
    assert [path.name for path in graded.iterdir()] == [f"{STRANGE}.ipynb"]


def test_everyone_met_the_same_hidden_cases(strange_class):
    course = strange_class.room.course
    seeds = set()
    for student in ("careless", "zz_last"):
        notebook = nbformat.read(course.autograded(STRANGE, student), as_version=4)
        check = cell_of(notebook, "check_softmax")
        assert 'check("softmax", softmax, seed=None)' in check.source
        seeds.add(str(check.outputs))
    assert len(seeds) == 1


def test_grading_again_keeps_what_was_graded_by_hand(strange_class):
    """All but two folders are moved away, so that no more is graded again."""
    room = strange_class.room
    submitted = room.course.root / "classroom" / "submitted"
    for folder in submitted.iterdir():
        if folder.name not in ("zz_last", "sly"):
            folder.rename(submitted.parent / f"away_{folder.name}")
    names = {"zz_last": "written_softmax", "sly": "check_softmax"}
    with room.course.gradebook() as gradebook:
        for student, name in names.items():
            gradebook.find_grade(name, STRANGE, STRANGE, student).manual_score = 1.5
        gradebook.db.commit()
    _, results = quietly(grade, room.course, STRANGE)
    points = {result.student: result.points for result in results}
    assert points == {
        "zz_last": {**room.most, "written_softmax": 1.5},
        "sly": {**room.nothing, "softmax": 1.5},
    }


def test_what_ran_is_what_rebuild_makes(strange_class):
    """The pure function and nbgrader's pipeline agree on the notebook to run."""
    room = strange_class.room
    notebook, _ = rebuild(room.blank(), careless(room)[0])
    ran = room.autograded("careless")
    assert [cell.id for cell in ran.cells][1:] == [cell.id for cell in notebook.cells]
