"""Submits a folder with the notebook's name, and the notebook inside.

There is no notebook where one should be. It deserves nothing.
"""

import nbformat

LESSON = "01_softmax"
DESERVES = "nothing"
START = "solved"


def submit(folder, notebook):
    inner = folder / f"{folder.name}.ipynb"
    inner.mkdir()
    nbformat.write(notebook, inner / inner.name)
