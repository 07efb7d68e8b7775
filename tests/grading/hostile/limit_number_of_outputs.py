"""Shows two hundred outputs in each of many cells, which take long to validate and to store.

Each of them is empty. The answers are right: it deserves full marks, and to be told that not all
is shown.
"""

from nbformat.v4 import new_code_cell

DESERVES = "full"
TOLD = ("output is left out: it is too long.",)


def change(notebook):
    show = "from IPython.display import display\nfor _ in range(190): display({'text/plain': ''}, raw=True)"
    notebook.cells += [new_code_cell(f"{show}\n# {number}") for number in range(28)]
