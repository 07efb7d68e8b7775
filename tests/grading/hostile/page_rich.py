"""Shows more elements, headings and colors than a browser or a cleaner could take.

The answers are right: it deserves full marks, and a page that says what it does not show.
"""

from nbformat.v4 import new_markdown_cell

LESSON = "01_softmax"
DESERVES = "full"
TOLD = ("It is shown as plain text.", "softmax: right.")
BELOW = """
from IPython.display import HTML, Markdown, display

display(HTML("<b>" * 350_000 + "x"))
display(Markdown("# x\\n" * 900_000))
display(HTML("<b style='color:rgb(" + "1," * 1_900_000 + "1)'>x</b>"))
display(HTML("<b style='color:" + "[" * 5_000 + "'>x</b>"))
display({"text/plain": "\\x1b[" + "1;" * 1_900_000 + "m"}, raw=True)
print("\\x1b[" + "1;" * 40_000 + "m", "\\udc80")
"""


def change(notebook):
    notebook.cells += [new_markdown_cell(f"# {'[' * 19_000}") for _ in range(15)]
    notebook.cells += [new_markdown_cell(f"# {'<b>' * 6_000}") for _ in range(35)]
    notebook.cells += [new_markdown_cell("# x\n" * 4_900)]
