"""Leaves `sys.exit()`, `exit()`, a bare `raise` and calls of `input()` between its answers.

They end their cells and nothing else, as in a notebook. It deserves full marks.
"""

LESSON = "01_softmax"
DESERVES = "full"


def change(notebook):
    from nbformat.v4 import new_code_cell

    for place, text in (
        (9, "raise"),
        (7, "import sys; sys.exit(1)"),
        (5, "input('Your name?')"),
        (3, "exit()"),
    ):
        notebook.cells.insert(place, new_code_cell(text))
