"""Triton as lesson 09 uses it: a compiler on CUDA, elsewhere an interpreter, or not there at all."""

from __future__ import annotations

import os
import types
from collections.abc import Callable
from typing import Any

import torch

INTERPRETED = not torch.cuda.is_available()
if INTERPRETED:
    # Triton, which torch may import at any time, reads this once.
    os.environ.setdefault("TRITON_INTERPRET", "1")

try:
    import triton
    import triton.language as tl

    jit = triton.jit
except ImportError:  # no build for this system
    triton = None
    tl = types.SimpleNamespace(constexpr=int)  # enough to define a kernel, and not to run one

    def jit(function: Callable[..., Any]) -> Callable[..., Any]:
        return function
