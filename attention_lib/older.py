"""Detect that an answer is older than the newest cell for it, as after a SyntaxError or a typo."""

from __future__ import annotations

import ast
import linecache
import re
import sys
import traceback
from collections.abc import Iterable
from typing import Any

from attention_lib.exercises import EXERCISES
from attention_lib.slips import fences, near_name

FLAGS = ast.PyCF_ONLY_AST | ast.PyCF_ALLOW_TOP_LEVEL_AWAIT  # as a cell is compiled


def why_older(name: str, answer: Any) -> str:
    """Return why the newest cell that defines a name has not defined the answer, or "" if it has.

    This works only in a notebook, where the cells are known.
    """
    if (shell := _shell()) is None:
        return ""
    defined, older, newest, later = _cells(shell, name, callable(answer))
    old = f"What is there is an older {name}: "
    if why := _why_not_run(shell, defined, newest, old):
        return why
    code = getattr(answer, "__code__", None)
    own = "".join(linecache.getlines(code.co_filename)).strip() if code else ""
    is_older = own and own in (cell.strip() for cell in older) and own != newest.strip()
    if is_older or (not callable(answer) and _stopped_in(newest, name, shell)):
        where = "above it" if callable(answer) else "there or above it"
        return f"The newest cell with {defined} stopped {where}. {old}run that cell to its end, then this one."
    other = _other_name(name, newest, later)
    if other and getattr(answer, "__name__", name) == name:
        return (
            f"A cell that you ran since defines {other}; what is checked is an older {name}. "
            f"Rename it to {name}, run that cell, then this one."
        )
    return ""


def why_undefined(name: str) -> str:
    """Return why the name of an exercise is not defined, or "" for another name."""
    exercise, shell = EXERCISES.get(name), _shell()
    if exercise is None or exercise.kind == "written" or shell is None:
        return ""
    defined, _, newest, later = _cells(shell, name, exercise.kind == "function")
    library = f"; elsewhere, write lib.{name}" if exercise.kind == "function" else ""
    return (
        why_not_attempted(name, later)
        or _why_not_run(shell, defined, newest, "So ")
        or f"In lesson {exercise.lesson}, run the cell with {defined} first, then this one{library}."
    )


def explain_undefined_names() -> None:
    """Let IPython add to a NameError why the name of an exercise is not defined."""

    def explain(shell: Any, _: type, error: NameError, *_more: Any, **_options: Any) -> None:
        why = why_undefined(error.name) if type(error) is NameError else ""
        if why:
            error.add_note(why)
        shell.showtraceback(running_compiled_code=True)  # as without this function

    shell = _shell()
    if getattr(shell, "custom_exceptions", None) == ():
        shell.set_custom_exc((NameError,), explain)


def _cells(shell: Any, name: str, is_function: bool) -> tuple[str, list[str], str, list[str]]:
    """Return how a definition begins, the cells with it but the last, the last, and those since."""
    begins = _beginning(name, is_function)
    cells = ["", *shell.user_ns.get("In", ())]
    defining = [n for n, cell in enumerate(cells) if re.search(begins, cell, re.MULTILINE)]
    *older, newest = [0, *defining]
    defined = f"def {name}" if is_function else f"{name} = ..."
    return defined, [cells[n] for n in older], cells[newest], cells[newest + 1 :]


def _beginning(name: str, is_function: bool) -> str:
    """Return a pattern of the line in which a definition begins."""
    return rf"^def {re.escape(name)}\b" if is_function else rf"^{re.escape(name)}\s*=(?!=)"


def _why_not_run(shell: Any, defined: str, cell: str, old: str) -> str:
    """Return a sentence on the SyntaxError of a cell, or "" if it is valid Python."""
    try:
        compile(shell.transform_cell(cell), "<cell>", "exec", FLAGS, dont_inherit=True)
    except SyntaxError as error:
        where = f"line {error.lineno} is not valid Python ({type(error).__name__}: {error.msg})"
        to_do = fences(cell) or "change that line"
        return f"The cell with {defined} did not run: {where}. {old}{to_do}, run the cell, then this one."
    return ""


def _stopped_in(cell: str, name: str, shell: Any) -> bool:
    """Tell whether the cell ran last, and stopped no later than in the line that defines a value."""
    result = getattr(shell, "last_execution_result", None)
    error = result.error_in_exec if result else None
    if error is None or result.info.raw_cell.strip() != cell.strip():
        return False
    lines = traceback.walk_tb(error.__traceback__)
    stopped = [line for frame, line in lines if frame.f_globals is shell.user_ns]
    *_, last = re.finditer(_beginning(name, is_function=False), cell, re.MULTILINE)
    return bool(stopped) and stopped[0] <= cell.count("\n", 0, last.start()) + 1


def _other_name(name: str, cell: str, later: list[str]) -> str:
    """Return the similar name that replaces the name in the cell's first lines later, or "".

    A name that contains it, such as softmax2, is probably meant as it is.
    """
    lines = set(filter(None, cell.splitlines()))
    for one in reversed(later):
        other = near_name(name, [one])
        defined = re.search(rf"^(def )?{other}\b.*", one, re.MULTILINE)
        if other and name not in other and defined and defined[0].replace(other, name) in lines:
            return other
    return ""


def why_not_attempted(name: str, cells: Iterable[str] = ()) -> str:
    """Return a sentence on a cell that defines the answer under a similar name, or "".

    Without cells, all cells run so far are searched.
    """
    shell = _shell()
    other = near_name(name, cells or shell.user_ns.get("In", ())) if shell else ""
    return (
        f"A cell defines {other} instead of {name}: rename it, run that cell, then this one."
        * bool(other)
    )


def _shell() -> Any:
    """Return IPython's shell, or None elsewhere."""
    ipython = sys.modules.get("IPython")
    return ipython.get_ipython() if ipython else None
