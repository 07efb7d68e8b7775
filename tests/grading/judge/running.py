"""Submissions that are made of a few cells: run, and looked at."""

from nbformat import writes
from nbformat.v4 import new_code_cell, new_notebook

from attention_lib.grading.judge.execution import put_into, run_notebook
from attention_lib.grading.judge.task import Task


def check_cell(name):
    settings = {"grade": True, "solution": False, "grade_id": f"check_{name}", "points": 1}
    return new_code_cell(f'check("{name}", {name})', id=name, metadata={"nbgrader": settings})


def answer_cell(name, source):
    settings = {"grade": False, "solution": True, "grade_id": name}
    return new_code_cell(source, id=f"answer_{name}", metadata={"nbgrader": settings})


def run_cells(*cells, lesson="01_softmax", files=None, **settings):
    """Run cells as one submission, and return them as they are shown."""
    notebook = new_notebook(cells=list(cells))
    task = Task(lesson, writes(notebook), files or {}, **{"seed": 7, **settings})
    put_into(notebook, run_notebook(task))
    return notebook.cells


def errors(cell):
    return [output.ename for output in cell.outputs if output.output_type == "error"]


def texts(cell):
    return "".join(output.get("text", "") for output in cell.outputs)
