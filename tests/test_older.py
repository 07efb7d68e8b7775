"""An answer that is older than its newest cell is not judged: that is said first."""

import linecache
import re
import types

import IPython
import pytest

from attention_lib import check
from attention_lib.commands import CheckFailed
from attention_lib.older import explain_undefined_names

RIGHT = (
    "import numpy as np\ndef softmax(scores, axis=-1):\n    e = np.exp(scores)\n"
    "    return e / e.sum(axis=axis, keepdims=True)\n"
)


@pytest.fixture
def answer_after(monkeypatch):
    """Return the answer that cells leave, each run up to its first error."""

    def run(*cells):
        names = {}
        for number, cell in enumerate(cells):
            file = f"<cell {number} of {hash(cells)}>"
            linecache.cache[file] = len(cell), None, cell.splitlines(keepends=True), file
            last = types.SimpleNamespace(info=types.SimpleNamespace(raw_cell=cell))
            last.error_in_exec = None
            try:
                exec(compile(cell, file, "exec", dont_inherit=True), names)
            except (SyntaxError, NameError) as error:  # as a notebook goes on after them
                last.error_in_exec = error
        names["In"] = ["", *cells, "check('softmax', softmax)"]
        shell = types.SimpleNamespace(user_ns=names, transform_cell=str, last_execution_result=last)
        monkeypatch.setattr(IPython, "get_ipython", lambda: shell)
        return names.get("softmax", names.get("study_weights"))

    return run


@pytest.mark.parametrize(
    ("newest", "said"),
    [
        (RIGHT.replace("e / e", "e // / e"), "line 4 is not valid Python (SyntaxError"),
        (RIGHT.replace("    return", "   return"), "line 4 is not valid Python (IndentationError"),
        (RIGHT.replace("-1):", "-1)"), "line 2 is not valid Python (SyntaxError"),
        (f"```python\n{RIGHT}```", "delete lines 1 and 6, Markdown's marks"),
        ("missing\n" + RIGHT, "stopped above it"),
        (RIGHT.replace("softmax", "sofmax").replace("e.sum", "e.max"), "Rename it to softmax"),
    ],
)
def test_an_older_answer_is_not_judged(answer_after, newest, said, capsys):
    with pytest.raises(CheckFailed, match="older softmax"):
        check("softmax", answer_after(RIGHT, newest))
    assert said in capsys.readouterr().out


@pytest.mark.parametrize(
    ("newest", "said"),
    [
        ("study_weights = sum([2, 4]", "study_weights = ... did not run: line 1 is not valid"),
        ("study_weights = [missing]", "study_weights = ... stopped there or above it"),
        ("study_weights = [1, 4, 4]\nmissing", "None of the 3 numbers"),
    ],
)
def test_a_value_whose_newest_cell_stopped_before_it_is_not_judged(answer_after, newest, said):
    cells = "study_weights = [10, 45, 45]\n", newest
    with pytest.raises(CheckFailed, match=re.escape(said)):
        check("study_weights", answer_after(*cells))


@pytest.mark.parametrize(
    "cells",
    [
        (RIGHT,),
        ("def softmax(", RIGHT),
        (RIGHT, RIGHT + "x = 1\n"),
        (RIGHT, RIGHT.replace("softmax", "softmax2")),
        (RIGHT, "def softmix(scores, weight):\n    return softmax(scores) * weight\n"),
        (RIGHT.replace("softmax", "sofmax"), RIGHT),
        (RIGHT, RIGHT.replace("softmax", "sofmax"), "softmax = sofmax"),
    ],
)
def test_the_newest_answer_is_judged(answer_after, cells, capsys):
    check("softmax", answer_after(*cells))
    assert "softmax: right" in capsys.readouterr().out


def test_an_answer_under_nearly_its_name_is_named(answer_after, capsys):
    stub = "def softmax(scores, axis=-1):\n    raise NotImplementedError()\n"
    with pytest.raises(CheckFailed):
        check("softmax", answer_after(stub, RIGHT.replace("softmax(scores", "sofmax(x")))
    assert "A cell defines sofmax instead of softmax: rename it" in capsys.readouterr().out


@pytest.fixture
def shell():
    shell = IPython.core.interactiveshell.InteractiveShell.instance(colors="nocolor")
    yield shell
    type(shell).clear_instance()


@pytest.mark.parametrize(
    ("cell", "name", "said"),
    [
        (RIGHT.replace("-1)", "-1"), "softmax", "line 2 is not valid Python"),
        (RIGHT.replace("softmax", "sofmax"), "softmax", "A cell defines sofmax instead of softmax"),
        ("", "softmax", "In lesson 01_softmax, run the cell with def softmax first"),
        ("", "study_weights", "In lesson 01_softmax, run the cell with study_weights = ... first"),
        ("", "other", "NameError: name 'other' is not defined\n"),
    ],
)
def test_an_undefined_name_of_an_exercise_is_explained(shell, cell, name, said, capsys):
    explain_undefined_names()
    shell.run_cell(cell, store_history=True)
    capsys.readouterr()
    shell.run_cell(name, store_history=True)
    told = capsys.readouterr().out
    assert f"NameError: name '{name}' is not defined\n" in told
    *_, last = filter(None, told.splitlines(keepends=True))
    assert said in last
