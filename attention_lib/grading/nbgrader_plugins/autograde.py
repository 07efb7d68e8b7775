"""nbgrader's Autograde with this course's steps: a safe reader, the sandbox, and grades written once."""

from __future__ import annotations

import json
import os
import re
import shutil
from pathlib import Path
from typing import Any

from nbconvert.exporters import NotebookExporter
from nbformat import NotebookNode
from nbgrader.api import Gradebook
from nbgrader.converters import Autograde
from nbgrader.converters.base import NbGraderException
from nbgrader.coursedir import CourseDirectory
from nbgrader.exchange.default import Exchange
from nbgrader.preprocessors import AssignLatePenalties
from nbgrader.utils import capture_log, find_all_files, rmtree, temp_attrs
from sqlalchemy.engine import make_url
from traitlets import Bool, Float, default
from traitlets.config import LoggingConfigurable

from attention_lib.grading import limits
from attention_lib.grading.classroom.course import UNNAMED, Course, CourseError, class_folder
from attention_lib.grading.classroom.gradebook import bring_hidden_checks, save_grades
from attention_lib.grading.intake.submission import (
    SECRET_FILE,
    Prepared,
    Submission,
    blank_of,
    prepare,
    read_submission,
)
from attention_lib.grading.intake.timestamps import TIMESTAMP, Record, write_time
from attention_lib.grading.judge.built_on import model_answers
from attention_lib.grading.judge.execution import draw_seed, put_into, run_notebook
from attention_lib.grading.judge.task import Ran, Task
from attention_lib.grading.nbgrader_plugins.exchange import exchange_records
from attention_lib.grading.release import release_once
from attention_lib.grading.sandbox.errors import NoSandbox
from attention_lib.grading.sandbox.host import missing_protection, require_sandbox

UNPROTECTED = (
    "Students' code is run WITHOUT A SANDBOX (c.ExecuteSubmission.without_sandbox = True): it may "
    "read, change and delete whatever you may."
)


class ExecuteSubmission(LoggingConfigurable):
    """The settings for running submissions, from `nbgrader_config.py`."""

    without_sandbox = Bool(
        False, help="Let students' code do whatever you may do, and warn of it on every run."
    ).tag(config=True)
    forbidden_libraries_cost_points = Bool(
        False, help="Give no points where an answer is seen to use a forbidden library."
    ).tag(config=True)
    cell_seconds = Float(help="The wall-clock time that one cell may take.").tag(config=True)

    @default("cell_seconds")
    def _default_cell_seconds(self) -> float:
        return limits.CELL_SECONDS

    @property
    def warning(self) -> str | None:
        """The warning to show before students' code is run, if it could do harm."""
        return UNPROTECTED if self.without_sandbox else missing_protection()

    def _private_paths(self) -> tuple[str, ...]:
        """Return the class's folders, gradebook and exchange, as nbgrader's settings name them."""
        course, exchange = CourseDirectory(parent=self), Exchange(parent=self)
        names = [name for name in course.trait_names() if name.endswith("_directory")]
        database = make_url(course.db_url).database or "gradebook.db"
        # The class's folder may be a link to a folder inside one that the sandbox shows.
        folders = (course.root, class_folder(Path(course.root)), exchange.root)
        paths = (*folders, *(getattr(course, name) for name in names), database)
        return tuple(os.path.join(course.root, path) for path in paths)

    def task(self, lesson: str, notebook: NotebookNode, files: dict[str, bytes], seed: int) -> Task:
        """Return the task for a worker to run a notebook."""
        return Task(
            lesson,
            json.dumps(notebook),
            files,
            seed,
            self.without_sandbox,
            self._private_paths(),
            self.cell_seconds,
            max(limits.SUBMISSION_WALL_SECONDS, 3 * self.cell_seconds),
            answers=model_answers(lesson),
            forbidden_costs=self.forbidden_libraries_cost_points,
        )


class AutogradeSubmissions(Autograde):
    """nbgrader's Autograde for students' folders, which may hold anything.

    nbgrader copies everything in a folder, links and devices included, and opens the gradebook ten
    times for each submission. Here `intake` reads the folder, the notebook runs in the sandbox, and
    the grades are written through one open gradebook. The rest is nbgrader's: who is regraded, its
    settings, preprocessors, hooks and permissions, and what happens after an error.
    """

    def __init__(self, gradebook: Gradebook, **settings: Any) -> None:
        super().__init__(**settings)
        self.exporter_class = NotebookExporter  # the setting is for nbgrader's own Autograde
        self.preprocessors = [*self.autograde_preprocessors, self._save_grades]
        self.folders: list[str] = []  # of students, for the lesson being graded
        self._gradebook = gradebook
        self._execute = ExecuteSubmission(parent=self)
        self._late_penalties = AssignLatePenalties(parent=self)
        self._late_penalties.init_plugin()
        self._records: dict[str, list[Record]] = {}  # what the exchange recorded, by student
        self._submission = Submission()  # the one being graded
        self._prepared: Prepared | None = None  # if a batch has run it
        self._ran: Ran | None = None  # likewise
        self._seed = draw_seed()  # of the hidden cases, unless a batch has run it

    def grade_folders(self, folders: list[str]) -> None:
        """Read, run and grade the submissions in students' folders; raise nbgrader's errors."""
        if not self._execute.without_sandbox:
            try:
                require_sandbox()
            except NoSandbox as refusal:  # it would refuse every submission
                self.log.error("%s", refusal)
                raise NbGraderException(str(refusal)) from None
        if self._execute.warning:
            self.log.warning(self._execute.warning)
        self.folders = [folder for folder in folders if self._can_be_named(folder)]
        self._records = dict(exchange_records(self.coursedir, self.coursedir.assignment_id))
        self.start()

    def _can_be_named(self, folder: str) -> bool:
        """Tell whether nbgrader finds the student in a folder's path; without one it would stop."""
        form = self._format_source("(?P<assignment_id>.*)", "(?P<student_id>.*)", escape=True)
        if re.match(form, folder):
            return True
        self.log.error(
            "Not graded: the name of the folder %r is no readable text; rename it", folder
        )
        return False

    def grade(self, lesson: str, student: str, prepared: Prepared, ran: Ran) -> dict[str, Any]:
        """Grade a submission that a batch has run; return what nbgrader's API returns."""
        with temp_attrs(self.coursedir, assignment_id=lesson, student_id=student):
            self.folders = [self._format_source(lesson, student)]
            self._submission, self._prepared, self._ran = prepared.submission, prepared, ran
            return capture_log(self)

    def init_notebooks(self) -> None:
        name = f"{self.coursedir.assignment_id}.ipynb"  # it need not exist
        self.assignments = {folder: [os.path.join(folder, name)] for folder in self.folders}

    def init_destination(self, assignment_id: str, student_id: str) -> bool:
        """Read a submission; return whether it is new, newer than its grade, or forced."""
        if student_id in self.coursedir.student_id_exclude.split(","):
            return False
        if self._ran is None:
            self._submission = read_submission(
                Path(self._format_source(assignment_id, student_id)),
                assignment_id,
                self._records.get(student_id, []),
                blank_of(self._released_path(assignment_id)),
            )
        graded = Path(self._format_dest(assignment_id, student_id))
        before = self.coursedir.get_existing_timestamp(str(graded))
        is_there = (graded / f"{assignment_id}.ipynb").exists()
        time = self._submission.time
        is_newer = time is not None and before is not None and time > before
        if is_there and not self.force and not is_newer:
            self.log.info("Skipping existing assignment: %s", graded)
            return False
        if graded.exists():
            rmtree(str(graded))
        return True

    def init_assignment(self, assignment_id: str, student_id: str) -> None:
        """Enter a submission in the gradebook, and write the files next to its notebook."""
        if self.create_student:
            self._gradebook.update_or_create_student(student_id)
        time, secret = self._submission.time, self._submission.secret
        self._gradebook.update_or_create_submission(
            assignment_id, student_id, **({"timestamp": time} if time else {})
        )
        graded = Path(self._format_dest(assignment_id, student_id))
        graded.mkdir(parents=True)
        source = self.coursedir.format_path(self.coursedir.source_directory, ".", assignment_id)
        left = {
            os.path.join(source, name) for name in self.exclude_overwriting.get(assignment_id, [])
        }
        for path in find_all_files(source, [*self.coursedir.ignore, "*.ipynb"]):
            if path not in left:
                copy = graded / os.path.relpath(path, source)
                copy.parent.mkdir(parents=True, exist_ok=True)
                shutil.copy(path, copy)
        if time:
            (graded / TIMESTAMP).write_text(write_time(time), encoding="utf-8")
        if secret:
            (graded / SECRET_FILE).write_bytes(secret)

    def convert_single_notebook(self, notebook_filename: str) -> None:
        """Grade the submission; nbgrader's two passes are one here, which runs the preprocessors."""
        resources = self.init_single_notebook_resources(notebook_filename)
        lesson = resources["nbgrader"]["assignment"]
        prepared = self._prepared_submission(lesson)
        if prepared.problem:
            self.log.error("The submission cannot be graded: %s", prepared.problem)
        bring_hidden_checks(self._gradebook, lesson, prepared.notebook)
        ran = self._ran
        if ran is None:
            task = self._execute.task(lesson, prepared.notebook, prepared.files, self._seed)
            ran = run_notebook(task)
        put_into(prepared.notebook, ran)
        output, resources = self.exporter.from_notebook_node(prepared.notebook, resources)
        self.write_single_notebook(output, resources)

    def _prepared_submission(self, lesson: str) -> Prepared:
        if self._prepared:
            return self._prepared
        source = self.coursedir.format_path(self.coursedir.source_directory, ".", lesson)
        return prepare(self._submission, self._released_path(lesson), Path(source))

    def _released_path(self, lesson: str) -> Path:
        folder = self.coursedir.format_path(self.coursedir.release_directory, ".", lesson)
        return Path(folder, f"{lesson}.ipynb")

    def _save_grades(
        self, nb: NotebookNode, resources: dict[str, Any]
    ) -> tuple[NotebookNode, dict[str, Any]]:
        """Save the grades that the other preprocessors left; nbconvert calls this one last."""
        lesson, student = resources["nbgrader"]["assignment"], resources["nbgrader"]["student"]
        penalty = self._late_penalties.plugin_inst.late_submission_penalty
        save_grades(self._gradebook, lesson, student, nb, penalty)
        return nb, resources


class EntryPoint(NotebookExporter):
    """Make nbgrader's command and formgrader's button grade through `AutogradeSubmissions`.

    A setting can only replace the exporter of nbgrader's Autograde. nbgrader makes the exporter
    after it has listed the students' folders, and before it opens one. So all are graded here, and
    none is left for nbgrader.
    """

    def __init__(self, **settings: Any) -> None:
        super().__init__(**settings)
        if isinstance(self.parent, Autograde):
            _grade_in_place_of(self.parent)


def _grade_in_place_of(autograde: Autograde) -> None:
    course = autograde.coursedir
    folders, autograde.assignments = list(autograde.assignments), {}
    try:
        release_once(Course(Path(course.root)), course.assignment_id)
    except CourseError as refusal:
        autograde.log.error("%s", refusal)
        raise NbGraderException(str(refusal)) from None
    with Gradebook(course.db_url, course.course_id or UNNAMED) as gradebook:
        own = AutogradeSubmissions(gradebook, coursedir=course, parent=autograde.parent)
        own.force, own.create_student = autograde.force, autograde.create_student
        own.grade_folders(folders)
