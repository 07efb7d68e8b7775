"""Choose what an edition's modules hold: code that stays, look-ups, and nothing else."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Mapping
from typing import Any

from attention_lib.checks.exercise import Exercise
from attention_lib.edition.slicing import Module, names_in, withheld_function

__all__ = ["Slices", "exercise_module"]

SLICED = "attention_lib.exercises."
LESSONS = "attention_lib.lessons."

# By module of exercises, the functions and classes that stay code while their lesson is graded.
# Someone has read each and found no answer in it. A function that is in none of these lists stops
# the making of an edition.
STAYS: dict[str, tuple[str, ...]] = {
    "attention.attention": ("remark",),
    "flash.online_softmax_stats": ("keeps_the_blocks", "problem_with_integers"),
    "flash.tiled_attention": ("holds_the_matrix", "keeps_every_block"),
    "flash.tiled_attention_backward": ("holds_the_matrix", "keeps_every_block"),
    "flash.tiled_causal_attention": ("computes_the_future", "holds_strips", "marked", "positions"),
    "gpu.flash_kernel": (
        "draw_heads",
        "launched",
        "finite_mask",
        "mask_without_need",
    ),
    "gpu.flash_program": ("launched", "problem_with_work"),
    "gpu.pick_device": ("problem_with",),
    "gpu.time_milliseconds": ("problem_with",),
    "gpu.torch_attention": ("leaves_its_device", "problem_with_gradients"),
    "gradients.numerical_gradient": (
        "fails_on_a_strided_array",
        "loss_with",
        "product",
        "square_of_the_sum",
        "steep_cubes",
        "sum_of_cubes",
        "sum_of_squares",
        "weighted_powers_with",
    ),
    "gradients.softmax_vjp": ("does_quadratic_work", "holds_a_matrix", "long_rows"),
    "multihead.decode_step": ("differs_in_a_loop", "equals_floats"),
    "multihead.decoder_attention": ("differs_in_pieces", "draw_layer"),
    "parts.blocks": (
        "_bits",
        "as_they_are",
        "forms_scores_twice",
        "growth_in_bytes",
        "held_and_allowed",
        "ignores_block_size",
        "inputs_with_a_huge_score",
        "long_inputs",
        "takes_block_size_for_a_count",
    ),
    "parts.hidden_nan": ("remark_on_hidden_nan",),
    "parts.kernels": ("Edited", "as_kernel", "calls_the_library"),
    "parts.tensors": ("LazyReference", "cuda_is_available", "draw_inputs", "draw_tensors"),
    "scaling.temperature_for_entropy": ("problem_with",),
    "stability.largest_exponent": ("problem_with",),
}

# Functions that compute an answer, or a good part of one, for what stays code: they become look-ups.
LOOKED_UP: dict[str, tuple[str, ...]] = {
    "flash.online_softmax_stats": ("stats",),
    "flash.tiled_attention_backward": ("with_saved",),
    "gpu.flash_kernel": ("exact_attention",),
    "gpu.flash_program": ("right_counts",),
    "gpu.torch_attention": ("right_gradients",),
}

# Functions of a case's first argument and of a number that only the answer gives: tables of curves.
CURVES: dict[str, tuple[str, ...]] = {"scaling.temperature_for_entropy": ("entropy_at",)}

# What an exercise's declaration says beside the answers.
DECLARED = (
    "points",
    "minutes",
    "hints",
    "probes",
    "signature",
    "tolerance",
    "accelerated",
    "run",
    "run_as",
    "not_by",
    "remarks",
)


class WithheldError(Exception):
    """Raised where it is not said whether a function is to be handed out."""


class Slices:
    """Modules of exercises, cut down to what is needed without references and known mistakes."""

    def __init__(self, graded: Iterable[str]) -> None:
        self._graded = set(graded)  # modules of lessons whose functions are withheld
        self._modules: dict[str, Module] = {}
        self._kept: dict[str, set[str]] = {}
        self._replaced: dict[str, dict[str, ast.stmt]] = {}
        self.looked_up: set[tuple[str, str]] = set()
        self.unsaid: set[tuple[str, str]] = set()

    def module(self, name: str) -> Module:
        if name not in self._modules:
            self._modules[name] = Module(name)
            self._kept[name], self._replaced[name] = set(), {}
        return self._modules[name]

    def replace(self, module: str, name: str, node: ast.stmt) -> None:
        """Put other code in place of a definition."""
        self.module(module)
        self._replaced[module][name] = node
        self._kept[module].add(name)
        for used in names_in(node):
            self.keep(module, used)

    def texts(self) -> dict[str, str]:
        """Return the text of each module that is left."""
        if self.unsaid:
            listed = ", ".join(sorted(f"{module}.{name}" for module, name in self.unsaid))
            raise WithheldError(
                f"attention_lib/edition/contents.py does not say whether an edition has: {listed}."
            )
        return {
            name: module.text(self._replaced[name], self._kept[name])
            for name, module in self._modules.items()
            if self._kept[name]
        }

    def keep(self, module_name: str, name: str) -> None:
        """Keep a name and what it rests on, as far as it may be handed out."""
        module = self.module(module_name)
        if name in module.imports:
            origin, attribute = module.imports[name]
            if attribute and origin.startswith((SLICED, LESSONS)):
                self.keep(origin, attribute)
            return
        if name not in module.definitions or name in self._kept[module_name]:
            return
        self._kept[module_name].add(name)
        node = module.definitions[name]
        if module_name.startswith(LESSONS) and module_name not in self._graded:
            return  # of a lesson that is over: the whole module is handed out
        if self._is_looked_up(module_name, name):
            assert isinstance(node, ast.FunctionDef)
            self.looked_up.add((module_name, name))
            self._replaced[module_name][name] = withheld_function(node, "")
            return
        if name in CURVES.get(module_name.removeprefix(SLICED), ()):
            assert isinstance(node, ast.FunctionDef)
            self._replaced[module_name][name] = withheld_function(node, "", by="curve")
            return
        if _holds_code(node) and name not in STAYS.get(module_name.removeprefix(SLICED), ()):
            self.unsaid.add((module_name, name))
        for used in sorted(names_in(node)):
            self.keep(module_name, used)

    def _is_looked_up(self, module: str, name: str) -> bool:
        listed = name in LOOKED_UP.get(module.removeprefix(SLICED), ())
        return listed or module in self._graded


def _holds_code(node: ast.stmt) -> bool:
    return any(
        isinstance(one, (ast.FunctionDef, ast.ClassDef, ast.Lambda)) for one in ast.walk(node)
    )


def exercise_module(exercise: Exercise) -> str:
    """Return the name of the module that declares an exercise."""
    return f"{SLICED}{exercise.lesson.partition('_')[2]}.{exercise.name}"


def declaration(module: Module) -> Mapping[str, Any]:
    """Return what the module's EXERCISE is declared with, by keyword."""
    node = module.definitions["EXERCISE"]
    assert isinstance(node, ast.Assign)
    assert isinstance(node.value, ast.Call)
    return {keyword.arg: keyword.value for keyword in node.value.keywords if keyword.arg}
