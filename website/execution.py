"""Execute a lesson with its model answers, once for each version of the lesson and the library."""

from __future__ import annotations

import hashlib
import os
import time
from pathlib import Path

import nbformat
from nbclient import NotebookClient
from nbformat import NotebookNode
from nbformat.v4 import new_code_cell

from attention_lib.exercises import EXERCISES
from attention_lib.exercises.model_answers import model_answer
from attention_lib.lessons import module_of
from benchmarks.lesson import ONE_THREAD

ROOT = Path(__file__).parents[1]
# What decides the outputs, in attention_lib. Of the checks only right verdicts are shown.
SHOWN_BY = (
    "arguments.py",
    "checks/show/panel.py",
    "commands.py",
    "lessons/**/*.py",
    "model.py",
    "plots/*.py",
)
RECORD_FRAMES = "from website.frames import record\n\nrecord()"
CELL_SECONDS = 1800  # the training in lesson 08, on a busy machine


def released(lesson: str) -> NotebookNode:
    """Read the learners' notebook of a lesson."""
    path = ROOT / "notebooks" / lesson / f"{lesson}.ipynb"
    return nbformat.read(path, as_version=4)


def answered(notebook: NotebookNode) -> NotebookNode:
    """Return a copy of a learners' notebook with the model answers in its answer cells."""
    copy = nbformat.from_dict(notebook)
    for cell in copy.cells:
        if cell.cell_type == "code" and cell.id in EXERCISES:
            cell.source = model_answer(EXERCISES[cell.id])
    return copy


def executed(lesson: str, cache: Path) -> NotebookNode:
    """Return the answered notebook with its outputs, from the cache if nothing has changed.

    Raises
    ------
    nbclient.exceptions.CellExecutionError
        If a cell fails.
    """
    notebook = answered(released(lesson))
    path = cache / f"{lesson}-{_key(lesson, notebook)}.ipynb"
    if path.is_file():
        return nbformat.read(path, as_version=4)
    print(f"Executing {lesson} ...", flush=True)
    start = time.perf_counter()
    first = new_code_cell(RECORD_FRAMES, id="record-frames")
    notebook.cells.insert(0, first)
    NotebookClient(
        notebook,
        kernel_name="python3",
        timeout=CELL_SECONDS,
        force_raise_errors=True,  # also in cells whose errors Jupyter passes over
        resources={"metadata": {"path": str(ROOT)}},
    ).execute(
        env=os.environ | ONE_THREAD
    )  # the first cell imports NumPy, before a lesson limits it
    notebook.cells.remove(first)
    cache.mkdir(parents=True, exist_ok=True)
    for old in cache.glob(f"{lesson}-*.ipynb"):
        old.unlink()
    nbformat.write(notebook, path)
    print(f"Executed {lesson} in {time.perf_counter() - start:.0f} s.", flush=True)
    return notebook


def _key(lesson: str, notebook: NotebookNode) -> str:
    """Return a digest of the cells and of the code that decides what they show."""
    digest = hashlib.sha256()
    for cell in notebook.cells:
        digest.update(f"{cell.id}\n{cell.source}\n".encode())
    library = ROOT / "attention_lib"
    patterns = [*SHOWN_BY, f"exercises/{module_of(lesson)}/*.py"]
    modules = {module for pattern in patterns for module in library.glob(pattern)}
    tables = (ROOT / "benchmarks" / "results").glob("*.json")  # lesson 10 draws them
    for file in [*sorted(modules), ROOT / "website" / "frames.py", *sorted(tables)]:
        digest.update(file.read_bytes())
    return digest.hexdigest()[:16]
