"""Name the loops in which a call was when it ran out of time."""

from __future__ import annotations

import ast
import types

import numpy as np

from attention_lib.checks.errors.line import is_learners, parsed

FINITE = ("range", "enumerate", "zip", "ndindex", "ndenumerate", "product", "reversed", "sorted")


def where_time_went(ended: BaseException) -> str:
    """Return a sentence on the loops in which a call was stopped, or "".

    `for` loops over ranges and similar iterables are called slow. A `while` loop may be endless.
    """
    loops, endless = list[ast.For](), ""
    trace, count = ended.__traceback__, 0
    while trace is not None and count < 50:  # a recursion may have thousands of frames
        if is_learners(trace.tb_frame):
            count += 1
            for loop in _loops_at(trace.tb_frame, trace.tb_lineno):
                if isinstance(loop, ast.For):
                    loops.append(loop)
                else:
                    test = f"{ast.unparse(loop.test)}{_numbers_in(loop.test, trace.tb_frame)}"
                    endless = (
                        f"It was in the loop of line {loop.lineno}, while {test}: does that ever become "
                        "false?"
                    )
        trace = trace.tb_next
    if endless or not loops or not all(map(_is_finite, loops)):
        return endless
    lines = " and ".join(str(loop.lineno) for loop in loops)
    which = (
        f"the loop of line {lines}" if len(loops) == 1 else f"loops within loops, of lines {lines}"
    )
    return (
        f"It is slow rather than endless: it was in {which}. An operation on whole arrays does the work "
        "of such a loop in one line."
    )


def _numbers_in(test: ast.expr, frame: types.FrameType) -> str:
    """Return the numbers in a loop's condition when it was stopped: ", where step was 1.002"."""
    names = dict.fromkeys(node.id for node in ast.walk(test) if isinstance(node, ast.Name))
    numbers = [
        f"{name} was {value:.6g}"
        for name in names
        if isinstance(value := frame.f_locals.get(name), (int, float, np.integer, np.floating))
    ]
    return f", where {' and '.join(numbers)}" if numbers else ""


def _loops_at(frame: types.FrameType, line: int) -> list[ast.For | ast.While]:
    """List the loops around a line of a function, the outermost first."""
    tree, first = parsed(frame.f_code.co_filename), frame.f_code.co_firstlineno
    return [
        node
        for node in (ast.walk(tree) if tree else ())
        if isinstance(node, (ast.For, ast.While))
        and first <= node.lineno <= line <= (node.body[-1].end_lineno or node.lineno)
    ]


def _is_finite(loop: ast.For) -> bool:
    call = loop.iter.func if isinstance(loop.iter, ast.Call) else None
    return call is not None and (getattr(call, "attr", "") or getattr(call, "id", "")) in FINITE
