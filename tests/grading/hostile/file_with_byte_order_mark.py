"""Submits a notebook that an editor on Windows has saved, with a byte-order mark and CRLF.

The answers are right, and can be read. It deserves full marks.
"""

import nbformat

LESSON = "01_softmax"
DESERVES = "full"


def submit(folder, notebook):
    text = nbformat.writes(notebook).replace("\n", "\r\n")
    (folder / f"{folder.name}.ipynb").write_text(text, encoding="utf-8-sig", newline="")
