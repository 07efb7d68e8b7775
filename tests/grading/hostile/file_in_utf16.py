"""Submits a notebook that an editor has saved in UTF-16, as its first bytes say.

The answers are right, and can be read. It deserves full marks.
"""

import nbformat

LESSON = "01_softmax"
DESERVES = "full"


def submit(folder, notebook):
    (folder / f"{folder.name}.ipynb").write_text(nbformat.writes(notebook), encoding="utf-16")
