"""Hands in a notebook of nbformat 3 in which numbers, lists and texts have changed places.

Its answers cannot be found. It gets nothing, and there is no error.
"""

import json

LESSON = "01_softmax"
DESERVES = "nothing"
TOLD = ("could not be graded",)


def submit(folder, notebook):
    cells = [
        {"cell_type": "heading", "level": 1.0, "source": "x", "metadata": []},
        {"cell_type": ["code"], "input": [1, None, ["x"]], "metadata": {"nbgrader": 7}},
        {"cell_type": "code", "input": 5, "metadata": {"nbgrader": {"grade_id": [1]}, "tags": 1}},
        {"cell_type": "markdown", "source": {"x": 1}, "attachments": {"p": {"image/png": 3}}},
        7,
    ]
    content = {"nbformat": 3, "worksheets": [{"cells": cells}, 5, {"cells": "x"}]}
    (folder / "01_softmax.ipynb").write_text(json.dumps(content))
