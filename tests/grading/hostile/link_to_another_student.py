"""Hands in a link to the notebook of the student beside it.

A folder is read, never followed. It deserves nothing.
"""

LESSON = "01_softmax"
DESERVES = "nothing"


def submit(folder, notebook):
    name = f"{folder.name}.ipynb"
    neighbor = sorted(path for path in folder.parents[1].iterdir() if "honest" in path.name)[0]
    (folder / name).symlink_to(neighbor / folder.name / name)
