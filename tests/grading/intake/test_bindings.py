"""Which names a cell binds: answers in every form that Python and IPython know, no placeholders."""

import pytest
from IPython.core import inputtransformer2

from attention_lib.grading.intake.bindings import bound_names, without_placeholder
from attention_lib.grading.intake.cells import read_cells

BINDING = {
    "function": "def f(x): return 1",
    "async": "async def f(x): return 1",
    "class": "class f: pass",
    "value": "f = 1",
    "annotated": "f: int = 1",
    "indented": "if 1:\n    def f(x):\n        return 1",
    "whole cell indented": "    def f(x):\n        return 1",
    "in a try": "try:\n    f = 1\nexcept ValueError: pass",
    "in a with": "with open(name) as f: pass",
    "in a loop": "for f in [1]: pass",
    "one of a tuple": "(a, f), *b = 1, 2",
    "by a walrus": "print(f := 1)",
    "by a walrus in a list": "[f := 1 for x in y]",
    "imported": "from a import g as f",
    "module": "import f.g",
    "decorated": "@cache\ndef f(x): return 1",
    "global": "def g():\n    global f\n    f = 1\ng()",
    "lambda": "f = lambda x: 1",
    "below line magics": "%matplotlib inline\n!pip list\nf?\nf = 1",
    "below a cell magic": "\n%%time\ndef f(x): return 1",
    "pasted with prompts": ">>> def f(x):\n...     return 1",
    "by a line magic": "%time f = 1",
    "by exec": "exec('def f(x): return 1', globals())",
    "by the dictionary of names": "globals()['f'] = 1",
    "by the dictionary in a function": "def g(): globals()['f'] = 1",
    "with an await": "await x\nf = 1",
    "by a pattern": "match x:\n    case [f]: pass",
    "by a star in a pattern": "match x:\n    case [1, *f]: pass",
    "as a pattern": "match x:\n    case [1, 2] as f: pass",
    "by the rest of a pattern": "match x:\n    case {1: 2, **f}: pass",
    "raises later": "def f(x):\n    if x: raise NotImplementedError\n    return 1",
}
NOT_BINDING = {
    "placeholder": 'def f(x):\n    """Do."""\n    # YOUR CODE HERE\n    raise NotImplementedError()',
    "pass": "def f(x): pass",
    "ellipsis": "def f(x): ...",
    "none": "f = None  # a number\nraise NotImplementedError()",
    "only annotated": "f: int",
    "attribute": "f.x = 1",
    "item": "f[0] = 1",
    "local": "def g():\n    f = 1",
    "method": "class A:\n    f = 1\n    def f(self): return 1",
    "loop of a list": "[1 for f in x]",
    "argument": "lambda f: 1",
    "comment": "# f = 1",
    "text": "'f = 1'",
    "broken": "f = 1\ndef f(",
    "another program": "%%bash\nf = 1",
    "star": "from f import *",
    "magic that runs it elsewhere": "%timeit f = 1",
    "exec elsewhere": "exec('f = 1', {})",
    "placeholder by exec": "exec('def f(x): pass')",
    "item that is read": "x = globals()['f']",
}


@pytest.mark.parametrize("source", BINDING.values(), ids=BINDING)
def test_name_is_bound(source):
    assert "f" in bound_names(source)


@pytest.mark.parametrize("source", NOT_BINDING.values(), ids=NOT_BINDING)
def test_name_is_not_bound(source):
    assert "f" not in bound_names(source)


def test_cell_binds_a_name_in_letters_of_full_width():
    (cell,) = read_cells({"cells": [{"cell_type": "code", "source": "ｆ = 1"}]})
    assert cell.binds("f")


def test_placeholder_is_taken_out_of_what_a_student_wrote_around_it():
    helpers = "a = 1\n\n\ndef g(): return f"
    stub = "@a\ndef f(x):\n    '''Do.'''\n    raise NotImplementedError()"
    assert without_placeholder(f"a = 1\n{stub}\n\ndef g(): return f", "f") == helpers.replace(
        "\n\n\n", "\n\n"
    )
    assert without_placeholder("f = None\n# mine\nraise NotImplementedError()", "f") == "# mine"
    assert without_placeholder(helpers, "f") == helpers
    assert without_placeholder("def f(", "f") == "def f("


DEEP = (
    *("-" * 30_000 + "1", "not " * 20_000 + "1", "lambda: " * 5_000 + "0", "(" * 199_000),
    *("x" + ".x" * 90_000, "x" + "()" * 90_000, "x" + "[x" * 90_000, "1" + " if x else 1" * 10_000),
    *("if x: pass\n" + "elif x: pass\n" * 9_000, "%x\n" * 20, "x = 1\0", "f'{" * 60_000),
    "'\\" + "d' is 'x'",
)


@pytest.mark.parametrize("source", DEEP, ids=range(len(DEEP)))
def test_code_too_deep_for_python_binds_nothing(source, monkeypatch):
    """IPython gives up after 500 magics, which take half a minute."""
    monkeypatch.setattr(inputtransformer2, "TRANSFORM_LOOP_LIMIT", 10)
    assert bound_names(source) == frozenset()
