"""Find a loop over the first axis of an argument that may have any number of axes."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from attention_lib.checks.comparing import Comparison
from attention_lib.checks.exercise import Exercise
from attention_lib.checks.source.cell import source_of


def loop_over_first_axis(exercise: Exercise, answer: Any, comparisons: Sequence[Comparison]) -> str:
    """Say that a loop is right for only one number of axes; empty if the calls do not show it.

    All calls in which the argument has that number of axes must be right, and all others wrong.
    """
    source = source_of(answer)
    if source is None or exercise.run is not None:
        return ""
    for loop, name in _loops(source.function):
        counts: dict[bool, set[int]] = {True: set(), False: set()}
        for one in comparisons:
            case = one.trial.case
            value = exercise.arguments_of(case).get(name)
            if isinstance(value, np.ndarray) and not case.raises:
                counts[not (one.stopped or one.wrong_in_numbers)].add(value.ndim)
        fits, wrong = counts[True], counts[False]
        if fits and wrong and not fits & wrong and (len(fits) == 1 or max(fits) < min(wrong)):
            most = f"{'at most ' if len(fits) > 1 else ''}{max(fits)}"
            return (
                f"The loop in line {loop.lineno} goes through the first axis of `{name}`: that is right "
                f"where it has {most} {'axis' if most == '1' else 'axes'}, and in no other call. Without "
                "the loop, and with axes counted from the end (axis=-1), it works for any number of them."
            )
    return ""


def _loops(function: ast.FunctionDef) -> Iterator[tuple[ast.expr, str]]:
    """Yield what each loop over the first axis of an argument iterates over, and the argument."""
    arguments = {one.arg for one in (*function.args.posonlyargs, *function.args.args)}
    for node in ast.walk(function):
        if isinstance(node, (ast.For, ast.comprehension)):
            for text in arguments:
                over = ast.unparse(node.iter)
                firsts = (text, f"range(len({text}))", f"range({text}.shape[0])")
                if over in (*firsts, f"enumerate({text})"):
                    yield node.iter, text
