"""Submits a symbolic link to another student's folder in place of its own.

It deserves nothing.
"""

LESSON = "01_softmax"
DESERVES = "nothing"


def submit(folder, notebook):
    neighbor = sorted(path for path in folder.parents[1].iterdir() if "honest" in path.name)[0]
    folder.rmdir()
    folder.symlink_to(neighbor / folder.name)
