"""What is said of a repair names the fault, and not the line to write."""

import ast

import numpy as np
import pytest

from attention_lib.checks.edits.edits import edits_of, faults_of, is_idle


def _faults(line, repaired):
    """Return what is said of the edits that make one line of code another."""
    source = f"def answer(x, y, axis=-1):\n    {line}\n    return x\n"
    function = ast.parse(source).body[0]
    wanted = ast.dump(ast.parse(source.replace(line, repaired)).body[0])
    for edits in edits_of((function,), is_torch=False):
        (edit, *others) = edits
        with edit.applied():
            is_wanted = not others and ast.dump(function) == wanted
        if is_wanted:
            yield " ".join(one.text for one in faults_of(edits, source.splitlines(), {"np": np}))


@pytest.mark.parametrize(
    ("line", "repaired", "fault"),
    [
        ("x = x.sum(axis=0)", "x = x.sum(axis=-1)", "goes along the wrong axis"),
        ("x = np.flip(x, axis=0)", "x = np.flip(x, axis=-1)", "`0` is the wrong axis"),
        ("x = np.flip(x, axis=1)", "x = np.flip(x, axis=-1)", "`1` counts the axis from the front"),
        ("x = x.mean()", "x = x.sum()", "divides the sum by its number of terms"),
        ("x = x.sum(axis=-1)", "x = x.sum(axis=-1, keepdims=True)", "loses the axis"),
        ("x = x.sum(axis=-1)", "x = x.sum(axis=axis)", "the argument `axis` names the right one"),
        ("x = x - y", "x = y - x", "the operands in `x - y` are swapped"),
        ("x = x * y", "x = x / y", "`*` is the wrong operation"),
        ("x = x / y", "x = x", ""),
        ("x = x < y", "x = x <= y", "leaves out equality"),
        ("x = x < y", "x = x > y", "points the wrong way"),
        ("x = np.exp(x)", "x = x", ""),
        ("x = np.log(x) + y", "x = x + y", "`np.log` does not belong in `x = np.log(x) + y`"),
        ("x = x @ y", "x = x @ np.swapaxes(y, -1, -2)", "`y` has its axes in the wrong order"),
        ("x = np.where(y, 0, x)", "x = np.where(y, x, 0)", "are swapped"),
        ("x += y", "x = x + y", "`x += y` (line 2) changes the array in place"),
        ("x = y", "x += y", "replaces the old value"),
        ("x = x.shape[1]", "x = x.shape[-1]", "`1` counts the axis from the front"),
        ("if y: return y\n    x = y", "x = y", "is returned below `if y:` (line 2) is wrong"),
        ("np.exp(x)", "x = np.exp(x)", "computes a value and does not keep it"),
    ],
)
def test_fault_is_named_without_the_repair(line, repaired, fault):
    said = list(_faults(line, repaired))
    if repaired == "x = x":  # an edit that does nothing is none: the line is left out instead
        assert said == []
        return
    assert any(fault in sentence for sentence in said), said
    assert not any(f"`{repaired}`" in sentence for sentence in said)


@pytest.mark.parametrize(
    ("code", "idle"),
    [
        ("x + 0.0", True),
        ("x + 0.1", False),
        ("np.swapaxes(mask, -2, -2)", True),
        ("mask.swapaxes(-2, -1)", False),
    ],
)
def test_code_that_does_nothing_is_known(code, idle):
    assert is_idle(ast.parse(code, mode="eval").body) is idle


def test_assignment_to_itself_does_nothing():
    assert is_idle(ast.parse("scores = scores").body[0])


def test_length_of_a_reshape_is_not_negated():
    function = ast.parse("def f(x, n):\n    return x.reshape(n, 2 * n)").body[0]
    assert "-(2 * n)" not in {ast.unparse(edit.new) for edit, *_ in edits_of((function,), False)}
