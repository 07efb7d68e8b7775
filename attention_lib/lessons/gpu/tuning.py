"""Triton's tuning of lesson 10's kernels: the tiles that are tried, and how they are timed."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from attention_lib.lessons.gpu.triton import INTERPRETED, Config, autotune, jit, triton

__all__ = ["NUMBER_BY_NUMBER", "configurations", "fused", "time_or_lose", "tuned_over"]


def is_modern(query: Tensor) -> bool:
    """Tell whether a card is of Ampere or later; on older ones Triton uses no tensor cores."""
    return torch.cuda.get_device_capability(query.device) >= (8, 0)


def uses_tensor_cores(query: Tensor) -> bool:
    """Tell whether products run on tensor cores: in 16 bits, on a modern card."""
    return is_modern(query) and query.dtype != torch.float32


def time_or_lose(call: Callable[[], Any], quantiles: tuple[float, ...]) -> list[float]:
    """Time a configuration for Triton's tuning; one that fails, in any way, is the slowest.

    If all fail, the launch itself fails, and says why.
    """
    try:
        return triton.testing.do_bench(call, quantiles=quantiles)
    except Exception:
        return [math.inf] * len(quantiles)


def configurations(*listed: tuple[int, int, int, int, int | None]) -> list[Any]:
    """List what Triton compiles a kernel for: rows, keys, warps, stages, registers of a thread."""
    return [
        Config({"ROWS": rows, "BLOCK": keys}, warps, stages, maxnreg=registers)
        for rows, keys, warps, stages, registers in listed
    ]


NUMBER_BY_NUMBER = configurations(  # without tensor cores large tiles compile for minutes
    (64, 32, 4, 2, None), (32, 32, 4, 2, None), (32, 32, 4, 1, None)
)
IN_NUMPY = configurations((16, 16, 4, 3, None))  # small, to reach every edge


def tuned_over(configs: list[Any], wide: list[Any], without_tensor_cores: list[Any]) -> Any:
    """Return Triton's tuning over some configurations; `wide` are those for heads of more than 64."""

    def worth_trying(_: Any, arguments: dict[str, Any], HEAD: int, **__: Any) -> list[Any]:
        fitting = wide if HEAD > 64 else configs
        if not uses_tensor_cores(arguments["query"]):
            fitting = without_tensor_cores
            if not is_modern(arguments["query"]):  # its largest tile spills there
                fitting = fitting[1:]
        is_short = arguments["length_class"] <= 8  # fewer than 256 rows and keys: any tile will do
        return fitting[-1:] if is_short else fitting

    return autotune(
        IN_NUMPY if INTERPRETED else configs,
        key=["HEAD", "IS_CAUSAL", "length_class"],
        prune_configs_by={} if INTERPRETED else {"early_config_prune": worth_trying},
        do_bench=time_or_lose,
    )


# No length is made a constant: one of 1 would be, and for such a kernel ptxas 12.8 crashes.
LENGTHS = ["query_length", "key_length", "length_class"]
fused = functools.partial(jit, do_not_specialize=LENGTHS)
