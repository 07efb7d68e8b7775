"""Submits a named pipe, which nothing writes to.

Opening it would block forever. It deserves nothing, and the others are graded.
"""

import os

LESSON = "01_softmax"
DESERVES = "nothing"


def submit(folder, notebook):
    os.mkfifo(folder / f"{folder.name}.ipynb")
    os.mkfifo(folder / "data.csv")
