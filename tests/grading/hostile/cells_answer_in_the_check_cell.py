"""Writes one answer into the check cell, above the check, and leaves the placeholder in its place.

All answers are right: it deserves full marks, and to be told where that answer was found.
"""

DESERVES = "full"
ANSWERS = {
    "stable_softmax": "def stable_softmax(scores, axis=-1):\n    raise NotImplementedError()"
}
TOLD = (
    "The check cell of stable_softmax had been changed; the lesson's own decides.",
    "stable_softmax: answered in the check cell of stable_softmax.",
)
answer = """\
def stable_softmax(scores, axis=-1):
    top = np.max(scores, axis=axis, keepdims=True)
    exponentials = np.exp(scores - np.where(np.isfinite(top), top, 0))
    return exponentials / exponentials.sum(axis=axis, keepdims=True)

"""


def change(notebook):
    for cell in notebook.cells:
        if cell.metadata.get("nbgrader", {}).get("grade_id") == "check_stable_softmax":
            cell.source = answer + cell.source
