"""Refuse, in nbgrader's generate_assignment, cells that graders would confuse."""

from __future__ import annotations

from typing import Any

from nbformat import NotebookNode
from nbgrader.preprocessors import NbGraderPreprocessor

from attention_lib.exercises import EXERCISES
from attention_lib.grading.lesson.clashes import refuse_clashes


class CheckNames(NbGraderPreprocessor):
    """A preprocessor that requires clear names, also of cells made with nbgrader's toolbar."""

    def preprocess(
        self, nb: NotebookNode, resources: dict[str, Any]
    ) -> tuple[NotebookNode, dict[str, Any]]:
        refuse_clashes(nb.cells, resources["nbgrader"]["assignment"], EXERCISES)
        return nb, resources
