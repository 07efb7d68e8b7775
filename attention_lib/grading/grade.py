"""Grade what was handed in for a lesson: `python -m attention_lib.grading.grade LESSON`."""

from __future__ import annotations

import argparse
import difflib
import os
import sys
import warnings
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from datetime import timedelta

from attention_lib.grading.batch.workers import Workers, cores, preload
from attention_lib.grading.classroom.course import LATE_MARK, Course, CourseError
from attention_lib.grading.classroom.gradebook import Standing
from attention_lib.grading.classroom.journal import Entry, Journal
from attention_lib.grading.classroom.roster import Roster, class_list, read_roster
from attention_lib.grading.terminal import printable, shown_name

GO_ON = "What was graded so far is in the gradebook; the same command goes on."


@dataclass
class Result:
    """A student's result for a lesson."""

    student: str
    points: dict[str, float | None] = field(default_factory=dict)  # None: not yet marked by a human
    penalty: float = 0.0  # for being late
    in_doubt: list[str] = field(default_factory=list)  # exercises marked for an earlier answer
    note: str = ""
    failed: bool = False
    absent: bool = False  # handed in nothing
    page: str = ""  # a digest of all that the feedback page was made from

    @property
    def total(self) -> float:
        return sum(points or 0 for points in self.points.values()) - self.penalty


def grade(
    course: Course,
    lesson: str,
    jobs: int = 0,
    scheduler: str = "",
    again: bool = False,
    trust_network: bool = False,
    only: Sequence[str] = (),
    tell: Callable[[Result], None] | None = None,
    look: Callable[[], bool] = lambda: False,
) -> tuple[dict[str, float], list[Result]]:
    """Autograde the submissions for a lesson that are new or changed, and write the feedback.

    `jobs` processes run notebooks and write feedback; with 0, this process does. `scheduler` is the
    address of a Dask scheduler, whose workers run the notebooks instead; `trust_network` allows one
    on another machine without TLS. `again` also grades what has not changed. `only` names the
    students to grade, even if unchanged; by default all are graded. `tell` is called with a
    student's result as soon as the page is written. Meanwhile `look` is called repeatedly; it
    returns whether it has collected more.

    Return the points that each exercise is worth, and each student's result.

    Raises
    ------
    CourseError
        If nothing was handed in, nothing could be graded, or the roster cannot be read.
    """
    from attention_lib.grading.batch.batch import Batch, Watch
    from attention_lib.grading.batch.cluster import ClusterWorkers
    from attention_lib.grading.batch.planning import Plan
    from attention_lib.grading.release import release_once
    from attention_lib.grading.report.findings import points_of_lesson

    roster = read_roster(course)
    students = course.submitted(lesson)
    if not students:
        notebook = course.submission(lesson, "STUDENT") / f"{lesson}.ipynb"
        raise CourseError(
            f"Nothing has been handed in for {lesson}: there is no {course.shown(notebook)}."
        )
    if only:
        students = _students_named(course, lesson, only, students, roster)
    with warnings.catch_warnings(), Journal(course.journal(lesson)) as journal:
        warnings.simplefilter("ignore")  # SQLAlchemy warns about nbgrader's queries
        release_once(course, lesson)
        with course.gradebook() as gradebook:
            if roster is not None:
                roster.enroll(gradebook)
            batch = Batch(course, lesson, gradebook, journal)
            plan, failures = batch.plan(students, again or bool(only)), batch.recorder.failures

            def result_of(student: str) -> Result:
                standings = batch.recorder.standings(student)
                collected = course.collected(lesson).get(student, [])
                return _result_for(student, standings, journal, failures, collected)

            def arrivals() -> Plan:
                if not look():
                    return Plan()
                students[:] = course.submitted(lesson)
                return batch.plan(students)

            watch = tell and Watch(lambda student: tell(result_of(student)), arrivals)
            on_cluster = scheduler and plan
            with (
                ClusterWorkers(jobs, scheduler, trust_network) if on_cluster else Workers(jobs)
            ) as workers:
                batch.run(plan, workers, again, watch)
            standings = batch.recorder.standings()
    collected = course.collected(lesson)
    return points_of_lesson(course, lesson), [
        _result_for(student, standings, journal, failures, collected.get(student, []))
        for student in students
    ]


def _students_named(
    course: Course, lesson: str, names: Sequence[str], submitted: list[str], roster: Roster | None
) -> list[str]:
    """Return the students with these names; for an unknown name, raise CourseError with similar ones."""
    absent = {one.id: one.full_name for one in roster.students} if roster else {}
    known = {text.casefold(): id for id in submitted for text in (id, absent.pop(id, id))}
    for name in names:
        if name in submitted:
            continue
        if name in absent:
            raise CourseError(f"{name} has handed in nothing for {lesson}.")
        near = (
            [name.casefold()]
            if name.casefold() in known
            else difflib.get_close_matches(name.casefold(), known)
        )
        meant = f" Did you mean {' or '.join(dict.fromkeys(known[one] for one in near))}?" * bool(
            near
        )
        there = course.shown(course.submission(lesson, "STUDENT").parent.parent)
        raise CourseError(f"{there} has no student {name!r} with {lesson}.{meant}")
    return sorted(set(names))


def _result_for(
    student: str,
    standings: dict[str, Standing],
    journal: Journal,
    failures: dict[str, str],
    collected: list[str],
) -> Result:
    if student in failures:
        return Result(student, note=failures[student], failed=True)
    if student not in standings:
        return Result(student, note="its grade is not in the gradebook any more", failed=True)
    standing = standings[student]
    entry = journal.entries.get(student, Entry())
    notes = [entry.note, _lateness_note(standing)]
    is_known = standing.late or standing.extension  # nbgrader's times say more
    notes += [note for note in collected if not (is_known and note == LATE_MARK)]
    if standing.in_doubt:
        notes.append(f"look again at your mark for {', '.join(standing.in_doubt)}")
    note = "; ".join(note for note in notes if note)
    return Result(
        student, standing.points, standing.penalty, standing.in_doubt, note, page=entry.page
    )


def _lateness_note(standing: Standing) -> str:
    if not standing.late and not standing.penalty:
        return ""
    late = timedelta(seconds=round(standing.late.total_seconds()))
    costs = f", which costs {standing.penalty:g}" if standing.penalty else ""
    return f"late by {late}{costs}"


def add_absent(course: Course, lesson: str, results: list[Result]) -> list[Result]:
    """Add the students who handed in nothing; note who is excused and who is not in the roster."""
    with warnings.catch_warnings(), course.gradebook() as gradebook:
        warnings.simplefilter("ignore")  # SQLAlchemy warns about nbgrader's queries
        students = {student.id: student for student in class_list(course, gradebook)}
    whole, refused = [], course.not_collected(lesson)
    for result in results:
        student = students.pop(result.student, None)
        note = ""
        if student is None and course.roster.is_file():
            note = f"not in {course.shown(course.roster)}"
        elif student is not None and lesson in student.excused:
            note = "excused"
        why = refused.get(result.student)
        also = f"something was handed in and not collected: {why}" if why else ""
        notes = "; ".join(note for note in (result.note, note, also) if note)
        whole.append(replace(result, note=notes))
    for student in students.values():
        if course.autograded(lesson, student.id).is_file():
            continue  # graded before, and the submission was removed since then
        why = refused.get(student.id)
        note = f"what was handed in was not collected: {why}" if why else "handed in nothing"
        note = "excused" if lesson in student.excused else note
        whole.append(Result(student.id, note=note, absent=True))
    return sorted(whole, key=lambda result: result.student)


def table(most: dict[str, float], results: list[Result]) -> str:
    """Return the results as a table, one line per student."""
    rows = [["student", *most, "total", "note"], ["", *(f"of {p:g}" for p in most.values())]]
    rows[1] += [f"of {sum(most.values()):g}", ""]
    for result in results:
        has_none = result.failed or result.absent
        points = ["-" if has_none else _points_text(result, name) for name in most]
        total = "-" if has_none else f"{result.total:g}"
        rows.append([shown_name(result.student), *points, total, printable(result.note)])
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    return "\n".join(
        "  ".join(
            text.ljust(width) if column in (0, len(widths) - 1) else text.rjust(width)
            for column, (text, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in rows
    )


def summary(results: list[Result]) -> str:
    """Return one line with the number of hand-ins, and everything that needs attention."""
    failed = [shown_name(result.student) for result in results if result.failed]
    waiting = Counter(name for result in results for name in result.points if _waits(result, name))
    absent = [result for result in results if result.absent]
    sentences = [f"{len(results) - len(absent)} handed in."]
    if failed:
        sentences.append(f"Not graded: {', '.join(failed)}.")
    if absent:
        students: dict[str, list[str]] = {}  # by the reason why they are absent
        for one in absent:
            students.setdefault(one.note, []).append(shown_name(one.student))
        groups = (f"{' '.join(names)} ({note})" for note, names in students.items())
        sentences.append(f"Absent: {', '.join(groups)}.")
    if waiting:
        counts = ", ".join(f"{name} of {count}" for name, count in waiting.items())
        sentences.append(f"Waiting for a human (?): {counts}.")
    return " ".join(sentences)


def _points_text(result: Result, exercise: str) -> str:
    points = result.points.get(exercise)
    return f"{'' if points is None else format(points, 'g')}{'?' * _waits(result, exercise)}"


def _waits(result: Result, exercise: str) -> bool:
    """Tell whether a human has to mark an answer, or to look at its mark again."""
    return result.points.get(exercise) is None or exercise in result.in_doubt


def main(arguments: list[str] | None = None) -> int:
    options = _options(arguments)
    try:
        course = Course.here()
        lesson = course.require(options.lesson)
        if options.jobs:
            os.environ.setdefault("OMP_NUM_THREADS", "1")  # per worker: there is one per core
            preload()  # in the meantime this process imports nbgrader too
        most, results = grade(
            course,
            lesson,
            options.jobs,
            options.scheduler,
            options.again,
            options.trust_network,
            options.student,
        )
    except CourseError as problem:
        print(problem, file=sys.stderr)
        return 1
    except OSError as problem:  # a full disk, for example
        print(f"Stopped: {problem}. {GO_ON}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print(f"Stopped. {GO_ON}", file=sys.stderr)
        return 130
    from attention_lib.grading.report.text import SIGNS

    whole_class = add_absent(course, lesson, results)
    if options.student:
        whole_class = [result for result in whole_class if result.student in options.student]
    print(table(most, whole_class))
    print(f"\n{SIGNS}\n{summary(whole_class)}")
    if not all(result.failed for result in results):
        from attention_lib.grading.report.writing import show_report

        print()
        show_report(course, lesson, in_full=not options.student)
    log = course.log(lesson)
    warnings_in = f", warnings in {course.shown(log)}" if log.stat().st_size else ""
    print(
        f"Feedback is in {course.shown(course.feedback_folder)}{warnings_in}. "
        "Grade by hand in JupyterLab: Nbgrader > Formgrader."
    )
    return 1 if any(result.failed for result in results) else 0


def _options(arguments: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="grade", description=__doc__)
    parser.add_argument("lesson", metavar="LESSON", help="such as 01_softmax")
    parser.add_argument(
        "--jobs",
        type=_count,
        default=cores(),
        metavar="N",
        help="processes, %(default)s if not said",
    )
    parser.add_argument(
        "--scheduler", default="", metavar="URL", help="of a dask cluster, such as tls://host:8786"
    )
    parser.add_argument(
        "--trust-network", action="store_true", help="use a scheduler elsewhere without TLS too"
    )
    parser.add_argument("--again", action="store_true", help="grade also what has not changed")
    parser.add_argument(
        "--student",
        type=lambda text: [name.strip() for name in text.split(",")],
        default=[],
        metavar="STUDENT[,STUDENT]",
        help="grade only these, and these again",
    )
    return parser.parse_args(arguments)


def _count(text: str) -> int:
    if not text.isdecimal():
        raise argparse.ArgumentTypeError(f"{text!r} is not a number of processes")
    return int(text)


if __name__ == "__main__":
    sys.exit(main())
