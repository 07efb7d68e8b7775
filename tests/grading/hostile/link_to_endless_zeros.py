"""Submits a symbolic link to /dev/zero, which can be read forever.

It deserves nothing, and the others are graded.
"""

LESSON = "01_softmax"
DESERVES = "nothing"


def submit(folder, notebook):
    (folder / f"{folder.name}.ipynb").symlink_to("/dev/zero")
