"""Submits right answers, and symbolic links to files that it would like to read or fill.

Cells print the targets; one link leads to a folder above, so that a walk would never end. It
deserves full marks, and the links are not followed.
"""

import nbformat

LESSON = "01_softmax"
DESERVES = "full"
ABOVE = """
import glob

for path in glob.glob("*") + glob.glob("up/**", recursive=True)[:1000]:
    try:
        print(path, open(path, "rb").read(1_000_000))
    except OSError as error:
        print(error)
"""


def submit(folder, notebook):
    classroom = folder.parents[2]
    nbformat.write(notebook, folder / f"{folder.name}.ipynb")
    (folder / "data.csv").symlink_to(classroom / "gradebook.db")
    (folder / "notes.txt").symlink_to(classroom / "source" / folder.name / f"{folder.name}.ipynb")
    (folder / "up").symlink_to(folder.parents[1])
    (folder / "round").symlink_to(".")
    (folder / "zeros").symlink_to("/dev/zero")
    (folder / "gone").symlink_to("nowhere")
