"""Holds every cell twice, as after a careless paste. The answers are right.

A doubled name stops nbgrader's whole batch. It deserves full marks.
"""

from copy import deepcopy

LESSON = "01_softmax"
DESERVES = "full"
TOLD = ("The check cell of softmax was there 2 times",)


def change(notebook):
    notebook.cells = [deepcopy(cell) for cell in notebook.cells for _ in range(2)]
