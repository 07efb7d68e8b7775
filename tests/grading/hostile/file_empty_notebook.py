"""Submits a notebook without any cells.

It deserves nothing, and is told the reason.
"""

LESSON = "01_softmax"
DESERVES = "nothing"
TOLD = ("This submission could not be graded: it has none of this lesson's answer cells",)


def change(notebook):
    notebook.cells = []
