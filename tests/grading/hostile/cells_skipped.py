"""Tags the check cells so that they are skipped, hidden or removed, and answers nothing.

With nbgrader alone this gave full marks without a line of code. It deserves nothing.
"""

LESSON = "01_softmax"
DESERVES = "nothing"


def change(notebook):
    for cell in notebook.cells:
        cell.metadata.tags = ["skip-execution", "remove_cell", "remove_output", "raises-exception"]
        cell.metadata.deletable = cell.metadata.editable = False
