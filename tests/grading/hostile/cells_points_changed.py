"""Makes its exercises worth a thousand points each, and the one right answer the whole course.

Only that answer deserves its points, as the lesson counts them.
"""

LESSON = "01_softmax"
DESERVES = {"normalize_by_sum": 1}
START = "blank"
ANSWERS = {"normalize_by_sum": "@MODEL@"}


def change(notebook):
    for cell in notebook.cells:
        marks = cell.metadata.get("nbgrader", {})
        if marks:
            marks.update(points=1000, grade=True, schema_version=99, task=True, max_score=1000)
