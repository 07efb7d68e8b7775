"""Collect from nbgrader's exchange what each student owns there, and release pages one by one.

Any student can write folders with any name and content into the exchange.
"""

from __future__ import annotations

import contextlib
import errno
import functools
import glob
import hashlib
import json
import os
import re
import shutil
import stat
import sys
from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime
from pathlib import Path, PurePosixPath
from tempfile import TemporaryDirectory
from typing import Any

from nbgrader.api import Gradebook
from nbgrader.coursedir import CourseDirectory
from nbgrader.exchange import ExchangeFactory
from nbgrader.exchange.default import ExchangeCollect, ExchangeReleaseFeedback
from nbgrader.utils import notebook_hash, rmtree

from attention_lib.grading import limits
from attention_lib.grading.classroom.course import UNNAMED, Course
from attention_lib.grading.classroom.roster import class_list
from attention_lib.grading.intake.folder import (
    Folder,
    NotTaken,
    opened,
    read_file,
    same_name,
    status,
    walk,
)
from attention_lib.grading.intake.submission import IGNORED_FOLDERS, SECRET_FILE
from attention_lib.grading.intake.timestamps import (
    TIMESTAMP,
    Record,
    find_records,
    read_name,
    read_time,
    write_time,
)
from attention_lib.grading.terminal import first_few, shown_name

if sys.platform != "win32":
    import pwd

LONGEST_NAME = 80  # characters of a file's name in a message
# Errors that affect everybody, not only the student being collected.
_EVERYBODYS = {errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.EMFILE, errno.ENFILE}


class CollectFiles(ExchangeCollect):
    """Copy students' folders from the exchange, where they may still be changing.

    The copy is made with the instructor's rights: a link to the solution would arrive as the
    solution. The time in timestamp.txt is written here, whatever the student wrote there. A problem
    with one student's folder is noted for that student, and the others are collected.
    """

    src_records: list[dict[str, Any]]

    def init_src(self) -> None:
        """List what to collect: each student's latest folder, among those that the student owns."""
        lesson = self.coursedir.assignment_id
        self._records_of_owners, self._not_taken = own_records(self, self.coursedir, lesson)
        self._by_folder = {
            record.folder.name: record
            for records in self._records_of_owners.values()
            for record in records
        }
        for student, why in self._not_taken.items():
            self.log.warning("Passed over for %r: %s", student, why)
        super().init_src()
        self.src_records = [record for record in self.src_records if record["username"]]

    def _path_to_record(self, path: str) -> dict[str, Any]:
        name = os.path.basename(path)
        if read_name(Path(path), self.coursedir.assignment_id) is None:
            self.log.warning("Passed over, since its name does not say who and when: %r", path)
        record = self._by_folder.get(name)
        if record is None:
            return {"username": "", "filename": name, "timestamp": datetime.min, "record": None}
        return {
            "username": record.student,
            "filename": name,
            "timestamp": record.handed_in,
            "record": record,
        }

    def _sort_by_timestamp(self, records: list[dict[str, Any]]) -> list[dict[str, Any]]:
        def order(item: dict[str, Any]) -> datetime:
            return item["record"].order if item["record"] else datetime.min

        return sorted(records, key=order, reverse=True)

    def copy_files(self) -> None:
        """Collect one student after the other; record who was not collected, and why."""
        course, lesson = Course(Path(self.coursedir.root)), self.coursedir.assignment_id
        reasons: dict[str, str | None] = {item["username"]: None for item in self.src_records}
        known = {*reasons, *_names_of_class(self.coursedir)}
        reasons |= {name: why for name, why in self._not_taken.items() if name in known}
        notes: dict[str, list[str]] = {}  # for students whose folder is collected now
        for record in (item["record"] for item in self.src_records):
            try:
                ignored = self._collect(record)
            except (NotTaken, OSError, RuntimeError) as problem:
                if isinstance(problem, OSError) and problem.errno in _EVERYBODYS:
                    raise
                reasons[record.student] = f"its folder in the exchange is {problem}"
                self.log.error("Not collected for %r: %s", record.student, problem)
            else:
                if ignored is not None:
                    named = first_few(ignored, limits.FILES_NAMED_PER_NOTE)
                    why = f"left out by nbgrader's settings: {named}"
                    notes[record.student] = [why] if ignored else []
        if not self.src_records:
            self.log.warning("No submissions of %r to collect", lesson)
        course.note_not_collected(lesson, reasons)
        course.note_collected(lesson, notes)

    def _collect(self, record: Record) -> list[str] | None:
        """Copy a student's folder if it is new, newer than the collected one, or has changed.

        Return the files that nbgrader's settings leave out, or None if nothing was copied.
        """
        lesson = self.coursedir.assignment_id
        dest = Path(
            self.coursedir.format_path(self.coursedir.submitted_directory, record.student, lesson)
        )
        note = dest.with_name(f".{lesson}.collected")
        is_new = not dest.is_dir()
        before = {} if is_new else _read_note(note)
        said = {"folder": record.folder.name}
        is_same_folder = before.get("folder") == said["folder"]
        if not is_new and not self._may_replace(dest, record, before if is_same_folder else {}):
            self.log.info("There is nothing newer to collect for %r", record.student)
            return None
        ignored = None
        dest.parent.mkdir(parents=True, exist_ok=True)
        with TemporaryDirectory() as folder:
            copy = Path(folder, "copy")
            said["digest"] = self._copy(record, copy)
            record = replace(record)  # without the cached time, which may be outdated
            said["changed"] = str(record.changed)
            # The folder may only have been touched, and the instructor may have corrected the
            # collected copy.
            if not is_same_folder or before.get("digest") != said["digest"]:
                stamp = write_time(record.handed_in)
                (copy / TIMESTAMP).write_text(stamp, encoding="utf-8")
                ignored = self._replace_collected(copy, dest)
        note.unlink(missing_ok=True)  # it may be another instructor's, if a group shares the course
        note.write_text(json.dumps(said), encoding="utf-8")
        return ignored

    def _may_replace(self, dest: Path, record: Record, before: Mapping[str, str]) -> bool:
        """Tell whether there may be more than was collected; `before` is the note on the same folder."""
        if before:
            return self.update and before.get("changed") != str(record.changed)
        with opened(dest, dest.parent) as place:
            stamp, _ = read_time(place)
        is_newer = self.update and (stamp is None or record.handed_in > stamp)
        return is_newer or (self.before_duedate and record.handed_in != stamp)

    def _replace_collected(self, copy: Path, dest: Path) -> list[str]:
        """Replace what was collected by a complete copy; return the files that are left out."""
        new = dest.with_name(f".{dest.name}.collecting")
        if new.exists():
            rmtree(str(new))
        self.do_copy(str(copy), str(new))
        ignored = _names_of_files(copy) - _names_of_files(new)
        if dest.exists():
            rmtree(str(dest))
        new.rename(dest)
        self.log.info("Collected: %s", dest)
        return sorted(ignored)

    def _copy(self, record: Record, dest: Path) -> str:
        """Copy the student's own files, and return a digest of them."""
        dest.mkdir()
        src = record.folder
        room = limits.ARCHIVE_UNPACKED_BYTES
        digests = []
        refused: dict[str, NotTaken] = {}
        with opened(src.parent, src.parent) as inbound:
            owner = status(inbound, src.name).st_uid
        if owner != record.owner:
            raise NotTaken("another one than when its owner was looked up")
        for folder, path, reason in walk(
            src, src.parent, limits.FOLDER_ENTRIES, limits.FOLDER_DEPTH
        ):
            if reason and path == PurePosixPath():
                raise reason  # nothing in it can be read
            if same_name(path.parts[0]) == TIMESTAMP:
                continue
            try:
                if reason:
                    raise reason
                content = _read_own(folder, path.name, owner, min(room, limits.NOTEBOOK_BYTES))
                _write(dest / path, content)
                room -= len(content)
            except NotTaken as refusal:
                refused[str(path)] = refusal
                self.log.warning("Left out of %r as %s: %r", src.name, refusal, str(path))
                continue
            digests.append(f"{str(path)!r} {hashlib.sha256(content).hexdigest()}")
        notebook = refused.get(f"{self.coursedir.assignment_id}.ipynb")
        if notebook and not any(dest.glob("*.ipynb")):
            raise NotTaken(f"one whose notebook is {notebook}")
        return hashlib.sha256("\n".join(sorted(digests)).encode()).hexdigest()


def _names_of_files(folder: Path) -> set[str]:
    """Return the paths of the files in a folder, without those that programs leave there."""
    paths = (path.relative_to(folder) for path in folder.rglob("*") if path.is_file())
    return {
        shown_name(str(path), LONGEST_NAME)
        for path in paths
        if not IGNORED_FOLDERS.intersection(path.parts)
        and not any(part.startswith(".") for part in path.parts)
    }


def _read_note(path: Path) -> dict[str, str]:
    """Return the note on the folder that was collected: its name, last change, and digest."""
    try:
        return dict(json.loads(path.read_bytes()))
    except (OSError, ValueError, TypeError):  # collected by other means
        return {}


def _read_own(folder: Folder, name: str, owner: int, most: int) -> bytes:
    """Read a file if the folder's owner owns it: others may be able to write into the folder."""
    if status(folder, name).st_uid != owner:
        raise NotTaken("a file of another account")
    return read_file(folder, name, most)


def _write(path: Path, content: bytes) -> None:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
    except OSError as problem:
        if problem.errno in _EVERYBODYS:
            raise
        raise NotTaken(f"of a name that cannot be written here ({problem.strerror})") from None


class ReleasePages(ExchangeReleaseFeedback):
    """Give back feedback pages; log the name of each student whose page fails, and continue."""

    def copy_files(self) -> None:
        course = self.coursedir
        form = course.format_path(
            course.feedback_directory, "(?P<student>.*)", course.assignment_id, escape=True
        )
        for folder in sorted(glob.glob(self.src_path)):
            match = re.fullmatch(form, folder, re.DOTALL)
            student = match["student"] if match else folder
            if student in course.student_id_exclude.split(","):
                continue
            try:
                self._release(Path(folder))
            except (OSError, ValueError) as problem:
                if isinstance(problem, OSError) and problem.errno in _EVERYBODYS:
                    raise
                self.log.warning("No page is released for %r: %s", student, problem)

    def _release(self, folder: Path) -> None:
        pages = list(folder.glob("*.html"))
        secret = self._secret(folder) if pages else ""
        for page in pages:
            name = notebook_hash(secret=secret, notebook_id=page.stem)
            unfinished = Path(self.dest_path, f"{name}-tmp.html")
            shutil.copy(page, unfinished)
            unfinished.replace(Path(self.dest_path, f"{name}.html"))
            self.log.info("Feedback released: %s", page)

    @staticmethod
    def _secret(folder: Path) -> str:
        """Return the secret by which a student finds the page."""
        try:
            secret = (folder / SECRET_FILE).read_text(encoding="utf-8")
        except FileNotFoundError:
            secret = ""
        except UnicodeDecodeError:
            raise ValueError(f"{SECRET_FILE} in the hand-in is not text") from None
        if not secret:
            raise ValueError(f"there is no {SECRET_FILE} in the hand-in, as the exchange writes it")
        return secret


def exchange_records(course: CourseDirectory, lesson: str) -> Mapping[str, list[Record]]:
    """Return the records of a lesson in nbgrader's own exchange, by the student who owns them."""
    collect = _collector(course)
    return own_records(collect, course, lesson)[0] if collect else {}


def own_records(
    collect: ExchangeCollect, course: CourseDirectory, lesson: str
) -> tuple[dict[str, list[Record]], dict[str, str]]:
    """Find a lesson's folders in the exchange that belong to the students whom they name.

    A folder is a student's if the account with the student's name owns it, or if there is no such
    account and the instructor owns it. If one account owns all hand-ins, owners prove nothing:
    there is no hub, or all its servers run as one account. Even then, only the instructor may hand
    in for a student who has an account here: another owner may be a stranger who came first.

    Return the records by student, and by the named student why a folder was ignored.
    """
    inbound = Path(collect.root, course.course_id, "inbound")
    found = _stats_by_name(inbound)
    owners = {name: one.st_uid for name, one in found.items() if stat.S_ISDIR(one.st_mode)}
    account, instructor = functools.cache(_account_name), os.geteuid()
    trial = f"{account(instructor)}+"  # the instructor may have tried to hand in
    hand_ins = {
        owner
        for name, owner in owners.items()
        if name.count("+") > 1 and not (owner == instructor and name.startswith(trial))
    }
    is_shared = _is_one_account_for_all(hand_ins, course)
    own: dict[str, list[Record]] = {}
    not_taken: dict[str, str] = {}
    for name in found.keys() - owners.keys():
        if record := read_name(inbound / name, lesson):
            not_taken[record.student] = "what bears this name in the exchange is no folder"
    for student, records in find_records(inbound, lesson).items():
        if student.startswith(".") or Course.problem_with_name(student):
            continue
        for record in records:
            number = owners.get(record.folder.name)
            owner = account(number)
            is_ours = number == instructor and (is_shared or not _has_account(student))
            is_one_of_all = is_shared and not _has_account(student)
            if not collect.check_owner or owner == student or is_ours or is_one_of_all:
                own.setdefault(student, []).append(replace(record, owner=number))
            else:
                not_taken[student] = f"a folder of this name in the exchange belongs to {owner}"
    return {student: _newest(records) for student, records in own.items()}, not_taken


def _newest(records: list[Record]) -> list[Record]:
    """Return the newest records, as many as are compared: a student may have filled the exchange."""
    return sorted(records, key=lambda record: record.time)[-limits.EXCHANGE_FOLDERS :]


def _stats_by_name(inbound: Path) -> dict[str, os.stat_result]:
    """Return the `os.stat` results of everything in the exchange, by name; follow no link."""
    found: dict[str, os.stat_result] = {}
    with contextlib.suppress(OSError), os.scandir(inbound) as entries:
        for entry in entries:
            with contextlib.suppress(OSError):  # deleted in the meantime
                found[entry.name] = entry.stat(follow_symlinks=False)
    return found


def _is_one_account_for_all(owners: set[int], course: CourseDirectory) -> bool:
    """Tell whether one account owns all folders, and is not just the first student to hand in."""
    if len(owners) != 1:
        return False
    (owner,) = owners
    return owner == os.geteuid() or _account_name(owner) not in _names_of_class(course)


def _names_of_class(course: CourseDirectory) -> set[str]:
    with Gradebook(course.db_url, course.course_id or UNNAMED) as gradebook:
        return {one.id for one in class_list(Course(Path(course.root)), gradebook)}


def _account_name(user: int | None) -> str:
    """Return the name of an account, or a description if it has none."""
    try:
        return pwd.getpwuid(user).pw_name if user is not None else "nobody any more"
    except (KeyError, OverflowError):
        return f"account {user}, which has no name here"


def _has_account(name: str) -> bool:
    try:
        pwd.getpwnam(name)
    except KeyError:
        return False
    return True


def has_inbound(course: CourseDirectory) -> bool:
    """Tell whether students can hand in through an exchange."""
    collect = _collector(course)
    return collect is None or Path(collect.root, course.course_id, "inbound").is_dir()


def _collector(course: CourseDirectory) -> ExchangeCollect | None:
    """Return nbgrader's own collector; None if the exchange is of another kind."""
    collect = ExchangeFactory(parent=course).collect
    return (
        collect(coursedir=course, parent=course) if issubclass(collect, ExchangeCollect) else None
    )
