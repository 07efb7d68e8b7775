"""Lacks all metadata and cell ids, as after some other program has saved it. The answers are right.

The cells can still be matched by their text. It deserves full marks.
"""

LESSON = "01_softmax"
DESERVES = "full"


def change(notebook):
    notebook.metadata = {}
    for cell in notebook.cells:
        cell.metadata = {}
        cell.pop("id", None)
        cell.pop("outputs", None)
        cell.pop("execution_count", None)
