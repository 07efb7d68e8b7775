"""A lesson is executed again when its cells, or the code that draws its outputs, have changed."""

import shutil

import pytest
from nbformat.v4 import new_code_cell, new_notebook

from website import execution


@pytest.fixture
def course(tmp_path, monkeypatch):
    """A copy of the course's code, to be changed."""
    for folder in ("attention_lib", "website"):
        shutil.copytree(
            execution.ROOT / folder,
            tmp_path / folder,
            ignore=shutil.ignore_patterns("__pycache__", "grading"),
        )
    monkeypatch.setattr(execution, "ROOT", tmp_path)
    return tmp_path


@pytest.mark.parametrize(
    ("changed", "again"),
    [
        ("attention_lib/lessons/softmax.py", True),
        ("attention_lib/lessons/gpu/kernel.py", True),
        ("attention_lib/plots/style.py", True),
        ("attention_lib/checks/show/panel.py", True),
        ("attention_lib/exercises/softmax/softmax.py", True),
        ("website/frames.py", True),
        ("attention_lib/exercises/flash/tiled_attention.py", False),  # another lesson's
        ("attention_lib/checks/hypotheses/table.py", False),  # of wrong answers
        ("website/pages.py", False),
    ],
)
def test_change_of_code_is_noticed_where_it_can_be_seen(course, changed, again):
    notebook = new_notebook(cells=[new_code_cell("1", id="cell")])
    before = execution._key("01_softmax", notebook)
    with (course / changed).open("a", encoding="utf-8") as file:
        file.write("# changed\n")
    assert (execution._key("01_softmax", notebook) != before) == again


def test_change_of_a_cell_is_noticed():
    keys = {
        execution._key("01_softmax", new_notebook(cells=[new_code_cell(text, id="cell")]))
        for text in ("1", "2")
    }
    assert len(keys) == 2


@pytest.mark.slow
def test_a_lesson_is_executed_on_one_thread_from_the_first_import_on(tmp_path, monkeypatch):
    source = "import os\nprint(os.environ['OMP_NUM_THREADS'], os.environ['VECLIB_MAXIMUM_THREADS'])"
    notebook = new_notebook(cells=[new_code_cell(source, id="threads")])
    monkeypatch.setattr(execution, "released", lambda lesson: notebook)
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    [cell] = execution.executed("01_softmax", tmp_path).cells
    assert cell.outputs[0].text == "1 1\n"
