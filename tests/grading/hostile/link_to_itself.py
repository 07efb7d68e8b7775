"""Hands in a link that leads to itself.

It deserves nothing, and stops nobody.
"""

LESSON = "01_softmax"
DESERVES = "nothing"


def submit(folder, notebook):
    name = f"{folder.name}.ipynb"
    (folder / name).symlink_to(name)
