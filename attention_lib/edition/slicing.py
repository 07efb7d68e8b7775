"""Program slices: of a module, the names that are needed and what these rest on."""

from __future__ import annotations

import ast
import importlib.util
from collections.abc import Collection, Iterator
from pathlib import Path

__all__ = ["Module", "names_in", "withheld_function"]

# What code that is put in place of a definition may use beside the module's own imports.
IMPORTS = {
    "calls": ("attention_lib.edition", "calls"),
    "kernels": ("attention_lib.edition", "kernels"),
    "stepping": ("attention_lib.edition", "stepping"),
    "HashedValue": ("attention_lib.edition.values", "HashedValue"),
    "recorded_exercise": ("attention_lib.edition.exercises", "recorded_exercise"),
}


class Module:
    """A module's syntax tree, its definitions by name, and where its imported names come from."""

    def __init__(self, name: str) -> None:
        spec = importlib.util.find_spec(name)
        if spec is None or spec.origin is None:
            raise ModuleNotFoundError(f"There is no module {name}.")
        self.name, self.path = name, Path(spec.origin)
        self.tree = ast.parse(self.path.read_text(encoding="utf-8"))
        self.docstring = ast.get_docstring(self.tree, clean=False) or ""
        self.definitions: dict[str, ast.stmt] = {}
        self.imports: dict[str, tuple[str, str | None]] = {}  # module, and the name in it
        for node in self.tree.body:
            for defined in _defined_by(node):
                self.definitions[defined] = node
            if isinstance(node, ast.Import):
                for alias in node.names:
                    self.imports[alias.asname or alias.name] = alias.name, None
            elif isinstance(node, ast.ImportFrom) and node.module != "__future__":
                for alias in node.names:
                    self.imports[alias.asname or alias.name] = node.module or "", alias.name

    def text(self, replaced: dict[str, ast.stmt], kept: Collection[str]) -> str:
        """Write the module with the kept definitions alone, some of them replaced."""
        statements: list[ast.stmt] = []
        written: set[int] = set()
        for name, node in self.definitions.items():
            if name in kept and id(node) not in written:
                written.add(id(node))
                statements.append(replaced.get(name, node))
        statements += [node for name, node in replaced.items() if name not in self.definitions]
        used = set().union(*map(names_in, statements)) if statements else set()
        lines = [f'"""{self.docstring}"""', "", "from __future__ import annotations", ""]
        imports = IMPORTS | self.imports
        lines += [_import_line(name, *imports[name]) for name in imports if name in used]
        return "\n".join([*lines, "", *map(ast.unparse, statements), ""])


def _import_line(name: str, module: str, attribute: str | None) -> str:
    what = attribute or module
    renamed = "" if what == name else f" as {name}"
    return f"from {module} import {what}{renamed}" if attribute else f"import {what}{renamed}"


def _defined_by(node: ast.stmt) -> Iterator[str]:
    if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
        yield node.name
    elif isinstance(node, (ast.Assign, ast.AnnAssign)):
        for target in node.targets if isinstance(node, ast.Assign) else [node.target]:
            yield from (one.id for one in ast.walk(target) if isinstance(one, ast.Name))


def names_in(node: ast.AST) -> set[str]:
    """Return the names that code takes from outside; those of annotations are not looked at."""
    names: set[str] = set()
    bound: set[str] = set()
    for field, value in ast.iter_fields(node):
        if field in ("annotation", "returns"):
            continue
        for child in value if isinstance(value, list) else [value]:
            if isinstance(child, ast.AST):
                names |= names_in(child)
    if isinstance(node, ast.Name):
        names.add(node.id)
    elif isinstance(node, (ast.FunctionDef, ast.Lambda)):
        arguments = node.args
        given = arguments.posonlyargs + arguments.args + arguments.kwonlyargs
        bound |= {one.arg for one in (*given, arguments.vararg, arguments.kwarg) if one}
        defaults = [*arguments.defaults, *filter(None, arguments.kw_defaults)]
        body = node.body if isinstance(node.body, list) else [node.body]
        inside = [one for part in body for one in ast.walk(part)]
        bound |= {one.name for one in inside if isinstance(one, ast.FunctionDef)}
        bound |= {
            one.id for one in inside if isinstance(one, ast.Name) and isinstance(one.ctx, ast.Store)
        }
        return (names - bound).union(*map(names_in, defaults))
    return names


def withheld_function(
    function: ast.FunctionDef, docstring: str, by: str = "call"
) -> ast.FunctionDef:
    """Return a function of the same first line whose body looks its result up, `by` a function."""
    arguments = function.args
    if arguments.vararg or arguments.kwarg:
        raise ValueError(f"{function.name} takes arguments that a look-up cannot name.")
    every = arguments.posonlyargs + arguments.args + arguments.kwonlyargs
    names = ", ".join([function.name, *(one.arg for one in every)])
    (body,) = ast.parse(f"def f():\n    return calls.{by}({names})").body
    assert isinstance(body, ast.FunctionDef)
    first = [ast.Expr(ast.Constant(docstring))] if docstring else []
    return ast.fix_missing_locations(
        ast.FunctionDef(function.name, arguments, [*first, *body.body], [])
    )
