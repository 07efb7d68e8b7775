"""Show what a class gets, with eight made-up students: `make demo`, and `make demo CLEAR=1` removes them.

Each command that a teacher would type is printed and run. The class is called demo, and all that is
written lies in its folder, classroom-demo/.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import sys
import webbrowser
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import nbformat
from nbformat import NotebookNode

from attention_lib.checks.patch import Patch
from attention_lib.exercises import EXERCISES
from attention_lib.exercises.model_answers import model_answer
from attention_lib.grading import grade, release
from attention_lib.grading.classroom.course import CLASS, Course, CourseError, class_folder
from attention_lib.grading.collect import __main__ as collect
from attention_lib.grading.export import __main__ as give_back
from attention_lib.grading.nbgrader_plugins.autograde import ExecuteSubmission
from attention_lib.grading.sandbox.errors import NoSandbox
from attention_lib.grading.sandbox.host import Sandbox

NAME = "demo"
LESSON = "01_softmax"
WORDS = "written_softmax"
OWN_WORDS = "Dividing by the sum can give a negative share; e to the score is always positive."
Answers = dict[str, str | None]  # by exercise; None: the cell as released


def _wrong_answers(*mistakes: str) -> Answers:
    """Return answers with these known mistakes in softmax, and no written answer."""
    known = {mistake.id: mistake.variants[0] for mistake in EXERCISES["softmax"].mistakes}
    patches: list[Patch] = [known[mistake] for mistake in mistakes]
    replacements = [("def plain", "def softmax")]
    replacements += [one for patch in patches for one in patch.replacements]
    return {"softmax": Patch(patches[0].answer, tuple(replacements)).text, WORDS: None}


class Student(NamedTuple):
    """A made-up student, and how the hand-in differs from the model answers."""

    id: str
    name: str
    shows: str
    answers: Answers = {}  # noqa: RUF012 - of a tuple, which nobody changes
    late: str = ""  # Canvas's mark for a late file
    suffix: str = ".ipynb"


MODEL_ANSWERS: Answers = {e.name: model_answer(e) for e in EXERCISES.values() if e.lesson == LESSON}
BLANK: Answers = dict.fromkeys(MODEL_ANSWERS)
CHEATS = BLANK | {name: f"{name} = lib.{name}" for name in ("softmax", "weighted_sum")}
CHEATS["study_weights"] = "study_weights = 0\ncheck = lambda *_: print('right')"
STUDENTS = (
    Student("ada", "Costa, Ada", "everything right"),
    Student("bo", "Diaz, Bo", "a known mistake in softmax", _wrong_answers("last-axis-only")),
    Student("cem", "Evans, Cem", "two faults in softmax", _wrong_answers("axis-0-only", "base-2")),
    Student("dana", "Fox, Dana", "the notebook as it was given out", BLANK),
    Student("eli", "Gray, Eli", "everything right, with words of their own", {WORDS: OWN_WORDS}),
    Student("fay", "Hill, Fay", "a PDF, and no notebook", suffix=".pdf"),
    Student("gus", "Ito, Gus", "a cheat: the library's functions, a check that says right", CHEATS),
    Student(
        "hana", "Jensen, Hana", "Bo's mistake, late", _wrong_answers("last-axis-only"), late="_LATE"
    ),
)
IDS = "|".join(student.id for student in STUDENTS)
ROSTER = "Student,ID,SIS User ID,SIS Login ID,Section\n    Points Possible,,,,\n" + "".join(
    f'"{student.name}",{number},,{student.id},Demo\n'
    for number, student in enumerate(STUDENTS, start=101)
)
WRITTEN = re.compile(  # files that the commands write in the class's folder
    rf"students\.csv|canvas\.zip|grades\.csv|gradebook\.db.*|{LESSON}\..*"
    r"|(source|release|earlier|backups|returned|reports)/.*"
    rf"|(submitted|autograded|feedback)/({IDS})/.*"
)


def show() -> None:
    """Grade the class from the start, and open its pages.

    Raises
    ------
    CourseError
        If the class's folder holds anything else.
    NoSandbox
        If students' code cannot be run in a sandbox.
    SystemExit
        If a command fails.
    """
    clear(Course(Path.cwd()))
    course = Course.here(begin=True)
    course.roster.write_text(ROSTER, encoding="utf-8")
    if not ExecuteSubmission(config=course.nbgrader().config).without_sandbox:
        Sandbox(LESSON).close()
    print(f"A made-up class, in classroom-{NAME}/. After each $ stands what a teacher types.")
    archive = course.roster.with_name("canvas.zip")
    export = course.shown(archive)
    _run(release.main, [LESSON], "release", LESSON)
    hand_in(course, archive)
    print(f"\nEight students hand in, and Canvas exports {export}. It holds, from each:")
    for student in STUDENTS:
        print(f"  {student.id:5} {student.shows}")
    _run(collect.main, [LESSON, "--from", export], "collect", LESSON, FROM=export)
    _run(grade.main, [LESSON], "grade", LESSON)
    _run(give_back.main, ["grades", "canvas"], "grades", FORMAT="canvas")
    _run(give_back.main, ["feedback", LESSON, export], "feedback", LESSON, FROM=export)
    _open_pages(course)


def _run(main: Callable[[list[str]], int], arguments: list[str], *command: str, **of: str) -> None:
    """Print a command and run it."""
    print(f"\n$ {Course.command(*command, **of)}", flush=True)
    if code := main(arguments):
        sys.exit(code)


def hand_in(course: Course, archive: Path) -> None:
    """Write a class's export, with names like Canvas's."""
    with zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED) as export:
        for number, student in enumerate(STUDENTS, start=101):
            owner = f"{student.name.replace(', ', '').lower()}{student.late}_{number}"
            is_pdf = student.suffix == ".pdf"
            text = "%PDF-1.4\n" if is_pdf else nbformat.writes(_notebook(course, student))
            export.writestr(f"{owner}_{number + 9000}_{LESSON}{student.suffix}", text)


def _notebook(course: Course, student: Student) -> NotebookNode:
    notebook = nbformat.read(course.released(LESSON), as_version=4)
    answers = MODEL_ANSWERS | student.answers
    for cell in notebook.cells:
        answer = answers.get(cell.metadata.get("nbgrader", {}).get("grade_id"))
        cell.source = cell.source if answer is None else answer
    return notebook


def _open_pages(course: Course) -> None:
    """Print where the report and the feedback pages are, and open them if there is a display."""
    pages = [course.report(LESSON), *(course.feedback(LESSON, student.id) for student in STUDENTS)]
    print("\nPages:")
    for page in filter(Path.is_file, pages):
        print(f"  {course.shown(page)}")
        if sys.platform != "linux" or os.environ.keys() & {"DISPLAY", "WAYLAND_DISPLAY"}:
            webbrowser.open(page.as_uri())
    print(f"\nMark words with {Course.command('lab')}, in Nbgrader > Formgrader > Manual Grading.")
    print(f"Read the report again with {Course.command('report', LESSON)}")
    print("Take the class away with make demo CLEAR=1")


def clear(course: Course) -> None:
    """Remove the made-up class, if there is one.

    Raises
    ------
    CourseError
        If its folder holds anything else. Then nothing is removed.
    """
    folder = class_folder(course.root)
    roster = folder / "students.csv"
    files = [path for path in folder.rglob("*") if path.is_symlink() or not path.is_dir()]
    others = [path for path in files if not WRITTEN.fullmatch(path.relative_to(folder).as_posix())]
    if not (roster.is_file() and ROSTER.startswith(roster.read_text(encoding="utf-8"))):
        others += files
    if others or folder.is_symlink():
        what = course.shown(others[0] if others else folder)
        raise CourseError(f"{what} is not of the made-up class: move it away. Nothing was removed.")
    # The roster proves that the folder is the demo's, so it is deleted last.
    for path in sorted(folder.glob("*"), key=roster.__eq__):
        shutil.rmtree(path) if path.is_dir() else path.unlink()
    if folder.is_dir():
        folder.rmdir()


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="demo", description=__doc__)
    parser.add_argument("--clear", action="store_true", help="remove the made-up class")
    os.environ[CLASS] = NAME
    os.environ.pop("NBGRADER_DB_URL", None)  # may name another class's gradebook
    try:
        if parser.parse_args(arguments).clear:
            clear(Course(Path.cwd()))
            print(f"The class {NAME} is gone.")
        else:
            show()
    except CourseError as problem:
        print(problem, file=sys.stderr)
        return 1
    except NoSandbox as problem:
        clear(Course(Path.cwd()))
        print(f"Nothing can be graded on this machine. {problem}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("Stopped. `make demo` begins again.", file=sys.stderr)
        return 130
    return 0


if __name__ == "__main__":
    sys.exit(main())
