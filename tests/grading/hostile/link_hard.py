"""Submits a hard link to a file of the instructor's.

It looks like any regular file, and is no notebook. It deserves nothing.
"""

import os

LESSON = "01_softmax"
DESERVES = "nothing"


def submit(folder, notebook):
    os.link(folder.parents[3] / "nbgrader_config.py", folder / f"{folder.name}.ipynb")
