"""Triton as lesson 10 uses it: the compiler itself on CUDA, elsewhere what stands for it in NumPy."""

from __future__ import annotations

import contextlib
import importlib.util
import linecache
import sys
from collections.abc import Callable, Iterator
from typing import Any

import torch

__all__ = ["INTERPRETED", "Config", "autotune", "jit", "tl", "triton"]


@contextlib.contextmanager
def readable(function: Callable[..., Any]) -> Iterator[None]:
    """Let `inspect` read a function's source in the body, also where an edition has it packed."""
    loader = getattr(sys.modules.get(function.__module__), "__loader__", None)
    file = function.__code__.co_filename
    if not hasattr(loader, "packed_source") or file in linecache.cache:
        yield
        return
    lines = loader.packed_source(file).splitlines(keepends=True)
    linecache.cache[file] = (0, None, lines, file)
    try:
        yield
    finally:
        del linecache.cache[file]


if torch.cuda.is_available() and importlib.util.find_spec("triton"):
    import triton
    import triton.language as tl
    from triton import Config, autotune

    def jit(function: Callable[..., Any], **options: Any) -> Any:
        with readable(function):
            return triton.jit(function, **options)

else:
    import attention_lib.lessons.gpu.tile_language as tl  # its package is a stub in the sandbox
    from attention_lib.lessons.gpu.programs import Config, autotune, jit

    triton = None

INTERPRETED = triton is None
