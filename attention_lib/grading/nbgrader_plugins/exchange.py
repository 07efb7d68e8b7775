"""Collect submissions from nbgrader's exchange without following links, and read its records."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from nbgrader.api import Gradebook
from nbgrader.coursedir import CourseDirectory
from nbgrader.exchange import ExchangeFactory
from nbgrader.exchange.default import Exchange, ExchangeCollect

from attention_lib.grading import limits
from attention_lib.grading.classroom.course import Course
from attention_lib.grading.intake.folder import NotTaken, read_file, walk
from attention_lib.grading.intake.timestamps import (
    TIMESTAMP,
    Record,
    find_records,
    read_name,
    write_time,
)


class CollectFiles(ExchangeCollect):
    """Copy what students put into the exchange, where they may still be at work on it.

    The instructor copies it, with the instructor's rights: a link to the solution would arrive
    as the solution. The time in timestamp.txt is the one that the exchange recorded.
    """

    src_records: list[dict[str, Any]]

    def init_src(self) -> None:
        """List what to collect: of each student the latest, among folders that are the student's."""
        with Gradebook(self.coursedir.db_url, self.coursedir.course_id) as gradebook:
            self._students = {student.id for student in gradebook.students}
        super().init_src()
        self.src_records = [record for record in self.src_records if record["username"]]

    def _path_to_record(self, path: str) -> dict[str, Any]:
        """Read a folder's name. Any student may write a folder of any name into the exchange."""
        folder = Path(path)
        record = read_name(folder, self.coursedir.assignment_id)
        if record is None or not self._is_the_students(record):
            self.log.warning("Passed over in the exchange, since it is not the student's: %r", path)
            return {"username": "", "filename": "", "timestamp": datetime.min}
        return {"username": record.student, "filename": folder.name, "timestamp": record.time}

    def _is_the_students(self, record: Record) -> bool:
        """Tell whether no other student owns a folder. On some hubs one account owns them all."""
        if record.student.startswith(".") or Course.problem_with_name(record.student):
            return False
        try:
            owner = record.folder.owner()
        except (KeyError, OSError, NotImplementedError):  # no account, gone, or on Windows
            return True
        return not self.check_owner or owner == record.student or owner not in self._students

    def do_copy(self, src: str, dest: str, log: Any = None) -> None:
        with TemporaryDirectory() as folder:
            self._copy_files(Path(src), Path(folder, "copy"))
            record = read_name(Path(src), self.coursedir.assignment_id)
            if record:
                Path(folder, "copy", TIMESTAMP).write_text(write_time(record.time))
            super().do_copy(str(Path(folder, "copy")), dest, log)

    def _copy_files(self, src: Path, dest: Path) -> None:
        dest.mkdir()
        room = limits.ARCHIVE_UNPACKED_BYTES
        for folder, path, reason in walk(
            src, src.parent, limits.FOLDER_ENTRIES, limits.FOLDER_DEPTH
        ):
            try:
                if reason:
                    raise reason
                content = read_file(folder, path.name, min(room, limits.NOTEBOOK_BYTES))
                room -= len(content)
            except NotTaken as refusal:
                self.log.warning("Left out of %s as %s: %r", src.name, refusal, str(path))
                continue
            (dest / path).parent.mkdir(parents=True, exist_ok=True)
            (dest / path).write_bytes(content)


def exchange_records(course: CourseDirectory, lesson: str) -> Mapping[str, list[Record]]:
    """Return what nbgrader's own exchange recorded of a lesson, by student."""
    inbound = _inbound(course)
    return {} if inbound is None else find_records(inbound, lesson)


def has_inbound(course: CourseDirectory) -> bool:
    """Tell whether students can hand in by an exchange."""
    inbound = _inbound(course)
    return inbound is None or inbound.is_dir()


def _inbound(course: CourseDirectory) -> Path | None:
    """Return nbgrader's own folder for hand-ins; None where the exchange is of another kind."""
    collect = ExchangeFactory(parent=course).collect
    if not issubclass(collect, Exchange):
        return None
    return Path(collect(coursedir=course, parent=course).root, course.course_id, "inbound")
