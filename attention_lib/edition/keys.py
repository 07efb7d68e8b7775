"""Cache keys of calls: a digest of the arguments, whatever the memory they lie in."""

from __future__ import annotations

import copy
import functools
import hashlib
import types
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from attention_lib.checks.calls.case import Stream
from attention_lib.checks.calls.simulated import Work
from attention_lib.edition.tensors import array_of, is_plain_tensor

__all__ = ["Undescribed", "is_device", "key_of", "key_of_call", "parts_of_function"]

# The last bits of a float64 that is computed may differ from machine to machine.
LOST_BITS = np.uint64(12)


class Undescribed(TypeError):
    """Raised for an argument that is neither a number, an array, a text nor made of these."""


def key_of(args: Sequence[Any], kwargs: Mapping[str, Any] | None = None) -> str:
    """Return the digest of a call's arguments.

    Raises
    ------
    Undescribed
        If an argument is of a kind that is not recorded, such as a function of a notebook.
    """
    digest = hashlib.blake2b(digest_size=9)
    _describe(tuple(args), digest)
    _describe(dict(sorted((kwargs or {}).items())), digest)
    return digest.hexdigest()


def key_of_call(arguments: Sequence[Any]) -> str:
    """Return the digest of a call that a notebook makes.

    A function of the notebook as the first argument goes by what it returns for the second one.
    """
    try:
        return key_of(arguments)
    except Undescribed:
        if len(arguments) < 2 or not callable(arguments[0]):
            raise
    value = arguments[0](copy.deepcopy(arguments[1]))
    return key_of(("of a function", value, *arguments[1:]))


def _describe(value: Any, digest: hashlib.blake2b) -> None:
    kind: str = type(value).__name__
    if isinstance(value, (tuple, list)):
        digest.update(f"{kind}{len(value)}(".encode())
        for item in value:
            _describe(item, digest)
    elif isinstance(value, dict):
        digest.update(f"dict{len(value)}(".encode())
        for name, item in value.items():
            digest.update(f"{name}=".encode())
            _describe(item, digest)
    elif isinstance(value, Stream):
        digest.update(b"stream")
        _describe(value.items, digest)
    elif isinstance(value, (np.ndarray, np.generic)):
        if value.dtype.kind not in "biuf":
            raise Undescribed(f"Arrays of dtype {value.dtype} are not recorded.")
        digest.update(f"array{value.dtype.str}{value.shape}".encode())
        digest.update(_rounded(np.asarray(value)).tobytes())
    elif is_plain_tensor(value):
        dtype, array = array_of(value)
        digest.update(f"tensor:{dtype}".encode())
        _describe(array, digest)
    elif isinstance(value, Work):
        digest.update(b"work")
        _describe((value.first, value.then), digest)
    elif is_device(value):
        digest.update(f"device:{value};".encode())
    elif isinstance(value, float):
        digest.update(b"float")
        digest.update(_rounded(np.asarray(value)).tobytes())
    elif value is None or isinstance(value, (bool, int, str, np.dtype)):
        digest.update(f"{kind}:{value};".encode())
    elif isinstance(value, type) and value.__module__ in ("numpy", "builtins"):
        digest.update(f"type:{value.__name__};".encode())
    elif isinstance(value, (types.FunctionType, functools.partial)):
        digest.update(b"function")
        _describe(parts_of_function(value), digest)
    else:
        raise Undescribed(f"Arguments of type {kind} are not recorded.")


def is_device(value: Any) -> bool:
    """Tell torch's devices, without importing torch."""
    return (type(value).__module__, type(value).__name__) == ("torch", "device")


def _rounded(array: np.ndarray) -> np.ndarray:
    """Round away the last bits of float64 numbers, and the sign of 0 and NaN."""
    if array.dtype != np.float64:
        return array
    with np.errstate(over="ignore"):
        bits = np.where(np.isnan(array), np.nan, array + 0.0).view(np.uint64)
        half = np.uint64(1) << (LOST_BITS - np.uint64(1))
        return np.where(np.isfinite(array), (bits + half) >> LOST_BITS, bits)


def parts_of_function(function: Any) -> tuple[str, str, dict[str, Any], tuple[Any, ...]]:
    """Return what a function of this library is made again from.

    Its module, its name, the names and values that it closes over or is partly given, and the
    arguments it is partly given by position.

    Raises
    ------
    Undescribed
        If it is not one of this library, or closes over a function or another object.
    """
    given: dict[str, Any] = {}
    args: tuple[Any, ...] = ()
    if isinstance(function, functools.partial):
        given, args, function = function.keywords, function.args, function.func
    elif function.__closure__:
        values = (cell.cell_contents for cell in function.__closure__)
        given = dict(zip(function.__code__.co_freevars, values, strict=True))
    module, name = function.__module__, function.__qualname__
    if not module.startswith("attention_lib.") or "<lambda>" in name:
        raise Undescribed(f"The function {name} of {module} is not recorded.")
    return module, name, given, args
