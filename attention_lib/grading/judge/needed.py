"""Which of a lesson's own cells a submission needs: those that bind a name the student uses.

Most of a lesson's cells show something. A grader runs only what the student's own code rests on.
"""

from __future__ import annotations

import ast
import functools
import re
import symtable
from collections.abc import Collection

from nbformat import NotebookNode

# What may use any name without saying so.
ANY_NAME = {"eval", "exec", "globals", "locals", "vars", "get_ipython", "__main__", "dir"}
# IPython's own commands, but for those that use no name that is not written there.
_COMMANDS = r"%(?!%?(?:matplotlib|pip|conda|config|load_ext|time|timeit|capture)\b)"
# Calls that show something and change nothing.
SHOWING = {"print", "display", "plots", "plt", "check", "hint", "solution"}


# What Python's parser raises on text that is no program, or one of absurd depth.
NOT_UNDERSTOOD = (SyntaxError, ValueError, RecursionError, MemoryError)
_remembered = functools.lru_cache(maxsize=1000)  # a lesson's own cells come with each submission


def needed_cells(cells: list[NotebookNode], own: Collection[str]) -> set[str]:
    """Return the ids of the code cells to run.

    Parameters
    ----------
    cells
        The notebook's code cells, but for those that check, in order.
    own
        The ids of those that the student has written; they are all run.
    """
    used_by_own = frozenset().union(*(names_used(cell.source) for cell in cells if cell.id in own))
    if used_by_own & ANY_NAME:
        return {cell.id for cell in cells}
    imported = frozenset(alias for cell in cells for alias in imports(cell.source))
    bound = {cell.id: names_bound(cell.source, imported) for cell in cells}
    run = set(own)
    # A student's function finds its names when it is called, at the end. A cell of the lesson
    # finds them above it.
    open_ends = [(used_by_own, len(cells))]
    while open_ends:
        names, end = open_ends.pop()
        for position, cell in enumerate(cells[:end]):
            if cell.id not in run and bound[cell.id] & names:
                run.add(cell.id)
                open_ends.append((names_used(cell.source), position))
    return run


@_remembered
def names_used(source: str) -> frozenset[str]:
    """Return the global names that a cell reads; of one that is no plain Python, every word."""
    try:
        table = symtable.symtable(source, "cell", "exec")
    except NOT_UNDERSTOOD:
        return frozenset(re.findall(r"\w+", source)) | _magics(source)
    added_to = {
        _root(n.target) for n in ast.walk(ast.parse(source)) if isinstance(n, ast.AugAssign)
    }
    return frozenset(_globals_read(table) | added_to.intersection(table.get_identifiers()))


def _magics(source: str) -> set[str]:
    """Treat IPython's own commands, of which many can run anything, as using every name."""
    found = re.search(rf"(?:^|=)[ \t]*{_COMMANDS}", source, re.MULTILINE)
    return {"get_ipython"} if found else set()


def _globals_read(table: symtable.SymbolTable) -> set[str]:
    at_the_top = table.get_type() == "module"
    names = {
        symbol.get_name()
        for symbol in table.get_symbols()
        if symbol.is_referenced() and (at_the_top or symbol.is_global())
    }
    return names.union(*map(_globals_read, table.get_children()))


@_remembered
def names_bound(source: str, imported: frozenset[str]) -> frozenset[str]:
    """Return the names that a cell assigns, imports, or changes in place."""
    try:
        tree = ast.parse(source)
        symbols = symtable.symtable(source, "cell", "exec").get_symbols()
    except NOT_UNDERSTOOD:
        return frozenset(re.findall(r"\w+", source))
    bound = {symbol.get_name() for symbol in symbols if symbol.is_assigned()}
    changed: set[str] = set()
    for node in ast.walk(tree):
        match node:
            case ast.Subscript(ctx=ast.Store() | ast.Del()) | ast.Attribute(ctx=ast.Store()):
                changed.add(_root(node))
            case ast.Call(func=ast.Attribute() as method):
                changed.add(_root(method))  # which may keep something, as a generator does
            case ast.Expr(value=ast.Call() as call) if _root(call.func) not in SHOWING:
                names = (one for one in ast.walk(call) if isinstance(one, ast.Name))
                changed.update(name.id for name in names)
    return frozenset(bound | (changed - imported) | set(imports(source)))


def _root(node: ast.AST) -> str:
    while isinstance(node, (ast.Attribute, ast.Subscript, ast.Call)):
        node = node.func if isinstance(node, ast.Call) else node.value
    return node.id if isinstance(node, ast.Name) else ""


@_remembered
def imports(source: str) -> dict[str, str]:
    """Return the names that a cell imports, and the module that each comes from."""
    try:
        nodes = list(ast.walk(ast.parse(source)))
    except NOT_UNDERSTOOD:
        return {}
    found = {}
    for node in nodes:
        if isinstance(node, (ast.Import, ast.ImportFrom)):
            for alias in node.names:
                name = alias.asname or alias.name.partition(".")[0]
                found[name] = (node.module or "") if hasattr(node, "module") else alias.name
    return found
