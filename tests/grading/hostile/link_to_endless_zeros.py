"""Hands in a link to a device that can be read forever.

It deserves nothing, and stops nobody.
"""

LESSON = "01_softmax"
DESERVES = "nothing"


def submit(folder, notebook):
    (folder / f"{folder.name}.ipynb").symlink_to("/dev/zero")
