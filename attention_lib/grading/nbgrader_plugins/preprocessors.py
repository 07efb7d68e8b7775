"""nbgrader preprocessors: bring the hidden checks, and run a submission in the sandbox."""

from __future__ import annotations

import json
from typing import Any

from nbformat import NotebookNode
from nbgrader.preprocessors import NbGraderPreprocessor, OverwriteCells, SaveAutoGrades
from traitlets import Bool, Float, default

from attention_lib.grading import limits
from attention_lib.grading.judge.execution import put_into, run_notebook, seed_of_this_run
from attention_lib.grading.judge.task import Task
from attention_lib.grading.nbgrader_plugins.loaded_gradebook import LoadsCells, LoadsGrades
from attention_lib.grading.sandbox.host import missing_protection

UNPROTECTED = (
    "Students' code is run WITHOUT A SANDBOX (c.ExecuteSubmission.without_sandbox = True): it may "
    "read, change and delete whatever you may."
)


class BringHiddenChecks(LoadsCells, OverwriteCells):
    """nbgrader's OverwriteCells, which does not warn that hidden checks were hidden."""

    def report_change(self, name: str, attr: str, old: Any, new: Any) -> None:
        if attr != "checksum":  # the check cells are the released ones, and differ from these
            super().report_change(name, attr, old, new)


class SaveGrades(LoadsGrades, SaveAutoGrades):
    """nbgrader's SaveAutoGrades, with two queries and one commit for a whole notebook."""


class ExecuteSubmission(NbGraderPreprocessor):
    """Run a submission and check it, unless the exporter brings what a batch's worker ran."""

    without_sandbox = Bool(
        False, help="Let students' code do whatever you may do, and warn of it on every run."
    ).tag(config=True)
    cell_seconds = Float(help="The wall-clock time that one cell may take.").tag(config=True)

    @default("cell_seconds")
    def _default_cell_seconds(self) -> float:
        return limits.CELL_SECONDS

    def preprocess(
        self, nb: NotebookNode, resources: dict[str, Any]
    ) -> tuple[NotebookNode, dict[str, Any]]:
        exporter = self.parent  # which nbconvert makes the parent of its preprocessors
        ran = exporter.ran
        if ran is None:
            if self.without_sandbox:
                self.log.warning(UNPROTECTED)
            elif warning := missing_protection():
                self.log.warning(warning)
            task = Task(
                lesson=resources["nbgrader"]["assignment"],
                notebook=json.dumps(nb),
                files=exporter.prepared.files,
                seed=seed_of_this_run(),
                without_sandbox=self.without_sandbox,
                cell_seconds=self.cell_seconds,
            )
            ran = run_notebook(task)
        put_into(nb, ran)
        return nb, resources
