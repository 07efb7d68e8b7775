"""Detect that an answer is older than the newest cell that defines it, as after a SyntaxError."""

from __future__ import annotations

import ast
import linecache
import re
import sys
from typing import Any

from attention_lib.slips import fences, near_name

FLAGS = ast.PyCF_ONLY_AST | ast.PyCF_ALLOW_TOP_LEVEL_AWAIT  # as a cell is compiled


def why_older(name: str, answer: Any) -> str:
    """Return why the newest cell with `def name` has not defined the answer, or "" if it has.

    This works only in a notebook, where the cells are known.
    """
    if (shell := _shell()) is None:
        return ""
    defines = re.compile(rf"^def {re.escape(name)}\b", re.MULTILINE)
    *older, newest = ["", *(cell for cell in shell.user_ns.get("In", ()) if defines.search(cell))]
    old = f"What is there is an older {name}: "
    try:
        compile(shell.transform_cell(newest), "<cell>", "exec", FLAGS, dont_inherit=True)
    except SyntaxError as error:
        where = f"line {error.lineno} is no Python ({type(error).__name__}: {error.msg})"
        to_do = fences(newest) or "change that line"
        return f"The cell with def {name} did not run: {where}. {old}{to_do}, run the cell, then this one."
    code = getattr(answer, "__code__", None)
    own = "".join(linecache.getlines(code.co_filename)).strip() if code else ""
    if own and own in (cell.strip() for cell in older) and own != newest.strip():
        return f"The newest cell with def {name} stopped above it. {old}run that cell to its end, then this one."
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
