"""Submits right answers, and beside them files that would be imported in place of real modules.

It deserves full marks; the files are not copied.
"""

import nbformat

LESSON = "01_softmax"
DESERVES = "full"


def submit(folder, notebook):
    nbformat.write(notebook, folder / f"{folder.name}.ipynb")
    for name in ("numpy", "attention_lib", "json", "sitecustomize", "IPython", "inside"):
        (folder / f"{name}.py").write_text("raise SystemExit('this is not the real one')")
        (folder / name).mkdir()
        (folder / name / "__init__.py").write_text("raise SystemExit('nor is this')")
    (folder / "nbgrader_config.py").write_text("raise SystemExit('nor is this')")
    (folder / ".ipython").write_text("")
