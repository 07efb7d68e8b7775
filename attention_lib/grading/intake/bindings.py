"""Find the names that a cell's code binds, without running it."""

from __future__ import annotations

import ast
import re
import warnings
from collections.abc import Iterable, Iterator

RUNS_ITS_TEXT = {
    "time",
    "capture",
    "prun",
}  # magics that run the rest of the cell or line as Python
TRANSFORMED_CHARACTERS = 10_000  # a longer cell is not parsed for IPython's syntax
_LINE_END = re.compile(r"\r\n|\r|\n")
_CELL_MAGIC = re.compile(r"\A(\s*)%%(\w+).*")


def bound_names(source: str) -> frozenset[str]:
    """Return the names that a cell binds at its top level, or as globals of its functions.

    A placeholder binds nothing: a function that only raises NotImplementedError, or a name set to
    None. A cell that Python cannot parse also binds nothing, because Jupyter does not run it.
    """
    tree = parse_cell(source)
    return frozenset(_names_bound_in(tree)) if tree else frozenset()


def definitions(source: str) -> list[str]:
    """Return the statements of a cell that bind names, each as text."""
    source = _as_python(source)
    tree = _parse_python(source)
    lines = _LINE_END.split(source)
    nodes = [node for node in tree.body if any(_names_bound_in(node))] if tree else []
    return ["\n".join(lines[slice(*_line_slice(node))]) for node in nodes]


def without_placeholder(source: str, name: str) -> str:
    """Remove the lesson's placeholder for an answer from a cell; keep the rest."""
    tree = _parse_python(source)
    lines = _LINE_END.split(source)
    for node in reversed(tree.body if tree else []):
        if _is_placeholder_of(node, name) or _raises_not_implemented(node):
            del lines[slice(*_line_slice(node))]
    return "\n".join(lines)


def _line_slice(node: ast.stmt) -> tuple[int, int]:
    """Return the slice of lines that holds a statement, decorators included."""
    decorators = getattr(node, "decorator_list", [])
    return min(part.lineno for part in (node, *decorators)) - 1, node.end_lineno or node.lineno


def parse_cell(source: str) -> ast.Module | None:
    """Parse a cell as IPython would run it; return None if that cannot be parsed."""
    return _parse_python(_as_python(source))


def _as_python(source: str) -> str:
    magic = _CELL_MAGIC.match(source)
    if magic and magic[2] in RUNS_ITS_TEXT:
        source = magic[1] + source[magic.end() :]
    return source if _parse_python(source) else _transformed(source)


def _parse_python(source: str) -> ast.Module | None:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return ast.parse(source)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None


def _transformed(source: str) -> str:
    """Return a cell as IPython passes it to Python: without magics, prompts and common indentation."""
    from IPython.core.inputtransformer2 import TransformerManager

    if len(source) > TRANSFORMED_CHARACTERS:
        return source
    try:
        return str(TransformerManager().transform_cell(source))
    except (SyntaxError, ValueError, RuntimeError, LookupError, AssertionError):
        return source  # IPython would not run it either


def _names_bound_in(tree: ast.AST) -> Iterator[str]:
    waiting: list[ast.AST] = [tree]
    while waiting:
        node = waiting.pop()
        match node:
            case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef():
                if not _is_placeholder_of(node, node.name):
                    yield node.name
                for inner in ast.walk(node):
                    yield from _names_bound_globally(inner)
                continue
            case ast.Lambda() | ast.AnnAssign(value=None):
                continue
            case ast.Assign() | ast.AnnAssign() if _is_placeholder_value(node.value):
                continue
            case ast.comprehension():  # its targets are local to it
                waiting += [node.iter, *node.ifs]
                continue
            case ast.Call() if tree_of_text := _tree_of_text_run_by(node):
                waiting.append(tree_of_text)
            case ast.Subscript():
                yield from _names_bound_globally(node)
            case ast.Name(ctx=ast.Store()):
                yield node.id
            case ast.MatchAs(name=str(name)) | ast.MatchStar(name=str(name)):
                yield name
            case ast.MatchMapping(rest=str(name)):
                yield name
            case ast.alias():
                yield node.asname or node.name.partition(".")[0]
        waiting += ast.iter_child_nodes(node)


def _names_bound_globally(node: ast.AST) -> Iterable[str]:
    """Return the names that `global f` declares, or the one that `globals()["f"] = ...` binds."""
    match node:
        case ast.Global():
            return node.names
        case ast.Subscript(
            value=ast.Call(func=ast.Name(id="globals" | "locals" | "vars"), args=[]),
            slice=ast.Constant(value=str(name)),
            ctx=ast.Store(),
        ):
            return [name]
    return []


def _tree_of_text_run_by(call: ast.Call) -> ast.Module | None:
    """Parse the text that a call of exec, or a line magic such as %time, runs in the notebook."""
    match call:
        case ast.Call(
            func=ast.Name(id="exec"),
            args=[ast.Constant(value=str(text))]
            | [ast.Constant(value=str(text)), ast.Call(func=ast.Name(id="globals"))],
        ):
            return _parse_python(text)
        case ast.Call(
            func=ast.Attribute(attr="run_line_magic"),
            args=[ast.Constant(value=magic), ast.Constant(value=str(text))],
        ) if magic in RUNS_ITS_TEXT:
            return _parse_python(text)
    return None


def _is_placeholder_of(node: ast.AST, name: str) -> bool:
    match node:
        case ast.FunctionDef() | ast.AsyncFunctionDef() if node.name == name:
            return all(map(_does_nothing, node.body))
        case ast.Assign(targets=[ast.Name(id=target)]) | ast.AnnAssign(target=ast.Name(id=target)):
            return target == name and _is_placeholder_value(node.value)
    return False


def _does_nothing(node: ast.stmt) -> bool:
    match node:
        case ast.Pass() | ast.Return(value=None):
            return True
        case ast.Expr(value=ast.Constant()):  # a docstring, or an ellipsis
            return True
        case ast.Return(value=ast.Constant(value=None)):
            return True
    return _raises_not_implemented(node)


def _raises_not_implemented(node: ast.AST) -> bool:
    match node:
        case ast.Raise(
            exc=ast.Name(id="NotImplementedError")
            | ast.Call(func=ast.Name(id="NotImplementedError"))
        ):
            return True
    return False


def _is_placeholder_value(value: ast.expr | None) -> bool:
    """Tell whether a value is a placeholder for an answer not yet written."""
    return value is None or (
        isinstance(value, ast.Constant) and (value.value is None or value.value is Ellipsis)
    )
