"""The right and wrong answers of every exercise, each exercise's in a module of its name."""

import importlib
from pathlib import Path
from types import ModuleType
from typing import Any, Literal

import numpy as np

from attention_lib.checks.patch import Patch, patches
from attention_lib.exercises import EXERCISES
from attention_lib.exercises.parts.tensors import LazyReference
from attention_lib.lessons import module_of

Kind = Literal["RIGHT", "WRONG"]


def answers_of(name: str, kind: Kind) -> Any:
    """Return an exercise's right answers, a list, or its wrong ones, by what is wrong with them."""
    lesson = module_of(EXERCISES[name].lesson)
    if not (Path(__file__).parent / lesson / f"{name}.py").exists():
        return {"RIGHT": [], "WRONG": {}}[kind]
    return answers_in(importlib.import_module(f"tests.exercises.{lesson}.{name}"), kind)


def answers_in(module: ModuleType, kind: Kind) -> Any:
    """Collect the functions named after their kind, and what the module lists under it.

    What it imports from other modules is left out.
    """
    prefix = f"{kind.lower()}_"
    named = {
        function.removeprefix(prefix).replace("_", " "): value
        for function, value in vars(module).items()
        if function.startswith(prefix) and _function_of(value).__module__ == module.__name__
    }
    if kind == "RIGHT":
        return [*named.values(), *getattr(module, kind, [])]
    return named | getattr(module, kind, {})


def _function_of(value):
    """Return the function that np.vectorize, or Triton, has been given."""
    return getattr(value, "pyfunc", None) or getattr(value, "fn", value)


def write_answers(name: str, which: str) -> str:
    """Say where to write the answers that an exercise lacks."""
    folder = module_of(EXERCISES[name].lesson)
    return (
        f"Write {which} to {name} in tests/exercises/{folder}/{name}.py, as "
        "tests/exercises/template.py shows."
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
