"""Makes its exercises worth a thousand points each, and adds graded cells of its own, which cannot fail.

They bear new names, taken names, and names that are paths. Only the one right answer deserves its
points, as the lesson counts them.
"""

from nbformat.v4 import new_code_cell

LESSON = "01_softmax"
DESERVES = {"normalize_by_sum": 1}
START = "blank"
ANSWERS = {"normalize_by_sum": "@MODEL@"}


def change(notebook):
    for cell in notebook.cells:
        marks = cell.metadata.get("nbgrader", {})
        if marks:
            marks.update(points=1000, grade=True, schema_version=99, task=True, max_score=1000)
    for name in ("bonus", "check_bonus", "softmax", "check_softmax", "../../gradebook", ""):
        marks = {"grade": True, "solution": False, "locked": True, "schema_version": 3}
        marks |= {"grade_id": name, "points": 100, "task": False, "cell_type": "code"}
        notebook.cells.append(new_code_cell("pass", metadata={"nbgrader": marks}))
