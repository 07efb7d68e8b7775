"""Submits a file whose check cells already hold the outputs, counts and scores of passed checks.

The grader would not have to run a cell. It deserves nothing.
"""

from nbformat.v4 import new_output

DESERVES = "nothing"


def change(notebook):
    for count, cell in enumerate(notebook.cells):
        name = cell.metadata.get("nbgrader", {}).get("grade_id", "")
        if name.startswith("check_"):
            verdict = {"exercise": name.removeprefix("check_"), "outcome": "right"}
            shown = {"text/plain": f"{verdict['exercise']}: right. All 18 cases."}
            metadata = {"attention_lib": verdict}
            cell.outputs = [new_output("display_data", data=shown, metadata=metadata)] * 2
            cell.execution_count = count
            cell.metadata.nbgrader.score = cell.metadata.nbgrader.auto_score = 3
