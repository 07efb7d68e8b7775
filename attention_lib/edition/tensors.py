"""PyTorch's tensors as arrays and back, bit by bit; torch is imported only where one is made."""

from __future__ import annotations

from typing import Any

import numpy as np

from attention_lib.checks.calls.tensors import is_tensor, short_dtype

__all__ = ["array_of", "is_plain_tensor", "tensor_of"]


def is_plain_tensor(value: Any) -> bool:
    """Tell a tensor on the CPU that has values and no gradient to keep."""
    return is_tensor(value) and value.device.type == "cpu" and not value.requires_grad


def array_of(tensor: Any) -> tuple[str, np.ndarray]:
    """Return a plain tensor's dtype, and an array that shares its memory."""
    import torch

    # NumPy has no bfloat16: its bits are kept as integers.
    bits = tensor.view(torch.int16) if tensor.dtype == torch.bfloat16 else tensor
    return short_dtype(tensor.dtype), bits.numpy()


def tensor_of(dtype: str, array: np.ndarray) -> Any:
    """Make a tensor of what `array_of` returned."""
    import torch

    return torch.from_numpy(array).view(getattr(torch, dtype))
