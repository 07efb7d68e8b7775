"""Grading a class: stock nbgrader beside this course's grader, on the same submissions.

    python -m benchmarks.grading [--students 10 50 200] [--lesson 01_softmax]

Each grader gets a class of its own of so many students, and is measured with all that it starts. Of
a class above 200, `make grade` alone is given the whole; the others get 30, which they take minutes for.
"""

from __future__ import annotations

import argparse
import contextlib
import copy
import ctypes
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import nbformat
from nbformat import NotebookNode

from attention_lib.grading.classroom.course import CONFIG, Course
from benchmarks.measuring import print_table

ROOT = Path(__file__).parents[1]
STUDENTS = (10, 50, 200)
LARGE = 200  # a class of more is for `make grade` alone
OF_LARGE = 30  # students that the other graders get in its place
CORES = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
OURS_BEGINS = "# What was handed in is read warily"  # what precedes it in the settings is folders
PR_SET_CHILD_SUBREAPER = 36
ENVIRONMENT = {**os.environ, "OMP_NUM_THREADS": "1", "PYTHONWARNINGS": "ignore"}


@dataclass(frozen=True)
class Cost:
    """What grading a class took, in seconds for one student, and the memory of the largest process."""

    students: int
    cpu: float
    wall: float
    megabytes: float


def make_class(folder: Path, lesson: str, students: int, stock: bool) -> Course:
    """Release a lesson, and let a class hand it in: two of three solved, the others begun."""
    (folder / "solutions").mkdir(parents=True)
    shutil.copy(Course(ROOT).written(lesson), folder / "solutions")
    settings = (ROOT / CONFIG).read_text()
    shutil.copy(ROOT / CONFIG, folder)
    course = Course(folder)
    # A gradebook, without which a release is none for a class.
    _run([sys.executable, "-m", "nbgrader", "db", "assignment", "add", lesson], folder)
    _run([sys.executable, "-m", "attention_lib.grading.release", lesson], folder)
    if stock:
        (folder / CONFIG).write_text(settings.partition(OURS_BEGINS)[0])
    blank = nbformat.read(course.released(lesson), as_version=4)
    solved = _solved(blank, nbformat.read(course.source(lesson), as_version=4))
    for number in range(students):
        name = f"student_{number:03}"
        place = folder / "classroom" / "submitted" / name / lesson
        place.mkdir(parents=True)
        notebook = copy.deepcopy(blank if number % 3 == 2 else solved)
        notebook.cells.append(nbformat.v4.new_markdown_cell(f"This is {name}'s."))
        nbformat.write(notebook, place / f"{lesson}.ipynb")
    return course


def _solved(blank: NotebookNode, source: NotebookNode) -> NotebookNode:
    texts = {cell.id: cell.source for cell in source.cells}
    solved = copy.deepcopy(blank)
    for cell in solved.cells:
        if cell.metadata.get("nbgrader", {}).get("solution"):
            cell.source = texts[cell.id]
    return solved


def stock(course: Course, lesson: str) -> float:
    return _run([sys.executable, "-m", "nbgrader", "autograde", lesson], course.root)


def stock_with_feedback(course: Course, lesson: str) -> float:
    command = [sys.executable, "-m", "nbgrader", "generate_feedback", lesson]
    return max(stock(course, lesson), _run(command, course.root))


def ours(course: Course, lesson: str) -> float:
    return stock(course, lesson)  # the same command, with this course's settings


def ours_with_feedback(course: Course, lesson: str) -> float:
    jobs = ["--jobs", str(CORES)]
    return _run([sys.executable, "-m", "attention_lib.grading.grade", lesson, *jobs], course.root)


# By name, what grades a class and returns the megabytes that it took, and whether it is stock.
MAKE_GRADE = f"ours, make grade JOBS={CORES}"
GRADERS: dict[str, tuple[Callable[[Course, str], float], bool]] = {
    "stock nbgrader autograde": (stock, True),
    "ours, nbgrader autograde": (ours, False),
    "stock, and feedback": (stock_with_feedback, True),
    MAKE_GRADE: (ours_with_feedback, False),
}


def _adopt_orphans() -> None:
    """Become the parent of what outlives its own, so that its processor time is counted."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


def _wait_for_all() -> None:
    """Wait until everything that was started has ended."""
    with contextlib.suppress(ChildProcessError):
        while True:
            os.wait()


def _run(command: list[str], folder: Path) -> float:
    """Run a command, and return the megabytes that its largest process took."""
    with tempfile.TemporaryFile() as output:
        process = subprocess.Popen(
            command, cwd=folder, env=ENVIRONMENT, stdout=output, stderr=output
        )
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode:
            output.seek(0)
            said = output.read().decode(errors="replace")
            raise RuntimeError(f"{' '.join(command)} failed:\n{said}")
    _wait_for_all()
    return usage.ru_maxrss / 1024


def measure(grader: str, lesson: str, students: int) -> Cost:
    """Let a class hand in, grade it, and return what that took."""
    grade, is_stock = GRADERS[grader]
    with tempfile.TemporaryDirectory() as folder:
        course = make_class(Path(folder), lesson, students, is_stock)
        cpu, start = _cpu_of_children(), time.perf_counter()
        megabytes = grade(course, lesson)
        wall = time.perf_counter() - start
        return Cost(students, (_cpu_of_children() - cpu) / students, wall / students, megabytes)


def _cpu_of_children() -> float:
    """Return the processor time of all that has been started and has ended."""
    times = os.times()
    return times.children_user + times.children_system


def margin(costs: list[Cost]) -> str:
    """Return the processor time of one more student: what the start takes falls out."""
    small, large = costs[0], costs[-1]
    if small.students == large.students:
        return ""
    more = large.cpu * large.students - small.cpu * small.students
    return f"{more / (large.students - small.students):.2f}"


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.grading", description=__doc__)
    parser.add_argument("--students", type=int, nargs="+", default=STUDENTS)
    parser.add_argument("--lesson", default="01_softmax")
    chosen = parser.parse_args(arguments)
    _adopt_orphans()
    costs: dict[str, list[Cost]] = {grader: [] for grader in GRADERS}
    for size in sorted(chosen.students):
        for grader in GRADERS:  # in turn, so that a busy machine strikes all
            students = OF_LARGE if size > LARGE and grader != MAKE_GRADE else size
            if any(cost.students == students for cost in costs[grader]):
                continue
            cost = measure(grader, chosen.lesson, students)
            costs[grader].append(cost)
            told = f"{students} students, {grader}: {cost.cpu:.2f} s CPU, {cost.wall:.2f} s each"
            print(told, file=sys.stderr, flush=True)
    rows = []
    for grader, measured in costs.items():
        beside = costs[
            "stock, and feedback"
            if "feedback" in grader or "make" in grader
            else "stock nbgrader autograde"
        ]
        for cost in measured:
            theirs = next((one for one in beside if one.students == cost.students), beside[-1])
            last = cost is measured[-1]
            rows.append(
                [
                    grader,
                    str(cost.students),
                    f"{cost.cpu:.2f}",
                    margin(measured) if last else "",
                    f"{cost.wall:.2f}",
                    f"{cost.megabytes:.0f}",
                    f"{theirs.wall / cost.wall:.1f}",
                ]
            )
    header = ("", "students", "CPU s", "at the margin", "wall s", "MB", "times as fast")
    title = f"Grading {chosen.lesson} on {CORES} cores: seconds for one submission"
    print_table(title, header, rows)


if __name__ == "__main__":
    main()
