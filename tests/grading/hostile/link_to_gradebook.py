"""Hands in a link to the gradebook under the notebook's name.

Whoever follows it shows the gradebook, or overwrites it. It deserves nothing.
"""

LESSON = "01_softmax"
DESERVES = "nothing"


def submit(folder, notebook):
    (folder / f"{folder.name}.ipynb").symlink_to(folder.parents[2] / "gradebook.db")
