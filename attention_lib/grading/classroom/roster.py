"""Read the roster, classroom/students.csv: who is in the class, with their names and LMS ids.

Its columns are those of `nbgrader db student import`, and `excused`; or the file is an export from
Moodle or Canvas. A name from a learning platform (LMS) is matched with a student only if it cannot
be another student's.
"""

from __future__ import annotations

import difflib
import itertools
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING

from attention_lib.grading.classroom.course import Course, CourseError
from attention_lib.grading.classroom.columns import COLUMNS, cells_of, id_from, recognize
from attention_lib.grading.classroom.names import FORMS, keys_of_name, keys_of_person, letters
from attention_lib.grading.intake.folder import same_name
from attention_lib.grading.spreadsheet import (
    UnclosedQuote,
    csv_text,
    decoded,
    delimiter_of,
    read_table,
)

if TYPE_CHECKING:
    from nbgrader.api import Gradebook

SHORTENED = re.compile(r"\d([.,]\d+)?E\+\d+", re.IGNORECASE)  # as spreadsheets show long numbers
UNSURE = ("first_name", "last_name", "student", "email", "login")  # columns of a proposed line


class NotFound(Exception):
    """A name fits no student, or several. The text ends a sentence, and says what to do.

    It may end with a line to paste into the roster.
    """


@dataclass(frozen=True)
class Student:
    """One line of the roster."""

    id: str  # the name of the student's folders
    first_name: str = ""
    last_name: str = ""
    email: str = ""
    lms_user_ids: tuple[str, ...] = ()
    excused: frozenset[str] = frozenset()  # from these lessons

    @property
    def full_name(self) -> str:
        return f"{self.first_name} {self.last_name}".strip()

    @cached_property
    def keys(self) -> list[set[tuple[str, ...]]]:
        """The names that this student's files may have, from exact to reduced."""
        return keys_of_person(self.first_name, self.last_name, self.id, self.email)


@dataclass(frozen=True)
class Roster:
    """The students of a class."""

    students: tuple[Student, ...]
    file: str  # its path as messages show it
    columns: tuple[str, ...] = COLUMNS  # of the file; empty for a column that is not needed
    delimiter: str = ","
    is_there: bool = True
    headings: tuple[str, ...] = COLUMNS  # of these columns, as written in the file

    def line(self, student: Student) -> str:
        """Return a student's line, to be pasted into the file: all columns of the file, or more."""
        sortable = ", ".join(filter(None, (student.last_name, student.first_name)))
        cells = {
            "id": student.id,
            "first_name": student.first_name,
            "last_name": student.last_name,
            "student": sortable or student.id,
            "full_name": student.full_name,
            "login": student.id,  # a platform's table takes the id from this column
            "id_number": "" if student.id == student.email else student.id,
            "email": student.email,
            "lms_user_id": " ".join(student.lms_user_ids),
            "excused": " ".join(sorted(student.excused)),
        }
        return self._csv_row([cells.get(column, "") for column in self._columns_of_line(student)])

    def _csv_row(self, cells: Sequence[str]) -> str:
        return csv_text([cells], self.delimiter).rstrip("\n")

    @property
    def _has_own_columns(self) -> bool:
        """Whether the file has the course's own columns, or the first few of them."""
        return COLUMNS[: len(self.columns)] == self.columns

    def _columns_of_line(self, student: Student) -> tuple[str, ...]:
        """Return the columns of a new line; an LMS id gets one at the end if the file has none."""
        if self._has_own_columns:
            return COLUMNS
        is_new = student.lms_user_ids and "lms_user_id" not in self.columns
        return (*self.columns, "lms_user_id") if is_new else self.columns

    def find(self, name: str, lms_id: str = "", lasting: bool = False) -> Student:
        """Return the student whom a platform means by this id or name.

        `lasting` says that a student has the same id on the platform in all lessons. Then a student
        with another id is not meant.

        Raises
        ------
        NotFound
            If no student fits, or several may.
        """
        if not lms_id:
            for student in self.students:
                if same_name(name) == same_name(student.id):
                    return student
        named = self._students_named(name)
        for student in self.students:
            if lms_id and lms_id in student.lms_user_ids:
                if named and student not in named:
                    ids = " or ".join(one.id for one in named)
                    raise NotFound(
                        f"{self.file} has the LMS id {lms_id} for {student.id} and the name "
                        f"{name!r} for {ids}: correct the line of one of them"
                    )
                return student
        if len(named) == 1 and not (lasting and named[0].lms_user_ids):
            return named[0]
        candidates = named or self._similar(name)
        may_be_team = bool(lms_id) and not lasting
        if not (lasting or candidates or "lms_user_id" in self.columns):
            lms_id = ""  # the name is enough, and the id is valid for one lesson only
        raise NotFound(self._who_is_it(name, lms_id, candidates, may_be_team))

    def has_name(self, name: str) -> bool:
        """Tell whether a student has this name."""
        return bool(self._students_named(name))

    def _students_named(self, name: str) -> list[Student]:
        """Return the students with this name, in the most exact form in which any student has it."""
        for form, keys in enumerate(keys_of_name(name)):
            if named := [student for student in self.students if keys & student.keys[form]]:
                return named
        return []

    def _similar(self, name: str) -> list[Student]:
        """Return up to three students with similar names."""
        by_key = {"".join(key): one for one in self.students for key in one.keys[-1]}
        near = difflib.get_close_matches(letters(FORMS[-1](name)), by_key, n=3, cutoff=0.75)
        return list(dict.fromkeys(by_key[key] for key in near))

    def _who_is_it(
        self, name: str, lms_id: str, candidates: list[Student], may_be_team: bool
    ) -> str:
        """Return a message that names the candidates, and the line to write for each."""
        known = f"{name!r}" + (f" (LMS id {lms_id})" if lms_id else "")
        column = ""
        if lms_id and "lms_user_id" not in self.columns:
            headings = COLUMNS if self._has_own_columns else (*self.headings, "lms_user_id")
            column = f"make the first line {self._csv_row(headings)} and "
        line = self.line(self._proposed_student(name, lms_id))
        nobody = f"{self._columns_to_check()}add the line {line}"
        if not self.is_there:
            return f"{known} is not known yet: {nobody}"
        if not candidates:
            team = " (if it is a team: teams are not supported)" if may_be_team else ""
            return f"{self.file} has no student {known}{team}: {column}{nobody}"
        if not lms_id:
            ids = " or ".join(candidate.id for candidate in candidates)
            return f"{known} may be {ids} of {self.file}: name it by that id, or {nobody}"
        lines = [
            self.line(replace(one, lms_user_ids=(*one.lms_user_ids, lms_id))) for one in candidates
        ]
        shown = " or ".join(
            f"for {candidate.id} make its line {line}"
            for candidate, line in zip(candidates, lines, strict=True)
        )
        return f"{self.file} does not say who {known} is: {column}{shown}; for another, {nobody}"

    def _columns_to_check(self) -> str:
        """Return a request to check the columns that a written name does not tell for sure."""
        columns = zip(self.columns, self.headings, strict=True)
        unsure = [heading for column, heading in columns if column in UNSURE]
        return f"check {', '.join(unsure)} and " if unsure else ""

    def _proposed_student(self, name: str, lms_id: str) -> Student:
        """Return a proposed student for a name that is not in the roster."""
        last, comma, first = name.strip().partition(", ")
        if not comma:
            first, _, last = name.strip().rpartition(" ")
        return Student(self._free_id(name), first, last if first else "", "", (lms_id,) if lms_id else ())

    def _free_id(self, name: str) -> str:
        """Return the name as an id that no student has, such as `ada_byron` or `ada_byron_2`."""
        wanted = id_from(name)
        taken = {same_name(student.id) for student in self.students}
        numbered = (f"{wanted}_{number}" for number in itertools.count(2))
        return next(one for one in itertools.chain([wanted], numbered) if same_name(one) not in taken)

    def enroll(self, gradebook: Gradebook) -> None:
        """Write to the gradebook the students that are missing or different there."""
        enrolled = {student.id: student for student in gradebook.students}
        for student in self.students:
            new = {
                "first_name": student.first_name or None,
                "last_name": student.last_name or None,
                "email": student.email or None,
                "lms_user_id": " ".join(student.lms_user_ids) or None,
            }
            old = enrolled.get(student.id)
            if old is None or any(getattr(old, name) != value for name, value in new.items()):
                gradebook.update_or_create_student(student.id, **new)


def read_roster(course: Course) -> Roster | None:
    """Read the roster; return None if there is no file.

    Raises
    ------
    CourseError
        If the file cannot be read, or one of its lines is wrong.
    """
    path, file = course.roster, course.shown(course.roster)
    try:
        text = decoded(path.read_bytes())
    except FileNotFoundError:
        return None
    except UnicodeDecodeError:
        raise CourseError(f"{file} is not text in UTF-8: save it as UTF-8.") from None
    except OSError as problem:
        raise CourseError(f"{file} cannot be read: {problem}.") from None
    try:
        rows = iter(list(read_table(text)))
    except UnclosedQuote as number:
        raise CourseError(
            f"{file}, line {number}: quotes do not enclose a whole cell."
        ) from None
    _, headings = next(rows, (1, []))
    recognized = recognize(headings)
    if recognized is None:
        raise CourseError(
            f"The first line of {file} does not name the columns: it has to be {','.join(COLUMNS)}, or "
            "as Moodle exports the list of participants or Canvas the gradebook, with first name, last "
            "name and email address."
        )
    kind, columns = recognized
    students: list[Student] = []
    lines: dict[tuple[str, str], int] = {}  # by a value that only one student may have
    for line, row in rows:
        where = f"{file}, line {line}"
        cells = cells_of(kind, columns, row)
        if cells is None:
            continue
        student = _student_from_cells(cells, course, where, extra=len(row) > len(columns))
        unique = [("id", student.id), ("email", student.email)]
        unique += [("lms_user_id", one) for one in student.lms_user_ids]
        for column, value in unique:
            if value and lines.setdefault((column, same_name(value)), line) != line:
                raise CourseError(f"{where}: the {column} {value!r} stands in an earlier line too.")
        students.append(student)
    return Roster(tuple(students), file, columns, delimiter_of(text), headings=tuple(headings))


def roster_or_empty(course: Course) -> Roster:
    """Read the roster; return an empty one if there is no file."""
    return read_roster(course) or Roster((), course.shown(course.roster), is_there=False)


def _student_from_cells(cells: dict[str, str], course: Course, where: str, extra: bool) -> Student:
    if extra:
        raise CourseError(f"{where} has more cells than the first line; put quotes around commas.")
    name = cells.get("id", "")
    if not name or name.startswith(".") or {"/", "\\"} & set(name) or course.problem_with_name(name):
        raise CourseError(f"{where}: the id {name!r} cannot be the name of a student's folder.")
    for value in (name, *cells.get("lms_user_id", "").split()):
        if SHORTENED.fullmatch(value):
            raise CourseError(
                f"{where}: a spreadsheet has shortened a number to {value}; export the file again, and "
                "add to it in a text editor."
            )
    excused = frozenset(cells.get("excused", "").split())
    if unknown := sorted(excused - set(course.lessons)):
        raise CourseError(
            f"{where}: excused has {unknown[0]!r}, which is no lesson; write lessons like "
            f"{course.lessons[0]}, with spaces between them."
        )
    return Student(
        name,
        cells.get("first_name", ""),
        cells.get("last_name", ""),
        cells.get("email", ""),
        tuple(cells.get("lms_user_id", "").split()),
        excused,
    )


def class_list(course: Course, gradebook: Gradebook) -> list[Student]:
    """Return who is in the class: the roster's students or, if there is no roster, the gradebook's."""
    roster = read_roster(course)
    if roster is not None:
        return list(roster.students)
    return [
        Student(
            one.id,
            one.first_name or "",
            one.last_name or "",
            one.email or "",
            tuple((one.lms_user_id or "").split()),
        )
        for one in gradebook.students
    ]
