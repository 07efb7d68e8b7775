"""What the exercises on Triton kernels share: edited text of a reference, and a probe for its use."""

from __future__ import annotations

import functools
import hashlib
import inspect
import linecache
from collections.abc import Callable
from typing import Any

from numpy.random import Generator

from attention_lib.checks.exercise import Probe
from attention_lib.checks.wording import LIBRARY


class Edited:
    """A kernel of the library with some of its text replaced, compiled when it is first used.

    Parameters
    ----------
    name
        The kernel's name in `attention_lib`.
    *changes
        Pairs of a text that the kernel has, and the text that takes its place.
    """

    def __init__(self, name: str, *changes: tuple[str, str]) -> None:
        self._name = name
        self._changes = changes
        self.composed = _maker(name), dict(changes)  # two mistakes are made as one kernel, too

    @functools.cached_property
    def kernel(self) -> Any:
        from attention_lib.lessons.gpu import kernel as module
        from attention_lib.lessons.gpu.triton import readable

        reference = getattr(module, self._name)
        function = getattr(reference, "fn", reference)
        with readable(function) as is_packed:
            source = inspect.getsource(function)
        for old, new in self._changes:
            if old not in source:
                raise ValueError(
                    f"A known mistake of {self._name} replaces {old!r}, which is not in "
                    f"{module.__file__}: change the text in the exercise's file, too."
                )
            source = source.replace(old, new)
        # A compiled kernel names its file in quotes, so none of the source may be in the name.
        name = f"<edited {self._name} {hashlib.sha256(source.encode()).hexdigest()[:16]}>"
        linecache.cache[name] = (len(source), None, source.splitlines(True), name)  # for Triton
        namespace = dict(vars(module))
        exec(compile(source, name, "exec", dont_inherit=True), namespace)
        kernel = namespace[self._name]
        if is_packed:  # the text must not stay where tracebacks find it
            del linecache.cache[name]
        return kernel

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self.kernel(*args, **kwargs)


@functools.cache
def _maker(name: str) -> Callable[..., Edited]:
    return lambda **changes: Edited(name, *changes.items())


def changed(anchor: str, old: str, new: str) -> tuple[str, str]:
    """Return an anchor, and the same with a part of it replaced."""
    return anchor, anchor.replace(old, new)


def as_kernel(answer: Any) -> Any:
    """Return an answer, or the kernel of an edited text: that one runs in NumPy, also on CUDA."""
    from attention_lib.lessons.gpu.programs import in_numpy

    return in_numpy(answer.kernel) if isinstance(answer, Edited) else answer


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
