"""Detect that an answer is older than the newest cell for it, as after a SyntaxError or a typo."""

from __future__ import annotations

import ast
import linecache
import re
import sys
from typing import Any

from attention_lib.slips import fences, near_name

FLAGS = ast.PyCF_ONLY_AST | ast.PyCF_ALLOW_TOP_LEVEL_AWAIT  # as a cell is compiled


def why_older(name: str, answer: Any) -> str:
    """Return why the newest cell that defines a name has not defined the answer, or "" if it has.

    This works only in a notebook, where the cells are known.
    """
    if (shell := _shell()) is None:
        return ""
    pattern = rf"^def {re.escape(name)}\b" if callable(answer) else rf"^{re.escape(name)}\s*=(?!=)"
    defines = re.compile(pattern, re.MULTILINE)
    cells = ["", *shell.user_ns.get("In", ())]
    *older, newest = ["", *filter(defines.search, cells)]
    defined = f"def {name}" if callable(answer) else f"{name} = ..."
    old = f"What is there is an older {name}: "
    try:
        compile(shell.transform_cell(newest), "<cell>", "exec", FLAGS, dont_inherit=True)
    except SyntaxError as error:
        where = f"line {error.lineno} is not valid Python ({type(error).__name__}: {error.msg})"
        to_do = fences(newest) or "change that line"
        return f"The cell with {defined} did not run: {where}. {old}{to_do}, run the cell, then this one."
    code = getattr(answer, "__code__", None)
    own = "".join(linecache.getlines(code.co_filename)).strip() if code else ""
    if own and own in (cell.strip() for cell in older) and own != newest.strip():
        return f"The newest cell with {defined} stopped above it. {old}run that cell to its end, then this one."
    place = max(number for number, cell in enumerate(cells) if cell == newest)
    other = _other_name(name, newest, cells[place + 1 :])
    if other and getattr(answer, "__name__", name) == name:
        return (
            f"A cell that you ran since defines {other}; what is checked is an older {name}. "
            f"Rename it to {name}, run that cell, then this one."
        )
    return ""


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


def why_not_attempted(name: str) -> str:
    """Return a sentence on a cell that defines the answer under a similar name, or ""."""
    other = near_name(name, shell.user_ns.get("In", ())) if (shell := _shell()) else ""
    return (
        f"A cell defines {other} instead of {name}: rename it, run that cell, then this one."
        * bool(other)
    )


def _shell() -> Any:
    """Return IPython's shell, or None elsewhere."""
    ipython = sys.modules.get("IPython")
    return ipython.get_ipython() if ipython else None
