"""Time functions by PyTorch's own benchmark tool, where lesson 09's way to time is not to be seen."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch.utils.benchmark import Timer

__all__ = ["call_times", "synchronize"]


def call_times(
    fn: Callable[[], object],
    device: torch.device | str,
    repeats: int = 10,
    ahead: Callable[[], object] | None = None,
) -> list[float]:
    """Return the milliseconds that each of `repeats` calls took, after untimed ones.

    The time that Python takes to hand over a call is in it, also on CUDA.
    """
    timer = Timer("fn()", globals={"fn": fn}, num_threads=torch.get_num_threads())
    return [1e3 * timer.timeit(1).median for _ in range(repeats)]


def synchronize(device: torch.device | str) -> None:
    """Wait until the device has done what it was given, by asking it for a number."""
    torch.zeros((), device=device).item()
