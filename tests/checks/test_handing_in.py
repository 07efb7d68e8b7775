"""What the check says of a right answer that a grader could not run."""

import linecache
import sys
import types

import pytest

from attention_lib.checks import handing_in
from attention_lib.checks.judging import GRADER, judge
from attention_lib.checks.show.panel import as_text
from attention_lib.exercises import find

RIGHT = "def normalize_by_sum(scores):\n    return scores / scores.sum(axis=-1, keepdims=True)\n"


def defined_in_a_notebook(source, **names):
    """Run a cell as a notebook does, in which its text can be found again."""
    file = f"<cell {hash(source)}>"
    linecache.cache[file] = (len(source), None, source.splitlines(keepends=True), file)
    namespace = {"__name__": "__main__", **names}
    exec(compile(source, file, "exec"), namespace)
    return namespace["normalize_by_sum"]


def remarks(answer, name="normalize_by_sum"):
    return judge(find(name), answer, 0).advice


def test_an_answer_that_needs_nothing_else_has_no_remark():
    cell = f"import math, os.path\nimport numpy as np\nimport matplotlib.pyplot as plt\n{RIGHT}"
    assert remarks(defined_in_a_notebook(cell)) == ()


@pytest.mark.parametrize("line", ["import yaml", "from yaml import safe_load", "import yaml.nodes"])
def test_a_package_that_its_cell_imports_is_named(line):
    (remark,) = remarks(defined_in_a_notebook(f"{line}\n{RIGHT}"))
    assert remark.startswith("normalize_by_sum needs yaml. A notebook that is handed in is graded")


def test_a_package_that_another_cell_imports_is_named():
    import yaml

    uses = RIGHT.replace("    return", "    text.dump([1])\n    return")
    (remark,) = remarks(defined_in_a_notebook(uses, text=yaml))
    assert "needs yaml." in remark
    (remark,) = remarks(defined_in_a_notebook(uses.replace(".dump", ""), text=yaml.dump))
    assert "needs yaml." in remark


def test_a_module_beside_the_notebook_is_named():
    helpers = types.ModuleType("my_helpers")
    uses = RIGHT.replace("    return", "    helpers\n    return")
    (remark,) = remarks(defined_in_a_notebook(uses, helpers=helpers))
    assert "needs my_helpers." in remark


def test_input_is_named():
    (remark,) = remarks(defined_in_a_notebook(f"ask = lambda: input('rows? ')\n{RIGHT}"))
    assert "calls input(), which waits for somebody to type" in remark


def test_syntax_of_a_newer_python_is_named(monkeypatch):
    monkeypatch.setattr(handing_in, "OLDEST", (3, 9))
    (remark,) = remarks(defined_in_a_notebook(f"match 1:\n    case 1:\n        pass\n{RIGHT}"))
    assert "is not valid in Python 3.9, with which it may be graded: Pattern matching" in remark


@pytest.mark.skipif(sys.version_info < (3, 12), reason="Python 3.11 does not take such an f-string")
def test_an_f_string_with_its_own_quotes_is_named():
    (remark,) = remarks(defined_in_a_notebook(f'f"{{str("a")}}"\n{RIGHT}'))
    assert "an f-string with its own quotes" in remark


def test_remarks_are_shown_below_a_right_verdict_and_cost_nothing():
    answer = defined_in_a_notebook(f"import yaml\n{RIGHT}")
    assert "  A remark: normalize_by_sum needs yaml." in as_text(
        judge(find("normalize_by_sum"), answer, 0)
    )
    assert judge(find("normalize_by_sum"), answer, 0, GRADER).advice == ()
