"""Turn an executed lesson into a page: hints and answers folded, and how to run the lesson."""

from __future__ import annotations

import html
import re
from collections.abc import Iterable

import nbformat
from nbconvert.preprocessors import CoalesceStreamsPreprocessor
from nbformat import NotebookNode
from nbformat.v4 import new_code_cell, new_markdown_cell

from attention_lib.checks.exercise import Exercise
from attention_lib.exercises import EXERCISES
from attention_lib.exercises.model_answers import model_answer
from website.colab import how_to_open

RUN = """\
```{{admonition}} Run this lesson
:class: tip
This page shows what the cells print and draw; times are those of the machine that made it. To change
the cells, and to have your own answers checked, run the notebook. You need Python 3.11 or newer, git
and make, and no GPU:

    {clone}
    make lab

Then open `{lesson}.ipynb`. Without make, see the [start page](../index.md).

{colab}
```"""
OPTIONAL = '<details class="optional"><summary>Read this section</summary>'
HEADING = re.compile(r"^(#{2,6} .+)$", re.MULTILINE)
CLONE = "git clone {repository} attention-course && cd attention-course"
IN_A_CLONE = "cd attention-course  # your clone of the course's repository"


def page(
    released: NotebookNode, executed: NotebookNode, lesson: str, repository: str
) -> NotebookNode:
    """Return the page of a lesson as a notebook that needs no execution.

    Parameters
    ----------
    released
        The learners' notebook: what an answer cell holds before it is answered.
    executed
        The same cells, with the model answers and their outputs.
    lesson
        Its name, such as ``01_softmax``.
    repository
        The address to clone; empty if it is not known.
    """
    # What a cell prints comes from the kernel in pieces, and each would get a box of its own.
    executed, _ = CoalesceStreamsPreprocessor().preprocess(executed, {})
    cells: list[NotebookNode] = []
    for stub, cell in zip(released.cells, executed.cells, strict=True):
        checked = EXERCISES.get(stub.id.removeprefix("check_"))
        if "progress" in stub.metadata.get("tags", []):
            continue  # it is about the machine that made the page, and not about its reader
        if checked is None:
            if cell.cell_type == "markdown":  # a lesson links from learn/, a page from lessons/
                cell.source = cell.source.replace("](../docs/", "](../")
            cells.append(cell)
        elif stub.cell_type == "markdown":
            cells += folds(checked, [new_markdown_cell(model_answer(checked))])
        elif stub.id == checked.name:
            cells.append(new_code_cell(stub.source, id=stub.id))
        else:
            answer = new_code_cell(model_answer(checked), outputs=cell.outputs)
            cells += [new_code_cell(stub.source, id=stub.id), *folds(checked, [answer])]
    cells[0] = _with_run_box(cells[0], lesson, repository)
    return nbformat.from_dict({**executed, "cells": with_optional_folded(cells)})


def with_optional_folded(cells: Iterable[NotebookNode]) -> list[NotebookNode]:
    """Fold what stands below each heading "Optional: ...", up to the next of its level or above.

    The heading stays, for the menu of the page. One below it in rank becomes bold text, since a
    section cannot begin inside a fold and end outside it.
    """
    folded: list[NotebookNode] = []
    inside = 0  # the level of the heading that is folded
    for cell in cells:
        if cell.cell_type != "markdown" or not (inside or "Optional:" in cell.source):
            folded.append(cell)
            continue
        for piece in HEADING.split(cell.source):
            heading = HEADING.fullmatch(piece)
            level = len(piece.split()[0]) if heading else 0
            if heading and inside and level <= inside:
                folded.append(new_markdown_cell("</details>"))
                inside = 0
            if heading and inside:
                piece = f"**{piece.lstrip('# ')}**"
            if piece.strip():
                folded.append(new_markdown_cell(piece.strip("\n")))
            if heading and not inside and piece.lstrip("# ").startswith("Optional:"):
                folded.append(new_markdown_cell(OPTIONAL))
                inside = level
    if inside:
        folded.append(new_markdown_cell("</details>"))
    return folded


def folds(exercise: Exercise, answer: list[NotebookNode]) -> list[NotebookNode]:
    """Return cells with a fold for each hint, and a last one for the answer's cells."""
    total = len(exercise.hints)
    hints = "\n".join(
        f'<details class="hint"><summary>Hint {number} of {total}</summary>'
        f"<p>{html.escape(hint, quote=False)}</p></details>"
        for number, hint in enumerate(exercise.hints, 1)
    )
    opening = f'<details class="answer"><summary>Answer to {exercise.name}</summary>'
    return [
        *([new_markdown_cell(hints)] if hints else []),
        new_markdown_cell(opening),
        *answer,
        new_markdown_cell("</details>"),
    ]


def _with_run_box(first: NotebookNode, lesson: str, repository: str) -> NotebookNode:
    """Put the commands that run the lesson below the title, which its first cell begins with."""
    title, _, rest = first.source.partition("\n")
    clone = CLONE.format(repository=repository) if repository else IN_A_CLONE
    box = RUN.format(clone=clone, lesson=lesson, colab=how_to_open(lesson, repository))
    return new_markdown_cell(f"{title}\n\n{box}\n\n{rest.lstrip()}", id=first.id)
