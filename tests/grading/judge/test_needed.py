"""Which of a lesson's own cells are run for a submission."""

import pytest
from nbformat.v4 import new_code_cell

from attention_lib.grading.judge.needed import needed_cells

LESSON = {
    "imports": "import numpy as np\nimport attention_lib as lib\nfrom attention_lib import plots",
    "scores": "scores = np.array([2.0, 4.0, 4.0])",
    "figure": "plots.weights(lib.softmax(scores))",
    "rng": "rng = np.random.default_rng(0)",
    "draw": "rng.normal(size=3)",
    "shuffle": "rng.shuffle(scores)",
    "rows": "rows = rng.normal(size=(2, 3))\nrows[0] = scores",
    "later": "scores = scores + 1",
}


def run(source, after="rng"):
    """Return the lesson's cells that a student's cell below one of them needs."""
    cells = [new_code_cell(text, id=name) for name, text in LESSON.items()]
    cells.insert(list(LESSON).index(after) + 1, new_code_cell(source, id="own"))
    return needed_cells(cells, {"own"}) - {"own"}


def test_a_function_of_numpy_needs_the_imports_alone():
    assert run("def f(x):\n    y = np.exp(x)\n    return y / y.sum()") == {"imports"}


def test_parameters_and_locals_are_no_names_of_the_lesson():
    assert run("def f(scores):\n    rows = scores\n    return rows") == set()


def test_what_changes_a_needed_name_is_needed_too():
    assert run("def f(x):\n    return x + rows") == set(LESSON) - {"figure", "later"}


def test_a_function_finds_its_names_when_it_is_called():
    assert "later" in run("def f(x):\n    return x + scores")


def test_what_shows_something_is_not_needed():
    assert "figure" not in run("print(scores)")


@pytest.mark.parametrize(
    "source",
    ["eval('scores')", "f = globals()['scores']", "%whos", "x = %sql", "get_ipython().x"],
)
def test_what_may_use_any_name_needs_all(source):
    assert run(source) == set(LESSON)


@pytest.mark.parametrize(
    "source", ["!pip install torch", "%pip install torch", "%matplotlib inline", "files = !ls"]
)
def test_commands_of_the_shell_and_settings_need_nothing(source):
    assert run(source) == set()


def test_a_cell_that_is_timed_needs_what_it_names():
    assert run("%%time\nnp.ones(3)") == {"imports"}


def test_a_cell_with_an_error_may_mean_any_word_in_it():
    assert {"imports", "scores"} <= run("def f(:\n    scores np")


def test_adding_to_a_name_uses_it():
    assert "rows" in run("rows += 1", after="later")
    assert "rows" not in run("def f():\n    rows = 0\n    rows += 1")
