"""Hands in a named pipe, which nobody ever writes to.

Whoever opens it waits forever. It deserves nothing, and stops nobody.
"""

import os

LESSON = "01_softmax"
DESERVES = "nothing"


def submit(folder, notebook):
    os.mkfifo(folder / f"{folder.name}.ipynb")
    os.mkfifo(folder / "data.csv")
