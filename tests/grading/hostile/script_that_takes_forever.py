"""Writes Markdown, HTML, formulas and colors that take very long to render.

The answers are right: it deserves full marks, and a page.
"""

from nbformat.v4 import new_code_cell, new_markdown_cell

LESSON = "01_softmax"
DESERVES = "full"


def change(notebook):
    many = 3_000
    texts = (
        "[" * many + "]" * many,
        "![" * many,
        "*a_ " * many,
        "`" * many + " " + "``" * many,
        "$" * many + " \\begin{x}" * many,
        "<b>" * many + "x",
        "<" * many + " <a " * many,
        "> " * many + "- " * many,
        "|" * many + "\n" + "|-" * many,
        "![x](attachment:gone.png) ![x](missing.png) [x]: <",
        "&" * many + "&#x" * many,
        "[x](" * many + "\\" * many,
    )
    notebook.cells += [new_markdown_cell(text) for text in texts]
    shown = "from IPython.display import HTML, Markdown, display\n"
    shown += "display(HTML('<b>' * 3_000), HTML('<' * 5_000), Markdown('[' * 3_000))\n"
    shown += "print('\\x1b[31m' * 10_000, '\\x1b[' * 10_000, '\\x1b[38;5;1;' * 10_000)"
    notebook.cells += [new_code_cell(shown), new_code_cell("'\\" * many), new_code_cell("{" * many)]
