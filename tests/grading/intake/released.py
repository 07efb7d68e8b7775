"""A small lesson as it is given out, and how its cells are marked."""

from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook

STUB = "def double(x):\n    raise NotImplementedError()"
ANSWER = "def double(x):\n    return 2 * x"
CHECK = 'check("double", double)'


def marks(grade_id, **settings):
    plain = {"grade": False, "solution": False, "locked": False, "task": False}
    return {"nbgrader": {**plain, "grade_id": grade_id, "schema_version": 3, **settings}}


RELEASED = new_notebook(
    metadata={"kernelspec": {"name": "python3", "display_name": "Python 3"}},
    cells=[
        new_markdown_cell("# Lesson", id="title"),
        new_code_cell("import math", id="imports"),
        new_code_cell(STUB, id="double", metadata=marks("double", solution=True)),
        new_code_cell(
            CHECK, id="check_double", metadata=marks("check_double", grade=True, points=2)
        ),
        new_markdown_cell(
            "YOUR ANSWER HERE",
            id="why",
            metadata=marks("why", grade=True, solution=True, points=3),
        ),
        new_code_cell("print(1)", id="demo"),
    ],
)
