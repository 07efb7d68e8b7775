"""A teacher's own questions: the example of docs/teaching.md, nbgrader's toolbar, tests that are attacked."""

import re
import textwrap

import nbformat
import pytest
from nbformat.v4 import new_code_cell, new_markdown_cell

from attention_lib.grading import limits
from attention_lib.grading.export.__main__ import main as export
from attention_lib.grading.grade import main as grade
from attention_lib.grading.release import main as release
from attention_lib.grading.report.findings import read_class
from attention_lib.grading.report.page import as_page
from tests.grading.sample_class import (
    LESSONS,
    ROOT,
    Classroom,
    cell_of,
    make_course,
    make_lean_course,
    quietly,
    without_figures,
)

LESSON = LESSONS[0]
OWN = ("listens_most", "why_most", "halves")
pytestmark = [pytest.mark.sandbox, pytest.mark.batch, pytest.mark.xdist_group("own_questions")]
PARTIAL = """\
```python exercise="halves"
def halves(number):
    ### BEGIN SOLUTION
    return number / 2
    ### END SOLUTION
```

```python check="halves" points=3
got = np.float64(halves(4) == 2)
### BEGIN HIDDEN TESTS
got += 2 * (halves(7) == 3.5)  # SECRET
### END HIDDEN TESTS
got
```
"""
READS_HIDDEN_TESTS = """\
import inspect
def halves(number):
    seen = open("seen", "a")
    for frame in inspect.stack():
        seen.write("".join(frame.code_context or []))
    raise ValueError(inspect.stack()[1].code_context)
"""
PRINTS_WHAT_RAN = """\
### BEGIN HIDDEN TESTS
print(In[-2], open("seen").read())
"""
IS_ANY_NUMBER = """\
class Any:
    def __eq__(self, other): return {}
def halves(number): return Any()
"""
VISIBLE = "at: got = np.float64(halves(4) == 2)"
# What an answer to `halves` gets, and what its page says.
ANSWERS = {
    "ada": ("def halves(number): return number / 2", 3, "Right."),
    "bo": ("def halves(number): return number // 2", 1, "1 of 3 points."),
    "eve": ("def halves(number): raise SystemExit", 0, "A test failed, and not all"),
    "exits": ("import os\ndef halves(number): os._exit(0)", 0, "A test failed, and not all"),
    "loops": ("def halves(number):\n    while True: pass", 0, "A test failed, and not all"),
    "much": (IS_ANY_NUMBER.format(1e9), 0, "A test failed, and not all"),
    "nan": (IS_ANY_NUMBER.format("float('nan')"), 0, "A test failed, and not all"),
    "reads": (READS_HIDDEN_TESTS, 0, f"ValueError, {VISIBLE}"),
    "seven": ("def halves(number): return {4: 2}[number]", 0, "A test failed, and not all"),
    "names": (
        "def halves(number): raise type('SEC' + 'RET', (Exception,), {})",
        0,
        f"An error, {VISIBLE}",
    ),
    "silent": (
        "get_ipython().set_custom_exc((Exception,), lambda *_, **__: None)\n"
        "def halves(number): return 1 / 0",
        0,
        "A test failed, and not all",
    ),
}


def example() -> str:
    """Return the questions that docs/teaching.md writes into a lesson."""
    page = (ROOT / "docs" / "teaching.md").read_text("utf-8")
    section = page.partition("## Ask questions of your own\n")[2]
    return textwrap.dedent(re.search(r"\n\n((?:    .*\n|\n)+)", section)[1])


def solved(room: Classroom) -> nbformat.NotebookNode:
    """Return a notebook with the model answers to the lesson's questions and the teacher's."""
    notebook, source = room.key(), nbformat.read(room.course.source(LESSON), 4)
    for name in OWN:
        cell_of(notebook, name).source = cell_of(source, name).source
    return notebook


@pytest.fixture(scope="module")
def room(tmp_path_factory):
    """A class that was graded in a lesson with questions of the teacher's own at its end."""
    course = make_course(tmp_path_factory.mktemp("course"), LESSON)
    path = course.written(LESSON)
    lesson = f"{without_figures(path.read_text('utf-8'))}\n{example()}\n{PARTIAL}"
    path.write_text(lesson, "utf-8")
    room = Classroom(course, LESSON)
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(course.root)
        patch.setattr(limits, "CELL_SECONDS", 2.0)
        assert quietly(release, [LESSON]) == 0
        for student, (answer, _, _) in ANSWERS.items():
            notebook = solved(room)
            cell_of(notebook, "halves").source = answer
            notebook.cells.append(new_code_cell(PRINTS_WHAT_RAN))
            room.hand_in(student, notebook)
        room.hand_in("blank", room.blank())
        edits = solved(room)
        cell_of(edits, "listens_most").source = "def listens_most(*_): return ['man']"
        cell_of(edits, "check_listens_most").source = "pass"
        edits.cells.remove(cell_of(edits, "check_halves"))
        room.hand_in("edits", edits)
        yield room


@pytest.fixture(scope="module")
def points(room):
    room.grade()
    return {name: result.points for name, result in room.results.items()}


def test_released_notebook_shows_tests_but_the_hidden_ones(room):
    released = nbformat.read(room.course.released(LESSON), 4)
    shown = cell_of(released, "check_listens_most").source
    assert shown == 'assert listens_most(np.array([[1.0, 3.0, 2.0]]), words) == ["study"]'
    assert "SECRET" not in room.course.released(LESSON).read_text("utf-8")
    assert "scores say what" not in room.course.released(LESSON).read_text("utf-8")


@pytest.mark.parametrize("student", ANSWERS)
def test_answer_gets_what_its_tests_give_and_nothing_else_changes(room, points, student):
    _, score, told = ANSWERS[student]
    own = {"listens_most": 2, "why_most": None, "halves": score}
    assert points[student] == {**room.most, **own}
    page = room.feedback(student)
    assert told in page
    assert "SECRET" not in page


def test_blank_answer_is_not_attempted_and_the_teachers_text_counts(room, points):
    assert points["blank"] == {**room.nothing, **dict.fromkeys(OWN, 0)}
    assert room.feedback("blank").count("Not attempted.") == len(room.exercises) + len(OWN)
    assert points["edits"] == {**room.most, "listens_most": 0, "why_most": None, "halves": 3}


def test_report_and_formgrader_say_which_test_failed(room, points):
    report = read_class(room.course, LESSON)
    found = report.findings
    assert found["eve"]["halves"].sentence.startswith("SystemExit")
    where = 'assert listens_most(np.array([[1.0, 3.0, 2.0]]), words) == ["study"]'
    assert found["edits"]["listens_most"].sentence == f"AssertionError, at: {where}"
    assert found["bo"]["halves"].sentence == "1 of 3 points."
    assert "SECRET" in cell_of(room.autograded("eve"), "check_halves").source
    assert "<h2>halves (3 points)</h2>" in as_page(report)


def test_marks_given_by_hand_stay_when_all_is_graded_again(room, points, capsys):
    """`nbgrader autograde` gives the same points, and pages show marks of the teacher's own questions."""
    with room.course.gradebook() as gradebook:
        place = LESSON, LESSON, "bo"
        gradebook.find_grade("why_most", *place).manual_score = 0.5
        gradebook.find_grade("check_halves", *place).manual_score = 2.5
        gradebook.find_grade("written_softmax", *place).manual_score = 1
        for name in ("why_most", "check_halves", "written_softmax"):
            gradebook.find_grade(name, *place).needs_manual_grade = False
        gradebook.db.commit()
    assert quietly(grade, [LESSON, "--again", "--jobs", "0"]) == 0
    row = next(line for line in capsys.readouterr().out.splitlines() if line.startswith("bo "))
    assert row.split()[-4:] == ["2", "0.5", "2.5", "13"]
    assert "2.5 of 3" in re.sub(r"<[^>]*>", " ", room.feedback("bo"))
    assert quietly(export, ["grades", "canvas"]) == 0
    grades = (room.course.returned / "grades-canvas.csv").read_text("utf-8").splitlines()
    assert [line for line in grades if line.startswith("bo,")] == ["bo,,,,,13"]
    outcome = quietly(room.course.nbgrader().autograde, LESSON, "ada", True)
    assert outcome["success"], outcome
    with room.course.gradebook() as gradebook:
        assert gradebook.find_grade("check_halves", LESSON, LESSON, "ada").auto_score == 3


def marked(name, source, points=None, *, solution=False, make=new_code_cell):
    """Return a cell as nbgrader's toolbar marks it."""
    settings = {"grade": points is not None, "locked": not solution, "solution": solution}
    settings |= {"grade_id": name, "schema_version": 3, "task": False}
    settings |= {} if points is None else {"points": points}
    return make(source, metadata={"nbgrader": settings})


@pytest.fixture
def toolbar(tmp_path, monkeypatch):
    """Return a room, and what adds cells to its source and has nbgrader release it."""
    room = Classroom(make_lean_course(tmp_path, LESSON), LESSON)
    monkeypatch.chdir(tmp_path)

    def add(*cells):
        source = nbformat.read(room.course.source(LESSON), 4)
        source.cells += cells
        nbformat.write(source, room.course.source(LESSON))
        return quietly(room.course.nbgrader().generate_assignment, LESSON)

    return room, add


def test_cells_marked_by_nbgraders_toolbar_are_graded(toolbar, capsys):
    room, add = toolbar
    answer = "### BEGIN SOLUTION\nthird = 1 / 3\n### END SOLUTION"
    task = marked("cell-4d", "Draw it.", make=new_markdown_cell)
    task.metadata.nbgrader.update(task=True, points=1)
    outcome = add(
        task,
        marked("cell-1a", answer, solution=True),
        marked("cell-2b", "assert abs(3 * third - 1) < 1e-9", 2),
        marked("cell-3c", "Because.", 1, solution=True, make=new_markdown_cell),
    )
    assert outcome["success"], outcome
    notebook = room.key()
    cell_of(notebook, "cell-1a").source = "third = 0.3"
    room.hand_in("ada", notebook)
    cell_of(notebook, "cell-1a").source = "third = 2 / 6"
    cell_of(notebook, "cell-3c").source = "It is."
    room.hand_in("bo", notebook)
    assert quietly(grade, [LESSON, "--jobs", "0"]) == 0
    rows = {line.split()[0]: line.split() for line in capsys.readouterr().out.splitlines() if line}
    assert rows["student"][-5:-2] == ["cell-4d", "cell-2b", "cell-3c"]
    assert rows["ada"][-4:] == ["?", "0", "0", "7"]
    assert rows["bo"][-4:] == ["?", "2", "?", "9"]
    assert "assert abs(3 * third - 1)" in room.feedback("ada")  # in the traceback too
    assert "AssertionError" in room.feedback("ada")


@pytest.mark.parametrize("names", [("a", "check_a"), ("a", "a")])
def test_names_that_clash_are_refused_in_a_sentence(toolbar, names):
    room, add = toolbar
    outcome = add(*(marked(name, "assert True", 1) for name in names))
    assert not outcome["success"]
    (line,) = outcome["log"].splitlines()
    place = room.course.source(LESSON).parent / f"{LESSON}.ipynb"
    assert line.startswith("[ERROR] In ")
    assert place.name in line
    assert line.endswith(" two cells are called 'a': delete one of them, or give it another name.")
    assert room.course.released(LESSON).is_file()


def test_solution_of_the_teachers_own_that_fails_its_test_stops_the_batch(toolbar, capsys):
    room, add = toolbar
    assert add(marked("test_third", "assert third == 0, 'no third'", 2))["success"]
    room.hand_in("ada", room.key())
    assert quietly(grade, [LESSON, "--jobs", "0"]) == 1
    assert "test_third: NameError: name 'third' is not defined" in capsys.readouterr().err


def test_question_is_added_after_the_lesson_was_handed_in(tmp_path, monkeypatch, capsys):
    room = Classroom(make_lean_course(tmp_path, LESSON), LESSON)
    monkeypatch.chdir(tmp_path)
    room.hand_in("ada", room.key())
    assert quietly(grade, [LESSON, "--jobs", "0"]) == 0
    path = room.course.written(LESSON)
    path.write_text(f"{path.read_text('utf-8')}\n{PARTIAL}", "utf-8")
    assert quietly(release, [LESSON]) == 1
    assert "halves: not there, now 3 points" in capsys.readouterr().err
    assert quietly(release, [LESSON, "--changed-exercises"]) == 0
    assert quietly(grade, [LESSON, "--jobs", "0"]) == 0
    rows = [line.split() for line in capsys.readouterr().out.splitlines()]
    assert ["ada", "1", "3", "1", "2", "?", "0", "7"] in rows
