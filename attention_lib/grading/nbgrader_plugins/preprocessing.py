"""Run an exporter's preprocessors on a notebook without copying it."""

from __future__ import annotations

import copy
from typing import Any

import nbformat
from nbconvert.exporters import Exporter
from nbformat import NotebookNode


def preprocess_in_place(
    exporter: Exporter, notebook: NotebookNode, resources: dict[str, Any]
) -> tuple[NotebookNode, dict[str, Any]]:
    """Run the preprocessors, and validate their result.

    nbconvert's own method copies the notebook twice more, which has been copied for this alone.
    """
    resources = copy.deepcopy(resources)
    for preprocessor in exporter._preprocessors:
        notebook, resources = preprocessor(notebook, resources)
    nbformat.validate(notebook, relax_add_props=True)
    return notebook, resources
