"""Contains every cell twice, in the opposite order. The answers are right.

A duplicate grade_id stops nbgrader's whole batch; the lesson's own order decides. It deserves full
marks.
"""

from copy import deepcopy

LESSON = "01_softmax"
DESERVES = "full"
TOLD = ("The check cell of softmax was there 2 times",)


def change(notebook):
    notebook.cells = [deepcopy(cell) for cell in reversed(notebook.cells) for _ in range(2)]
