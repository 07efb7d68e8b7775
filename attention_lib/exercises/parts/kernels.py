"""What the exercises on Triton kernels share: where patches of one run, and a probe for its use."""

from __future__ import annotations

from typing import Any

from numpy.random import Generator

from attention_lib.checks.exercise import Probe
from attention_lib.checks.patch import Patch
from attention_lib.checks.wording import LIBRARY


def as_kernel(answer: Any) -> Any:
    """Return an answer, or the kernel of a patched text: that one runs in NumPy, also on CUDA."""
    from attention_lib.lessons.gpu.programs import in_numpy

    return in_numpy(answer.function) if isinstance(answer, Patch) else answer


def calls_the_library(name: str, advice: str) -> Probe:
    """Return a probe that refuses a kernel which hands its work to the library's kernel `name`."""

    def probe(answer: Any, _rng: Generator) -> str | None:
        from attention_lib.lessons.gpu import kernel, launch

        function = getattr(answer, "fn", answer)
        code = getattr(function, "__code__", None)
        names = code.co_names if code else ()
        reached = [getattr(function, "__globals__", {}).get(name) for name in names]
        reached += [getattr(module, n, None) for module in reached for n in names]
        reached += [cell.cell_contents for cell in getattr(function, "__closure__", None) or ()]
        solutions = [getattr(kernel, name)]
        if name == "flash_program":  # and the tuned one of the launch, in its wrappers
            solutions += [launch.forward, getattr(launch.forward, "fn", None)]
        if any(one is solution for one in (answer, *reached) for solution in solutions if solution):
            return f"{name} calls {LIBRARY}.{name}, the course's own solution: {advice}"
        return None

    return probe
