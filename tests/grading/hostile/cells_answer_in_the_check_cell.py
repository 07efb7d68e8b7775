"""Writes one answer into the check cell, above the check. The lesson's own check cell decides.

The others are right. That answer gets nothing, and the student is told why.
"""

DESERVES = {"stable_softmax": 0}
ANSWERS = {
    "stable_softmax": "def stable_softmax(scores, axis=-1):\n    raise NotImplementedError()"
}
TOLD = ("The check cell of stable_softmax had been changed; the lesson's own decides.",)


def change(notebook):
    answer = "def stable_softmax(scores, axis=-1):\n    return lib.softmax(scores, axis)\n\n"
    for cell in notebook.cells:
        if cell.metadata.get("nbgrader", {}).get("grade_id") == "check_stable_softmax":
            cell.source = answer + cell.source
