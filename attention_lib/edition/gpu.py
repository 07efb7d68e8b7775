"""Lesson 09 in an edition: what stands for its kernels and its launch, and what is recorded of them."""

from __future__ import annotations

import ast
from types import ModuleType
from typing import Any

import attention_lib
from attention_lib.checks.cases import cases_of
from attention_lib.edition import plans
from attention_lib.edition.keys import key_of
from attention_lib.edition.lookups import outcome_of
from attention_lib.edition.recording import SEED
from attention_lib.edition.slicing import Module
from attention_lib.edition.tracing import Tracer
from attention_lib.exercises import EXERCISES
from attention_lib.exercises.contracts import contract_of

__all__ = [
    "HANDED_OUT",
    "LESSON",
    "PLANS",
    "places_of_cells",
    "trace_kernels",
    "withheld_modules",
]

LESSON = "09_gpu"
MODULE = "attention_lib.lessons.gpu"
PLANS = "attention_lib.edition.plans"
HANDED_OUT = ("triton", "variants")  # they compute no answer

# Of the launch, what refuses bad input, and what launches a learner's own program.
OF_LAUNCH = (
    "__all__",
    "DTYPES",
    "IMPORTED_TOO_EARLY",
    "LARGEST_HEAD",
    "MISSING",
    "_require",
    "require_grid",
    "require_tensors",
    "run_program",
)
FLASH_ATTENTION = """\
def flash_attention(query, key, value, is_causal=False, *, kernel=None, tile=None):
    if kernel is None:
        output = kernels.own_attention(query, key, value, is_causal)
        return calls.call(flash_attention, query, key, value, is_causal, kernel, tile) if output is None else output
    _require(query, key, value)
    return stepping.attend(query, key, value, bool(is_causal), kernel, tile or (16, 16))
"""
BACKWARD = '''\
"""The backward pass of lesson 09, which comes when the lesson is over."""

__all__ = ["flash_attention_with_gradients"]


def flash_attention_with_gradients(query, key, value, is_causal=False):
    """Compute attention by the course's kernels; gradients flow back through it."""
    raise NotImplementedError("The gradients by kernels come when lesson 09_gpu is over.")
'''


def withheld_modules(functions: str, of_plans: str) -> dict[str, str]:
    """Return the texts of modules by name, given those of the lesson's functions and of `plan_of`.

    Both have look-ups in place of functions already.
    """
    functions = functions.replace("calls.call(pick_device)", "calls.call_on_machine(pick_device)")
    imported = "from attention_lib.edition import calls\n"
    timing = "from attention_lib.edition.timing import call_times, synchronize\n"
    return {
        MODULE: functions.replace(imported, imported + timing),
        f"{MODULE}.kernel": _kernels(),
        f"{MODULE}.launch": _launch(),
        f"{MODULE}.loops": _loops(),
        f"{MODULE}.backward": BACKWARD,
        PLANS: of_plans,
    }


def _kernels() -> str:
    module = Module(f"{MODULE}.kernel")
    lines = [
        '"""Lesson 09\'s kernels, which are the learner\'s to write."""',
        "from attention_lib.edition.kernels import WithheldKernel",
        ast.unparse(module.definitions["__all__"]),
    ]
    lines += [
        f"{name} = WithheldKernel({name!r}, {contract_of(EXERCISES[name])!r})"
        for name in module.definitions
        if name in EXERCISES
    ]
    return "\n\n".join(lines) + "\n"


def _launch() -> str:
    module = Module(f"{MODULE}.launch")
    (function,) = ast.parse(FLASH_ATTENTION).body
    original = module.definitions["flash_attention"]
    assert isinstance(function, ast.FunctionDef)
    assert isinstance(original, ast.FunctionDef)
    said = (ast.get_docstring(original, clean=False) or "").partition("\n\n    Notes\n")[0]
    function.body.insert(0, ast.Expr(ast.Constant(f"{said}\n    ")))
    text = module.text({"flash_attention": function}, {*OF_LAUNCH, "flash_attention"})
    first = "from __future__ import annotations\n"
    return text.replace(first, f"{first}\nfrom {MODULE}.triton import jit", 1)  # for the cells


def _loops() -> str:
    module = Module(f"{MODULE}.loops")
    (one_tile,) = ast.parse("one_tile_without_limit = stepping.OneTile()").body
    return module.text({"one_tile_without_limit": one_tile}, module.definitions)


def places_of_cells() -> list[tuple[ModuleType, str]]:
    """Return what the lesson's cells call and what is recorded of it: nothing that they time."""
    from attention_lib.lessons.gpu import launch, variants

    return [
        (attention_lib, "attention_flops"),
        (attention_lib, "torch_attention"),
        (variants, "attention_flops"),
        (launch, "flash_attention"),
    ]


def trace_kernels(tracer: Tracer) -> None:
    """Record which device is picked on which machine, and the plans of the check's launches."""
    from attention_lib.edition import stepping  # which imports torch, as the next line does
    from attention_lib.lessons.gpu import launch

    picking = EXERCISES["pick_device"]
    for case in cases_of(picking, SEED):
        value = picking.on_cases(picking.reference)(**case.kwargs)
        key = key_of((case.kwargs["cuda"], case.kwargs["mps"]))
        tracer.tables.add(f"{MODULE}.pick_device", key, *outcome_of(value))

    def by_plan(query: Any, key: Any, value: Any, is_causal: Any, *, kernel: Any, tile: Any) -> Any:
        return stepping.attend(query, key, value, bool(is_causal), kernel, tile)

    loop = EXERCISES["flash_kernel"]
    kernel = attention_lib.flash_kernel
    by_course = launch.flash_attention
    vars(launch)["flash_attention"] = by_plan
    try:
        with tracer.replacing([(plans, "plan_of")]):
            for case in cases_of(loop, SEED):
                loop.on_cases(kernel)(*case.args, **case.kwargs)
            for remark in loop.remarks:
                remark(kernel)
    finally:
        vars(launch)["flash_attention"] = by_course
