"""Imports of modules: what of this library the files of a package take, by their syntax trees."""

from __future__ import annotations

import ast
from collections.abc import Collection, Iterator
from pathlib import Path

__all__ = ["missing_modules"]

LIBRARY = Path(__file__).parents[1]


def missing_modules(package: Path, left_out: Collection[str]) -> dict[str, str]:
    """Return the modules that files of a package import and it does not have, with who does.

    Texts count too where they are the full name of a module: `importlib` takes them. Modules of
    the lessons in `left_out` may be imported in functions, which only these lessons call.
    """
    missing: dict[str, str] = {}
    for path in sorted(package.rglob("*.py")):
        tree = ast.parse(path.read_text(encoding="utf-8"))
        for name in sorted({*_imported(tree, in_functions=True)}):
            if _is_module(package, name):
                continue
            _, _, lesson, *_ = [*name.split("."), "", ""]
            is_later = name.startswith("attention_lib.lessons.") and lesson in left_out
            if not is_later or name in _imported(tree, in_functions=False):
                missing[name] = path.relative_to(package.parent).as_posix()
    return missing


def _imported(node: ast.AST, *, in_functions: bool) -> Iterator[str]:
    """Yield the modules of this library that code imports, and the packages that they are in."""
    names: list[str] = []
    if isinstance(node, ast.Import):
        names = [alias.name for alias in node.names]
    elif isinstance(node, ast.ImportFrom):
        module = node.module or ""
        names = [module, *(f"{module}.{alias.name}" for alias in node.names)]
    elif isinstance(node, ast.Constant) and isinstance(node.value, str):
        names = [node.value]
    for name in names:
        parts = name.split(".")
        is_name = parts[0] == "attention_lib" and all(map(str.isidentifier, parts))
        if is_name and len(parts) > 1 and _is_module(LIBRARY, name):
            yield from (".".join(parts[:count]) for count in range(2, len(parts) + 1))
    if in_functions or not isinstance(node, ast.FunctionDef):
        for child in ast.iter_child_nodes(node):
            yield from _imported(child, in_functions=in_functions)


def _is_module(package: Path, name: str) -> bool:
    place = package.parent.joinpath(*name.split("."))
    return place.with_suffix(".py").is_file() or (place / "__init__.py").is_file()
