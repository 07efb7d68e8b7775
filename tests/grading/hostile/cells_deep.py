"""Nests its code so deeply that Python's own parser gives up, in cells of its own.

Each is an expression that would have a simple value. The answers are right: it deserves full marks.
"""

from nbformat.v4 import new_code_cell

LESSON = "01_softmax"
DESERVES = "full"


def change(notebook):
    texts = (
        "-" * 30_000 + "1",
        "not " * 20_000 + "1",
        "lambda: " * 5_000 + "0",
        "(" * 30_000,
        "x" + ".x" * 30_000,
        "x = 1\0",
        "if x: pass\n" + "elif x: pass\n" * 5_000,
        "1" + " if x else 1" * 10_000,
        "'\\" + "d' is 'x'",
    )
    notebook.cells += [new_code_cell(text) for text in texts]
