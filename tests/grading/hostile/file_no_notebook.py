"""Submits JSON that is no notebook: a list of a hundred thousand lists inside each other.

It deserves nothing, and is told the reason.
"""

LESSON = "01_softmax"
DESERVES = "nothing"
TOLD = ("This submission could not be graded: it is nested too deeply",)


def submit(folder, notebook):
    (folder / f"{folder.name}.ipynb").write_text("[" * 100_000 + "]" * 100_000)
