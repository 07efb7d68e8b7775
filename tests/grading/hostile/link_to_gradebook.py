"""Submits a symbolic link to the gradebook under the notebook's name.

Following it would show the gradebook, or overwrite it. It deserves nothing.
"""

LESSON = "01_softmax"
DESERVES = "nothing"


def submit(folder, notebook):
    (folder / f"{folder.name}.ipynb").symlink_to(folder.parents[2] / "gradebook.db")
