"""Recognize PyTorch's tensors and convert them to arrays, without importing torch.

Until some code has imported torch, nothing is a tensor.
"""

from __future__ import annotations

import sys
from typing import Any

import numpy as np


def is_tensor(value: Any) -> bool:
    """Tell whether a value is a torch tensor."""
    torch = sys.modules.get("torch")
    return torch is not None and isinstance(value, getattr(torch, "Tensor", ()))


def as_numbers(value: Any) -> Any:
    """Convert a tensor to a float64 array; return any other value as it is."""
    if not is_tensor(value):
        return value
    import torch

    if value.is_meta:  # a tensor without values
        return np.full(tuple(value.shape), np.nan)
    return value.detach().cpu().to(torch.float64).numpy()


def widened(tensor: Any) -> Any:
    """Copy a floating-point tensor to float64."""
    import torch

    return tensor.detach().clone().to(torch.float64)


def precision_of(tensor: Any) -> Any:
    """Return torch's finfo of a tensor's dtype; None for integers."""
    import torch

    return torch.finfo(tensor.dtype) if tensor.dtype.is_floating_point else None


def short_dtype(dtype: Any) -> str:
    """Name a dtype of NumPy or torch: ``float32``."""
    return str(dtype).removeprefix("torch.")
