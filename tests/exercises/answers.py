"""The right and wrong answers of every exercise: its rows of tests/answers, and its own module's."""

import functools
import importlib
from pathlib import Path
from types import ModuleType
from typing import Any, Literal

import numpy as np

from attention_lib.checks.patch import Patch, patches
from attention_lib.exercises import EXERCISES
from attention_lib.exercises.parts.tensors import LazyReference
from attention_lib.lessons import module_of
from benchmarks.answers import Answer, answers, defined

Kind = Literal["RIGHT", "WRONG"]


def answers_of(name: str, kind: Kind) -> dict[str, Any]:
    """Return an exercise's right or wrong answers by what they do, of the corpus and of its module."""
    rows = {
        one.name.partition("/")[2]: defined(name, one.text)
        for one in answers_to(EXERCISES[name].lesson)
        if one.exercise == name and one.right == (kind == "RIGHT") and not one.writer
    }
    lesson = module_of(EXERCISES[name].lesson)
    if not (Path(__file__).parent / lesson / f"{name}.py").exists():
        return rows
    return rows | answers_in(importlib.import_module(f"tests.exercises.{lesson}.{name}"), kind)


@functools.cache
def answers_to(lesson: str) -> list[Answer]:
    return answers(lesson=lesson)


def answers_in(module: ModuleType, kind: Kind) -> dict[str, Any]:
    """Collect the functions named after their kind, and what the module lists under it.

    What it imports from other modules is left out.
    """
    prefix = f"{kind.lower()}_"
    named = {
        function.removeprefix(prefix).replace("_", " "): value
        for function, value in vars(module).items()
        if function.startswith(prefix) and _function_of(value).__module__ == module.__name__
    }
    return named | getattr(module, kind, {})


def _function_of(value):
    """Return the function that np.vectorize, or Triton, has been given."""
    return getattr(value, "pyfunc", None) or getattr(value, "fn", value)


def write_answers(name: str, which: str) -> str:
    """Say where to write the answers that an exercise lacks."""
    folder = module_of(EXERCISES[name].lesson)
    return (
        f"Write {which} to {name} in tests/answers/{EXERCISES[name].lesson}.yaml, or, if they share "
        f"parts, in tests/exercises/{folder}/{name}.py, as tests/exercises/template.py shows."
    )


def as_a_learner_writes_it(variant):
    """Give the mistake as a learner would make it: in code of their own, warnings and all."""
    if not callable(variant):
        return np.asarray(variant).tolist()
    if isinstance(variant, Patch) and isinstance(variant.answer, LazyReference):
        return variant.function  # Triton compiles a kernel's text, and no function around it
    return lambda *args, **kwargs: variant(*args, **kwargs)


def patched(name: str, written: str) -> Patch:
    """Return a patch of the library's function of this name, such as a Triton kernel."""
    (patch,) = patches(LazyReference(name), written)
    return patch
