"""Has left `sys.exit()` and a bare `raise` in cells between its answers.

They end their cells, and in a notebook nothing else. It deserves full marks.
"""

LESSON = "01_softmax"
DESERVES = "full"


def change(notebook):
    from nbformat.v4 import new_code_cell

    for place, text in ((30, "raise"), (20, "import sys; sys.exit(1)"), (2, "raise SystemExit")):
        notebook.cells.insert(place, new_code_cell(text))
