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
        from attention_lib.lessons.gpu import kernel
        from attention_lib.lessons.gpu.forward import forward

        solutions = [getattr(kernel, name)]
        if name == "flash_program":  # and the tuned one of the launch, in its wrappers
            solutions += [forward, getattr(forward, "fn", None)]
        if any(one is solution for one in _reached(answer) for solution in solutions if solution):
            return f"{name} calls {LIBRARY}.{name}, the course's own solution: {advice}"
        return None

    return probe


def _reached(answer: Any) -> list[Any]:
    """Return an answer and all that its code names, and that of helpers from the same notebook."""
    reached = [answer]
    for one in reached:  # which grows
        function = getattr(one, "fn", one)
        code, known = getattr(function, "__code__", None), getattr(function, "__globals__", {})
        if code is None or known is not getattr(getattr(answer, "fn", answer), "__globals__", None):
            continue
        found = [known.get(name) for name in code.co_names]
        found += [getattr(module, name, None) for module in found for name in code.co_names]
        found += [cell.cell_contents for cell in function.__closure__ or ()]
        reached += [new for new in found if not any(new is old for old in reached)]
    return reached
