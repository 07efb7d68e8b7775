"""Submits a notebook with the outputs of an endless loop: 200 million characters.

It is too large to be read. It deserves nothing, and is told the reason.
"""

import nbformat
from nbformat.v4 import new_output

LESSON = "01_softmax"
DESERVES = "nothing"
START = "solved"
TOLD = ("This submission could not be graded",)


def submit(folder, notebook):
    first = next(cell for cell in notebook.cells if cell.cell_type == "code")
    first.outputs = [new_output("stream", text="@")]
    before, after = nbformat.writes(notebook).split('"@"', 1)
    with (folder / f"{folder.name}.ipynb").open("w") as file:
        file.write(before + '"')
        for _ in range(200):
            file.write("x" * 1_000_000)
        file.write('"' + after)
