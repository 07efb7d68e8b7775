"""Choose the part of this library that a submission sees: the modules of earlier lessons.

The security boundary consists of whole folders: all files in SHOWN_FOLDERS are shown, and import
only files that are shown too.
"""

from __future__ import annotations

from pathlib import Path

import attention_lib
from attention_lib.lessons import GIVEN, LESSONS, module_of

PACKAGE = Path(attention_lib.__file__).parent
# Shown to every submission: figures, calls of an answer, and the code of its process.
SHOWN_FOLDERS = ("plots", "checks/calls", "checks/errors", "grading/inside")
SHOWN_FILES = (
    "arguments.py",
    "outdated.py",
    "trained_numbers.py",
    "lessons/__init__.py",
    "lessons/trained.npz",
    "checks/__init__.py",
    "grading/__init__.py",
    "grading/limits.py",
)


def visible_library(lesson: str) -> dict[str, bytes]:
    """Return the files of `attention_lib` for a submission to a lesson, by path below it.

    The modules of this lesson and of later ones are replaced by stubs: what is imported from them
    raises an error when it is used.
    """
    earlier = [module_of(name) for name in LESSONS[: LESSONS.index(lesson)]]
    given = [f"lessons/{module.replace('.', '/')}.py" for module in GIVEN.get(lesson, ())]
    patterns = [
        *SHOWN_FILES,
        *given,
        *(f"{folder}/**/*.py" for folder in SHOWN_FOLDERS),
        *(f"lessons/{module}.py" for module in earlier),
        *(f"lessons/{module}/**/*.py" for module in earlier),
    ]
    files = {
        str(path.relative_to(PACKAGE)): path.read_bytes()
        for pattern in patterns
        for path in sorted(PACKAGE.glob(pattern))
    }
    for name in LESSONS:
        is_package = (PACKAGE / "lessons" / module_of(name)).is_dir()
        stub = "/__init__.py" if is_package else ".py"
        files.setdefault(f"lessons/{module_of(name)}{stub}", STUB)
    files["__init__.py"] = _exports(earlier).encode()
    files["commands.py"] = (PACKAGE / "grading" / "inside" / "no_checks.py").read_bytes()
    return files


STUB = b"""\
from attention_lib.grading.inside.withheld import Withheld


def __getattr__(name):
    if name.startswith("__"):
        raise AttributeError(name)
    return Withheld(f"attention_lib.{name}")
"""
EXPORTS = """\
from attention_lib.commands import check, hint, progress, solution
from attention_lib.trained_numbers import trained
from attention_lib.grading.inside.withheld import Withheld
{imports}

__all__ = {names}


def __getattr__(name):
    if name in __all__:
        return Withheld(f"attention_lib.{{name}}")
    raise AttributeError(f"module 'attention_lib' has no attribute {{name!r}}")
"""


def _exports(earlier: list[str]) -> str:
    """Return an `__init__` that imports earlier lessons' functions, with stubs for the others."""
    shown = {f"attention_lib.lessons.{module}" for module in earlier}
    modules = {name: _module_of(name) for name in attention_lib.__all__}
    imports = [
        f"from {module} import {name}" for name, module in modules.items() if module in shown
    ]
    return EXPORTS.format(imports="\n".join(imports), names=sorted(attention_lib.__all__))


def _module_of(name: str) -> str:
    """Return the module of an exported function, or "" if the library imports it on first use.

    Those are the last lesson's functions, which no later lesson may use, and `check`, `hint`,
    `solution` and `progress`, which are replaced.
    """
    function = vars(attention_lib).get(name)
    return "" if function is None else str(function.__module__)
