"""Binds `np` to a number below the second check, so that no later answer can work.

The two above it deserve their points, and so does the one that needs no NumPy.
"""

LESSON = "01_softmax"
DESERVES = {"study_weights": 0}
ANSWERS = {"weighted_sum": "def weighted_sum(weights, values): return weights @ values"}


def change(notebook):
    from nbformat.v4 import new_code_cell

    names = [cell.metadata.get("nbgrader", {}).get("grade_id") for cell in notebook.cells]
    notebook.cells.insert(names.index("check_softmax") + 1, new_code_cell("np = 5\ndel softmax"))
