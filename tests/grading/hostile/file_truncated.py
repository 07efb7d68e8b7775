"""Submits a notebook that ends in the middle, as after a broken upload.

It cannot be read. It deserves nothing, and is told the reason.
"""

import nbformat

LESSON = "01_softmax"
DESERVES = "nothing"
START = "solved"
TOLD = ("This submission could not be graded: it is not valid JSON",)


def submit(folder, notebook):
    (folder / f"{folder.name}.ipynb").write_text(nbformat.writes(notebook)[:-50])
