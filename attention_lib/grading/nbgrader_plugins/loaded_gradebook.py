"""Load what nbgrader's preprocessors look up in the gradebook at once, not cell by cell.

For each cell they ask for a grade, a comment or a cell by name, and commit what they change. Here
they find an object in place of the gradebook that has read all of a notebook's, and commits once.
"""

from __future__ import annotations

from typing import Any

from nbgrader.api import (
    BaseCell,
    Comment,
    Grade,
    Gradebook,
    GradeCell,
    MissingEntry,
    SourceCell,
)


class _LoadedGradebook:
    """A gradebook for one notebook; what it does not have, the gradebook itself does."""

    def __init__(self, gradebook: Gradebook) -> None:
        self._gradebook = gradebook
        self.db = _Session()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._gradebook, name)

    def __enter__(self) -> _LoadedGradebook:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        try:
            if kind is None:
                self._gradebook.db.commit()
        finally:
            self._gradebook.close()


class _Session:
    """In place of a session, whose changes are committed at the end."""

    def commit(self) -> None:
        """Do nothing yet."""


class _Grades(_LoadedGradebook):
    """The grades and comments of one student's notebook."""

    def __init__(self, gradebook: Gradebook, notebook: str, lesson: str, student: str) -> None:
        super().__init__(gradebook)
        work = gradebook.find_submission_notebook(notebook, lesson, student)
        self._grades = self._read(Grade, work.id)
        self._comments = self._read(Comment, work.id)

    def _read(self, kind: Any, notebook_id: str) -> dict[str, Any]:
        query = self._gradebook.db.query(BaseCell.name, kind).join(
            BaseCell, BaseCell.id == kind.cell_id
        )
        return {name: one for name, one in query.filter(kind.notebook_id == notebook_id)}

    def find_grade(self, name: str, *_: str) -> Grade:
        return _entry(self._grades, name)

    def find_comment(self, name: str, *_: str) -> Comment:
        return _entry(self._comments, name)


class _Cells(_LoadedGradebook):
    """The cells of a lesson's notebook, as it was released."""

    def __init__(self, gradebook: Gradebook, notebook: str, lesson: str) -> None:
        super().__init__(gradebook)
        released = gradebook.find_notebook(notebook, lesson)
        self._cells, self._graded = (
            self._read(SourceCell, released.id),
            self._read(GradeCell, released.id),
        )

    def _read(self, kind: Any, notebook_id: str) -> dict[str, Any]:
        cells = self._gradebook.db.query(kind).filter(kind.notebook_id == notebook_id)
        return {cell.name: cell for cell in cells}

    def find_source_cell(self, name: str, *_: str) -> SourceCell:
        return _entry(self._cells, name)

    def find_graded_cell(self, name: str, *_: str) -> GradeCell:
        return _entry(self._graded, name)


def _entry(entries: dict[str, Any], name: str) -> Any:
    try:
        return entries[name]
    except KeyError:
        raise MissingEntry(f"The gradebook has no entry for the cell {name!r}") from None


class LoadsGrades:
    """Preprocessor that finds one student's grades and comments loaded, where it opens a gradebook."""

    notebook_id: str
    assignment_id: str
    student_id: str
    _opened: _Grades

    @property
    def gradebook(self) -> _Grades:
        return self._opened

    @gradebook.setter
    def gradebook(self, gradebook: Gradebook) -> None:
        self._opened = _Grades(gradebook, self.notebook_id, self.assignment_id, self.student_id)


class LoadsCells:
    """Preprocessor that finds a lesson's cells loaded, where it opens a gradebook."""

    notebook_id: str
    assignment_id: str
    _opened: _Cells

    @property
    def gradebook(self) -> _Cells:
        return self._opened

    @gradebook.setter
    def gradebook(self, gradebook: Gradebook) -> None:
        self._opened = _Cells(gradebook, self.notebook_id, self.assignment_id)
