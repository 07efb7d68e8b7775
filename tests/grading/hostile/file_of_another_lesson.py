"""Submits the notebook of the lesson before under this lesson's name.

It deserves nothing, and is told the reason.
"""

import shutil

from tests.grading import sample_class

LESSON = "01_softmax"
DESERVES = "nothing"
TOLD = ("This submission could not be graded: it has none of this lesson's answer cells",)


def submit(folder, notebook):
    other = next(lesson for lesson in sample_class.LESSONS if lesson != folder.name)
    released = sample_class.Course(sample_class.ROOT).released(other)
    shutil.copy(released, folder / f"{folder.name}.ipynb")
