"""Hands in its notebook under another name, beside one that was never touched.

Only the file with the lesson's name counts. It deserves nothing.
"""

import shutil

import nbformat

LESSON = "01_softmax"
DESERVES = "nothing"
START = "solved"


def submit(folder, notebook):
    nbformat.write(notebook, folder / f"{folder.name}-Copy1.ipynb")
    released = folder.parents[3] / "notebooks" / folder.name / f"{folder.name}.ipynb"
    shutil.copy(released, folder)
