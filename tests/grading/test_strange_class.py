"""Students who do strange things to their notebooks lose nothing by it, and gain nothing.

What becomes of them does not depend on the lesson, so they all sit in the first one's class.
"""

import signal
from copy import deepcopy

import nbformat
import pytest
from bs4 import BeautifulSoup
from nbformat.v4 import new_code_cell, new_notebook, new_raw_cell

from attention_lib.grading import limits
from attention_lib.grading.intake.rebuild import rebuild
from tests.grading.sample_class import LESSONS, Classroom, cell_of, configure, make_lean_course

LESSON = LESSONS[0]
SECONDS_A_CELL = 1  # which one of the students uses up twice
pytestmark = [pytest.mark.sandbox, pytest.mark.batch, pytest.mark.xdist_group("strange_class")]


@pytest.fixture(scope="module")
def room(tmp_path_factory) -> Classroom:
    course = make_lean_course(tmp_path_factory.mktemp("course"), LESSON)
    configure(course, f"c.ExecuteSubmission.cell_seconds = {SECONDS_A_CELL}")
    room = Classroom(course, LESSON)
    for student in (careless, sly, sly_with_numbers, noisy, ends_python, never_ends, old):
        room.seat(student.__name__, *student(room))
    room.seat("broken", nbformat.writes(room.key())[:-50], room.nothing)
    room.seat("foreign", new_notebook(cells=[new_code_cell("1 + 1")]), room.nothing)
    room.seat("picture", b"\x89PNG\xff", room.nothing)
    room.seat("zz_last", room.key(), room.most)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(limits, "INTERRUPT_GRACE_SECONDS", 0.5)
        room.grade()
    return room


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
    answer = cell_of(notebook, "softmax")  # whose definition warns as well
    answer.source = answer.source.replace("    ### BEGIN", "    np.log(np.zeros(1))\n    ### BEGIN")
    return notebook, room.most, ("attention_lib", "numpy", "json", "ipykernel_launcher")


def ends_python(room):
    """The second answer ends Python: the others keep their points."""
    notebook, name = room.key(), room.checked[1]
    cell_of(notebook, name).source += "\nimport os; os._exit(0)"
    return notebook, {**room.most, name: 0}


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


def test_everyone_in_the_strange_class_gets_what_they_deserve(room):
    got = {student: result.points for student, result in room.results.items()}
    assert got == room.deserved


@pytest.mark.parametrize(
    ("student", "told"),
    [
        ("broken", "nothing to grade: it is not valid JSON"),
        ("picture", "nothing to grade: it is not text in UTF-8"),
        ("foreign", "nothing to grade: it has none of this lesson's answer cells"),
        ("ends_python", "Python ended while this ran"),
        ("never_ends", "could not be interrupted"),
        ("never_ends", "did not end and was stopped: normalize_by_sum"),
        ("noisy", "see the remark on softmax"),
    ],
)
def test_the_table_says_what_an_instructor_should_know(room, student, told):
    assert told in room.results[student].note


@pytest.mark.parametrize(
    ("student", "told"),
    [
        ("broken", "This submission could not be graded: it is not valid JSON"),
        ("sly", "Every answer is as it was given out: was the notebook saved before it"),
        ("careless", "The check cell of normalize_by_sum was missing and was put back."),
        ("careless", "The check cell of softmax was there 3 times"),
        ("careless", "The answer cell of study_weights had been turned into another type"),
        ("careless", "The answer cell of weighted_sum was there 3 times"),
        ("sly", "The check cell of normalize_by_sum had lost or changed its settings"),
        ("sly", "The check cell of softmax had been changed; the lesson's own decides."),
        ("ends_python", "The cells below were run without it."),
        ("never_ends", f"still running after {SECONDS_A_CELL} seconds"),
        ("noisy", "careful"),
        ("noisy", "A remark: softmax warns"),
    ],
)
def test_the_feedback_says_what_a_student_should_know(room, student, told):
    assert told in room.feedback(student).replace("&#39;", "'")


def test_why_nothing_is_graded_is_said_once_and_first(room):
    text = BeautifulSoup(room.feedback("broken"), "html.parser").body.text
    above, _, below = text.partition("What was found")
    assert "could not be graded: it is not valid JSON" in above
    assert "JSON" not in below
    assert below.count("Not graded.") == len(room.exercises)
    assert "Every answer is as it was given out" not in text


def test_feedback_runs_no_script_of_a_students(room):
    feedback = room.feedback("old")
    assert "bold words" in feedback
    assert "<script>stolen()" not in feedback


def test_extra_files_are_left_behind(room):
    graded = room.course.autograded(LESSON, "noisy").parent
    assert [path.name for path in graded.iterdir()] == [f"{LESSON}.ipynb"]


def test_grading_again_keeps_what_was_graded_by_hand(room):
    """All but two folders are moved away, so that no more is graded again."""
    submitted = room.course.root / "classroom" / "submitted"
    for folder in submitted.iterdir():
        if folder.name not in ("zz_last", "sly"):
            folder.rename(submitted.parent / f"away_{folder.name}")
    names = {"zz_last": "written_softmax", "sly": "check_softmax"}
    with room.course.gradebook() as gradebook:
        for student, name in names.items():
            gradebook.find_grade(name, LESSON, LESSON, student).manual_score = 1.5
        gradebook.db.commit()
    again = Classroom(room.course, LESSON).grade()
    assert {student: result.points for student, result in again.items()} == {
        "zz_last": {**room.most, "written_softmax": 1.5},
        "sly": {**room.nothing, "softmax": 1.5},
    }


def test_what_ran_is_what_rebuild_makes(room):
    """The pure function and nbgrader's pipeline agree on the notebook to run."""
    notebook, *_ = rebuild(room.blank(), careless(room)[0])
    ran = room.autograded("careless")
    assert [cell.id for cell in ran.cells][1:] == [cell.id for cell in notebook.cells]
