"""Deletes all check cells, perhaps by accident. The answers are right.

It deserves full marks, and to be told.
"""

LESSON = "01_softmax"
DESERVES = "full"
TOLD = ("The check cell of softmax was missing and was put back.",)


def change(notebook):
    notebook.cells = [
        cell
        for cell in notebook.cells
        if not cell.metadata.get("nbgrader", {}).get("grade_id", "").startswith("check_")
    ]
