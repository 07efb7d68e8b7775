"""Recognizing PyTorch's tensors and converting them to arrays, without importing torch.

A tensor comes from code that has imported torch; until then, nothing is a tensor.
"""

from __future__ import annotations

import sys
from typing import Any

import numpy as np


def is_tensor(value: Any) -> bool:
    """Tell a torch tensor from everything else."""
    torch = sys.modules.get("torch")
    return torch is not None and isinstance(value, getattr(torch, "Tensor", ()))


def as_numbers(value: Any) -> Any:
    """Return a tensor's values as a float64 array; what is no tensor comes back as it is."""
    if not is_tensor(value):
        return value
    import torch

    if value.is_meta:  # a tensor without values
        return np.full(tuple(value.shape), np.nan)
    return value.detach().cpu().to(torch.float64).numpy()


def widened(tensor: Any) -> Any:
    """Copy a floating-point tensor in float64."""
    import torch

    return tensor.detach().clone().to(torch.float64)


def precision_of(tensor: Any) -> Any:
    """Return what torch knows of the tensor's dtype, its eps among it; None for integers."""
    import torch

    return torch.finfo(tensor.dtype) if tensor.dtype.is_floating_point else None


def short_dtype(dtype: Any) -> str:
    """Name a dtype of NumPy's or torch's: ``float32``."""
    return str(dtype).removeprefix("torch.")
