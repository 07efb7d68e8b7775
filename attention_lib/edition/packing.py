"""A serializer for recorded calls: JSON for what is nested, one block of bytes for all arrays.

Both are compressed, each as fits it.

Nothing in it can be code: a function goes by its name.
"""

from __future__ import annotations

import functools
import importlib
import json
import lzma
import struct
import types
from pathlib import Path
from typing import Any

import numpy as np

from attention_lib.checks.calls.case import Stream
from attention_lib.checks.calls.simulated import Work
from attention_lib.edition.checksums import Checksum
from attention_lib.edition.keys import Undescribed, is_device, parts_of_function
from attention_lib.edition.tensors import array_of, is_plain_tensor, tensor_of

__all__ = ["Packer", "Unpacker"]

# For bytes that repeat every 8, as those of float64 do.
NUMBERS = {"id": lzma.FILTER_LZMA2, "lc": 0, "lp": 3, "pb": 3}


class Packer:
    """Encodes values, and stores each different array once."""

    def __init__(self) -> None:
        self._places: dict[tuple[str, tuple[int, ...], tuple[int, ...], bytes], int] = {}

    def encoded(self, value: Any) -> Any:
        """Return a value as JSON can hold it.

        Raises
        ------
        Undescribed
            If it is of a kind that is not recorded.
        """
        if value is None or type(value) in (bool, int, float, str):
            return value
        if isinstance(value, (np.ndarray, np.generic)):
            if value.dtype.kind not in "biuf":
                raise Undescribed(f"Arrays of dtype {value.dtype} are not recorded.")
            array, axes = np.asarray(value), _axes_in_memory(value)
            array = array.transpose(axes)
            key = array.dtype.str, array.shape, axes, array.tobytes()
            place = self._places.setdefault(key, len(self._places))
            return {"n" if isinstance(value, np.generic) else "a": place}
        if isinstance(value, Checksum):
            return {"c": [value.shape, value.total]}
        if isinstance(value, tuple):
            return {"t": [self.encoded(item) for item in value]}
        if isinstance(value, list):
            return {"l": [self.encoded(item) for item in value]}
        if isinstance(value, dict):
            return {"d": {name: self.encoded(item) for name, item in value.items()}}
        if isinstance(value, Stream):
            return {"s": [self.encoded(item) for item in value.items]}
        if is_plain_tensor(value):
            return {"tensor": list(map(self.encoded, array_of(value)))}
        if isinstance(value, Work):
            return {"work": self.encoded((value.first, value.then))}
        if is_device(value):
            return {"device": str(value)}
        if isinstance(value, np.dtype):
            return {"dtype": value.str}
        if isinstance(value, type) and value.__module__ == "numpy":
            return {"type": value.__name__}
        if isinstance(value, (types.FunctionType, functools.partial)):
            partial = isinstance(value, functools.partial)
            return {"f": [partial, *map(self.encoded, parts_of_function(value))]}
        raise Undescribed(f"Values of type {type(value).__name__} are not recorded.")

    def write(self, path: Path, content: Any, preset: int = 6) -> None:
        """Write what was encoded with this packer; `preset` is the level of compression."""
        index: list[Any] = [None] * len(self._places)
        blocks, start = [], 0
        by_size = sorted(self._places.items(), key=lambda item: -np.dtype(item[0][0]).itemsize)
        for (dtype, shape, axes, block), place in by_size:
            index[place] = [dtype, shape, axes, start]
            blocks.append(block)
            start += len(block)
        text = json.dumps([index, content], separators=(",", ":")).encode()
        text = lzma.compress(text, preset=preset)
        numbers = lzma.compress(b"".join(blocks), filters=[NUMBERS | {"preset": preset}])
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(struct.pack("<Q", len(text)) + text + numbers)


class Unpacker:
    """Reads what a packer has written."""

    def __init__(self, path: Path) -> None:
        packed = path.read_bytes()
        (length,) = struct.unpack_from("<Q", packed)
        self._index, self.content = json.loads(lzma.decompress(packed[8 : 8 + length]))
        self._blocks = lzma.decompress(packed[8 + length :])

    def decoded(self, value: Any) -> Any:
        """Return a new copy of a value that was encoded."""
        if not isinstance(value, dict):
            return value
        ((kind, content),) = value.items()
        if kind in ("a", "n"):
            dtype, shape, axes, start = self._index[content]
            count = int(np.prod(shape, dtype=np.int64))
            array = np.frombuffer(self._blocks, dtype, count, start).reshape(shape).copy()
            return array.transpose(np.argsort(axes).astype(int)) if kind == "a" else array[()]
        if kind == "c":
            return Checksum(tuple(content[0]), content[1])
        if kind == "t":
            return tuple(map(self.decoded, content))
        if kind == "l":
            return list(map(self.decoded, content))
        if kind == "d":
            return {name: self.decoded(item) for name, item in content.items()}
        if kind == "s":
            return Stream(map(self.decoded, content))
        if kind == "tensor":
            return tensor_of(*map(self.decoded, content))
        if kind == "work":
            return Work(*self.decoded(content))
        if kind == "device":
            return importlib.import_module("torch").device(content)
        if kind == "dtype":
            return np.dtype(content)
        if kind == "type":
            return getattr(np, content)
        return _function(content[0], *map(self.decoded, content[1:]))


def _axes_in_memory(array: Any) -> tuple[int, ...]:
    """Return the axes in the order in which they lie in memory, which a copy of a case keeps."""
    if array.flags.c_contiguous:
        return tuple(range(array.ndim))
    return tuple(sorted(range(array.ndim), key=lambda axis: -abs(array.strides[axis])))


def _function(
    partial: bool, module: str, name: str, given: dict[str, Any], args: tuple[Any, ...]
) -> Any:
    factory, *inner = name.split(".")
    function = getattr(importlib.import_module(module), factory)
    if partial:
        return functools.partial(function, *args, **given)
    return function(**given) if inner else function
