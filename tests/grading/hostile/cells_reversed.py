"""Holds its cells in the opposite order. The answers are right.

The lesson's own order decides. It deserves full marks.
"""

LESSON = "01_softmax"
DESERVES = "full"


def change(notebook):
    notebook.cells.reverse()
