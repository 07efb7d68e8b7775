"""The part of this library that a submission sees: what the lessons before its own have built."""

from __future__ import annotations

import sys
from pathlib import Path

import attention_lib
from attention_lib.checks.catalogue import LESSONS

PACKAGE = Path(attention_lib.__file__).parent
# What every submission sees besides earlier lessons: figures, and what calls an answer.
ALWAYS = (
    "arguments.py",
    "plots/*.py",
    "checks/calling.py",
    "checks/exercise.py",
    "checks/measuring.py",
    "checks/simulated.py",
    "checks/staging.py",
    "checks/tensors.py",
    "checks/ufuncs.py",
    "checks/exercises/__init__.py",
    "grading/__init__.py",
    "grading/conversation.py",
    "grading/fork_server.py",
    "grading/inside.py",
    "grading/outputs.py",
    "grading/shell.py",
    "grading/system_calls.py",
    "grading/wire.py",
    "grading/withheld.py",
)
# What the last lesson's submissions see besides: what starts their kernel, and what tiled
# attention computes with.
FOR_THE_LAST = ("gpu_launch.py", "gpu_triton.py", "tiles.py")


def visible_library(lesson: str) -> dict[str, bytes]:
    """Return the files of `attention_lib` for a submission to a lesson, by path below it.

    This lesson's modules and later ones are there by name alone: whatever is taken from them
    says, when it is used, that it is not there.
    """
    modules = [name.partition("_")[2] for name in LESSONS]
    earlier = modules[: list(LESSONS).index(lesson)]
    files = {
        str(path.relative_to(PACKAGE)): path.read_bytes()
        for pattern in (*ALWAYS, *(f"{module}.py" for module in earlier))
        for path in sorted(PACKAGE.glob(pattern))
    }
    if lesson == list(LESSONS)[-1]:
        files |= {name: (PACKAGE / name).read_bytes() for name in FOR_THE_LAST}
    for path in PACKAGE.glob("*.py"):
        files.setdefault(path.name, STUB)
    files["__init__.py"] = _exports(earlier).encode()
    files["checks/__init__.py"] = (PACKAGE / "grading" / "no_checks.py").read_bytes()
    return files


STUB = b"""\
from attention_lib.grading.withheld import Withheld


def __getattr__(name):
    if name.startswith("__"):
        raise AttributeError(name)
    return Withheld(f"attention_lib.{name}")
"""
EXPORTS = """\
from attention_lib.checks import check, hint, solution
from attention_lib.grading.withheld import Withheld
{imports}

__all__ = {names}


def __getattr__(name):
    if name in __all__:
        return Withheld(f"attention_lib.{{name}}")
    raise AttributeError(f"module 'attention_lib' has no attribute {{name!r}}")
"""


def _exports(earlier: list[str]) -> str:
    """Write the `__init__` that has everything of earlier lessons, and the rest by name alone."""
    there = [(_module_of(name), name) for name in attention_lib.__all__]
    imports = [f"from attention_lib.{module} import {name}" for module, name in there]
    kept = [line for line, (module, _) in zip(imports, there, strict=True) if module in earlier]
    return EXPORTS.format(imports="\n".join(kept), names=sorted(attention_lib.__all__))


def _module_of(name: str) -> str:
    later = attention_lib._LATER.get(name)
    full = later or sys.modules[getattr(attention_lib, name).__module__].__name__
    return full.rpartition(".")[2]
