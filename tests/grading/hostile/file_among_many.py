"""Submits right answers among two thousand small files and one large one, with odd names.

It deserves full marks; only so many of the files are copied.
"""

import os

import nbformat

LESSON = "01_softmax"
DESERVES = "full"


def submit(folder, notebook):
    nbformat.write(notebook, folder / f"{folder.name}.ipynb")
    for number in range(2000):
        (folder / f"{number}.txt").write_text("x")
    (folder / "-rf ~;\n$(touch @MARK@).txt").write_text("x")
    (folder / "x\\..\\y.txt").write_text("x")
    (folder / os.fsdecode(b"\xff\xfe.txt")).write_text("x")
    with (folder / "large.bin").open("wb") as file:
        file.truncate(1 << 32)  # takes no room, until somebody copies it
