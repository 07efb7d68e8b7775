"""What a notebook can do to its kernel, without nbgrader around it."""

import pytest
from nbformat.v4 import new_code_cell, new_notebook

from attention_lib.grading import execution
from attention_lib.grading.execution import ExecuteSubmission


def run(folder, *sources, **settings):
    notebook = new_notebook(cells=[new_code_cell(source) for source in sources])
    notebook.metadata.kernelspec = {"name": "python3", "display_name": "Python 3"}
    resources = {"metadata": {"path": str(folder)}}
    done, _ = ExecuteSubmission(**settings).preprocess(notebook, resources)
    return done.cells


def errors(cell):
    return [output.ename for output in cell.outputs if output.output_type == "error"]


def test_modules_in_the_folder_are_not_imported(tmp_path):
    for name in ("numpy", "attention_lib", "ipykernel_launcher", "runpy", "sitecustomize"):
        (tmp_path / f"{name}.py").write_text("raise SystemExit('this is not the real one')")
    (tmp_path / "helper.py").write_text("")
    real, helper = run(tmp_path, "import numpy, attention_lib", "import helper")
    assert errors(real) == []
    assert errors(helper) == ["ModuleNotFoundError"]


@pytest.mark.parametrize(
    "ending",
    [
        "import os; os._exit(0)",
        "import os, signal; os.kill(os.getpid(), signal.SIGKILL)",
    ],
)
def test_a_cell_that_ends_python_keeps_what_came_before(tmp_path, ending):
    first, second, third = run(tmp_path, "print('earned')", ending, "print('lost')")
    assert first.outputs[0].text == "earned\n"
    assert errors(second) == ["PythonStopped"]
    assert third.outputs == []
    assert third.execution_count is None


def test_a_cell_that_ignores_interrupts_is_stopped(tmp_path):
    stubborn = "import signal\nsignal.signal(signal.SIGINT, signal.SIG_IGN)\nwhile True: pass"
    first, second, third = run(tmp_path, "1", stubborn, "2", timeout=5, iopub_timeout=1)
    assert errors(first) == []
    assert "PythonStopped" in errors(second)
    assert third.outputs == []


def test_a_loop_is_interrupted_and_the_next_cell_runs(tmp_path):
    first, second = run(tmp_path, "while True: pass", "print('still here')", timeout=5)
    assert "CellTimeoutError" in errors(first)
    assert second.outputs[0].text == "still here\n"


@pytest.mark.parametrize("given", ["12345", None])
def test_the_seed_is_the_instructors_or_one_for_the_whole_run(tmp_path, monkeypatch, given):
    execution.seed_of_this_run.cache_clear()
    monkeypatch.delenv(execution.SEED, raising=False)
    if given:
        monkeypatch.setenv(execution.SEED, given)
    ask = f"import os; print(os.environ['{execution.SEED}'])"
    seeds = {run(tmp_path, ask)[0].outputs[0].text.strip() for _ in range(2)}
    execution.seed_of_this_run.cache_clear()
    assert len(seeds) == 1
    assert given is None or seeds == {given}
    assert int(seeds.pop()) >= 0
