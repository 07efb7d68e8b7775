"""Triton as lesson 09 uses it: a compiler on CUDA, elsewhere an interpreter, or not there at all."""

from __future__ import annotations

import contextlib
import linecache
import os
import sys
import types
from collections.abc import Callable, Iterator
from typing import Any

import torch

INTERPRETED = not torch.cuda.is_available()
if INTERPRETED:
    # Triton, which torch may import at any time, reads this once.
    os.environ.setdefault("TRITON_INTERPRET", "1")


@contextlib.contextmanager
def readable(function: Callable[..., Any]) -> Iterator[bool]:
    """Let `inspect` read a function's source in the body, also where an edition has it packed.

    Yields whether it is packed, so that it cannot be read later.
    """
    loader = getattr(sys.modules.get(function.__module__), "__loader__", None)
    file = function.__code__.co_filename
    if not hasattr(loader, "packed_source") or file in linecache.cache:
        yield False
        return
    lines = loader.packed_source(file).splitlines(keepends=True)
    linecache.cache[file] = (0, None, lines, file)
    try:
        yield True
    finally:
        del linecache.cache[file]


try:
    import triton
    import triton.language as tl

    def jit(function: Callable[..., Any], **options: Any) -> Any:
        with readable(function) as is_packed:
            kernel = triton.jit(function, **options)
            if is_packed and hasattr(kernel, "rewrite"):  # by the interpreter
                kernel.rewrite()
        return kernel

except ImportError:  # no build for this system
    triton = None
    tl = types.SimpleNamespace(constexpr=int)  # enough to define a kernel, and not to run one

    def jit(function: Callable[..., Any]) -> Callable[..., Any]:
        return function
