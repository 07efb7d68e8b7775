"""Adds graded cells of its own, which cannot fail and are worth a hundred points.

They bear new names, taken names, and names that are paths. It deserves nothing.
"""

from nbformat.v4 import new_code_cell

LESSON = "01_softmax"
DESERVES = "nothing"


def change(notebook):
    names = (
        "bonus",
        "check_bonus",
        "softmax",
        "check_softmax",
        "../../gradebook",
        "",
    )
    for name in names:
        marks = {"grade": True, "solution": False, "locked": True, "schema_version": 3}
        marks |= {"grade_id": name, "points": 100, "task": False, "cell_type": "code"}
        notebook.cells.append(new_code_cell("pass", metadata={"nbgrader": marks}))
