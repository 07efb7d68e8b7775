"""Name the loops in which a call was when it ran out of time."""

from __future__ import annotations

import ast
import types

import numpy as np

from attention_lib.checks.errors.line import is_learners, parsed, quoted

FINITE = ("range", "enumerate", "zip", "ndindex", "ndenumerate", "product", "reversed", "sorted")


def where_time_went(ended: BaseException) -> str:
    """Return a sentence on the loops in which a call was stopped, or "".

    `for` loops over ranges and similar iterables are called slow. A `while` loop may be endless.
    """
    loops: list[tuple[ast.For | ast.While, types.FrameType]] = []
    trace, count = ended.__traceback__, 0
    while trace is not None and count < 50:  # a recursion may have thousands of frames
        if is_learners(trace.tb_frame):
            loops += [(loop, trace.tb_frame) for loop in _loops_at(trace.tb_frame, trace.tb_lineno)]
            count += 1
        trace = trace.tb_next
    endless = [(loop, frame) for loop, frame in loops if isinstance(loop, ast.While)]
    if endless:
        loop, frame = endless[-1]
        assert isinstance(loop, ast.While)
        return (
            f"It was in the loop of line {loop.lineno}, while {ast.unparse(loop.test)}"
            f"{_numbers_in(loop.test, frame)}: does that ever become false?"
        )
    if not loops or not all(isinstance(loop, ast.For) and _is_finite(loop) for loop, _ in loops):
        return ""
    lines = [loop.lineno for loop, _ in loops]
    if len(lines) == 1:
        return (
            f"It is slow rather than endless: it was in the loop of line {lines[0]}, "
            f"{_header(loops[0][0])}. An operation on whole arrays does the work of such a loop in one "
            "line."
        )
    named = ", ".join(map(str, lines[:-1]))
    return (
        f"It is slow rather than endless: it was in loops within loops, of lines {named} and "
        f"{lines[-1]}, which take entry after entry in Python. An operation on whole arrays does "
        "the work of the inner loop in one line."
    )


def _numbers_in(test: ast.expr, frame: types.FrameType) -> str:
    """Return the numbers in a loop's condition when it was stopped: ", where step was 1.002"."""
    names = dict.fromkeys(node.id for node in ast.walk(test) if isinstance(node, ast.Name))
    numbers = {
        name: frame.f_locals[name]
        for name in names
        if isinstance(frame.f_locals.get(name), (int, float, np.integer, np.floating))
    }
    if not numbers:
        return ""
    return ", where " + " and ".join(f"{name} was {numbers[name]:.6g}" for name in numbers)


def _header(loop: ast.For | ast.While) -> str:
    assert isinstance(loop, ast.For)
    return f"over {quoted(loop.iter)}"


def _loops_at(frame: types.FrameType, line: int) -> list[ast.For | ast.While]:
    """List the loops around a line of a function, the outermost first."""
    tree = parsed(frame.f_code.co_filename)
    first, inside = frame.f_code.co_firstlineno, []
    for node in ast.walk(tree) if tree else ():
        if isinstance(node, (ast.For, ast.While)) and first <= node.lineno:
            end = node.body[-1].end_lineno or node.lineno
            if node.lineno <= line <= end:
                inside.append(node)
    return inside


def _is_finite(loop: ast.For) -> bool:
    call = loop.iter.func if isinstance(loop.iter, ast.Call) else None
    return call is not None and (getattr(call, "attr", "") or getattr(call, "id", "")) in FINITE
