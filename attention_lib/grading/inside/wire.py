"""Messages between the grader and a student's process: by value, without pickle, bounded in size.

A message is a dict from names to values. It crosses as JSON with the arrays' bytes behind it, so
that reading one can do nothing but make numbers, strings and containers of them. Functions and
iterators that the grader passes stay with it: the other side gets something to ask them by.
"""

from __future__ import annotations

import builtins
import collections.abc
import decimal
import fractions
import json
import math
import re
import socket
import struct
import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np

from attention_lib.checks.calls.case import Stream
from attention_lib.checks.calls.simulated import Work

MOST_BYTES = 64 << 20  # of one message
MOST_JSON = 4 << 20  # bytes of it, which take twenty times as much once they are read
MOST_VALUES = 20_000  # in one message
DEEPEST = 20  # containers inside containers
MOST_ENTRIES = 1_000_000  # of arrays whose numbers do not cross, all of a message together
LONGEST_TEXT = 100_000  # characters of one string
LONGEST_DTYPE = 30  # characters; a longer name could be that of a thousand fields
MOST_BITS = 10_000  # of one integer
INTERRUPT = b"i"  # to the supervisor of a student's process
SECRET = "ATTENTION_LIB_SECRET"  # without a sandbox, the variable with what proves who connects
LENGTH = struct.Struct(">I")

Message = dict[str, Any]
# What asks a function or iterator of the grader's: its number, how ("call" or "next"), arguments.
Ask = Callable[[int, str, tuple[Any, ...]], Any]


class Malformed(ValueError):
    """Bytes that are no message, or a value that cannot cross."""


class Closed(ConnectionError):
    """The other side is gone."""


class Channel:
    """Messages over a socket, each to be there in full within a time."""

    def __init__(self, connection: socket.socket) -> None:
        self._socket = connection

    def send(self, message: Message, seconds: float | None, kept: list[Any] | None = None) -> None:
        """Send a message; functions and iterators in it are put into `kept`."""
        data = pack(message, kept)
        self._socket.settimeout(seconds)
        try:
            self._socket.sendall(LENGTH.pack(len(data)) + data)
        except TimeoutError:
            raise
        except OSError:
            raise Closed from None

    def receive(self, seconds: float | None, ask: Ask | None = None) -> Message:
        """Wait for a message; raise TimeoutError, Closed, or Malformed."""
        until = None if seconds is None else time.monotonic() + seconds
        (length,) = LENGTH.unpack(self._read(LENGTH.size, until))
        if length > MOST_BYTES:
            raise Malformed(f"a message of {length:,} bytes; {MOST_BYTES:,} are allowed")
        return unpack(self._read(length, until), ask)

    def _read(self, count: int, until: float | None) -> bytearray:
        data = bytearray(count)
        view = memoryview(data)
        while view:
            left = None if until is None else until - time.monotonic()
            if left is not None and left <= 0:
                raise TimeoutError
            self._socket.settimeout(left)
            try:
                read = self._socket.recv_into(view)
            except TimeoutError:
                raise
            except OSError:
                raise Closed from None
            if not read:
                raise Closed
            view = view[read:]
        return data

    def close(self) -> None:
        self._socket.close()


def pack(message: Message, kept: list[Any] | None = None, most: int = MOST_BYTES // 2) -> bytes:
    """Turn a message into bytes, with so many of numbers at most."""
    packing = _Packing(kept, most)
    head = json.dumps({key: packing.value(value) for key, value in message.items()}).encode()
    return b"".join([LENGTH.pack(len(head)), head, *packing.buffers])


def unpack(data: bytes | bytearray, ask: Ask | None = None) -> Message:
    """Turn bytes into a message, or raise Malformed."""
    try:
        (length,) = LENGTH.unpack_from(data)
        if length > MOST_JSON:
            raise Malformed(f"{length:,} bytes of JSON; {MOST_JSON:,} are allowed")
        end = LENGTH.size + length
        head = json.loads(bytes(data[LENGTH.size : end]).decode())
        unpacking = _Unpacking(memoryview(data)[end:], ask)
        return {str(key): unpacking.value(value) for key, value in head.items()}
    except Malformed:
        raise
    except Exception as problem:  # whatever hostile bytes lead to
        raise Malformed(f"{type(problem).__name__}: {problem}"[:200]) from None


class _Packing:
    """One message on its way out: values become JSON, arrays become buffers behind it."""

    def __init__(self, kept: list[Any] | None, most: int) -> None:
        self.buffers: list[bytes] = []
        self._most = most
        self._kept = kept
        self._offset = 0
        self._count = 0

    def value(self, value: Any, depth: int = 0) -> Any:
        self._count += 1
        if self._count > MOST_VALUES or depth > DEEPEST:
            raise Malformed("a value with too many parts, or nested too deeply")
        if value is None or type(value) in (bool, float):
            return value
        if type(value) is int:
            return value if value.bit_length() < MOST_BITS else {"other": "int"}
        if isinstance(value, str):
            return str(value)[:LONGEST_TEXT].encode("utf-8", "replace").decode()
        if isinstance(value, np.ndarray):
            return self._array(value)
        if isinstance(value, np.generic):
            return {"scalar": self._array(np.asarray(value))["array"]}
        if isinstance(value, (tuple, list)):
            tag = "tuple" if isinstance(value, tuple) else "list"
            return {tag: [self.value(item, depth + 1) for item in value]}
        if isinstance(value, dict) and all(isinstance(key, str) for key in value):
            pairs = [[self.value(part, depth + 1) for part in pair] for pair in value.items()]
            return {"dict": pairs}
        if isinstance(value, Stream):
            return {"stream": [self.value(item, depth + 1) for item in value.items]}
        if isinstance(value, Work):
            return {"work": [value.first, *value.then]}
        return self._special(value, depth)

    def _special(self, value: Any, depth: int) -> Any:
        if isinstance(value, np.dtype):
            return {"dtype": value.name}
        if isinstance(value, type) and issubclass(value, (np.number, np.bool_)):
            return {"type": value.__name__}
        if isinstance(value, decimal.Decimal):
            return {"Decimal": str(value)[:200]}
        if isinstance(value, fractions.Fraction):
            parts = int(value.numerator), int(value.denominator)
            return {"Fraction": [self.value(part, depth + 1) for part in parts]}
        if isinstance(value, (int, float)):  # of a type of its own
            return self.value(float(value) if isinstance(value, float) else int(value), depth + 1)
        torch = sys.modules.get("torch")
        if torch is not None and isinstance(value, torch.Tensor):
            return self._tensor(value, torch)
        if torch is not None and isinstance(value, torch.device):
            return {"device": str(value)}
        if self._kept is not None and callable(value):
            self._kept.append(value)
            name = str(getattr(value, "__name__", "function"))
            return {"function": [len(self._kept) - 1, name]}
        if self._kept is not None and isinstance(value, collections.abc.Iterator):
            self._kept.append(value)
            return {"iterator": len(self._kept) - 1}
        return {"other": type(value).__name__}

    def _array(self, array: np.ndarray) -> dict[str, Any]:
        array = np.asarray(array)
        order = "F" if array.flags.f_contiguous and not array.flags.c_contiguous else "C"
        shape = list(array.shape)
        if array.dtype.kind not in "biufcSU":
            return {"array": [None, array.dtype.kind, shape, "C"]}
        if array.nbytes > self._most:
            raise Malformed(f"an array of shape {array.shape}, {array.nbytes:,} bytes")
        data = np.ascontiguousarray(array.T if order == "F" else array).tobytes()
        return {"array": [self._buffer(data), array.dtype.str, shape, order]}

    def _tensor(self, tensor: Any, torch: Any) -> dict[str, Any]:
        name, shape = str(tensor.dtype).removeprefix("torch."), list(tensor.shape)
        if tensor.is_meta:
            return {"tensor": [None, name, shape]}
        flat = tensor.detach().cpu().contiguous().reshape(-1)
        return {"tensor": [self._buffer(flat.view(torch.uint8).numpy().tobytes()), name, shape]}

    def _buffer(self, data: bytes) -> list[int]:
        start, self._offset = self._offset, self._offset + len(data)
        if self._offset > self._most:
            raise Malformed(f"more than {self._most:,} bytes of numbers")
        self.buffers.append(data)
        return [start, len(data)]


class _Unpacking:
    """One message on its way in. Nothing in it is believed before it is looked at."""

    def __init__(self, buffers: memoryview, ask: Ask | None) -> None:
        self._buffers = buffers
        self._ask = ask
        self._count = 0
        self._bytes = len(buffers)  # none is read twice
        self._entries = MOST_ENTRIES

    def value(self, value: Any, depth: int = 0) -> Any:
        self._count += 1
        if self._count > MOST_VALUES or depth > DEEPEST:
            raise Malformed("a value with too many parts, or nested too deeply")
        if not isinstance(value, dict):
            if isinstance(value, list):
                raise Malformed("a list without its kind")
            return value
        ((tag, content),) = value.items()
        match tag:
            case "tuple" | "list" | "stream":
                items = [self.value(item, depth + 1) for item in content]
                return {"tuple": tuple, "list": list, "stream": Stream}[tag](items)
            case "dict":
                pairs = [[self.value(part, depth + 1) for part in pair] for pair in content]
                if not all(isinstance(key, str) for key, _ in pairs):
                    raise Malformed("a name that is no text")  # numbers could be made to collide
                return dict(pairs)
            case "array":
                return self._array(*content)
            case "scalar":
                return self._array(*content)[()]
            case "tensor":
                return self._tensor(*content)
            case "dtype":
                return _dtype(content)
            case "type":
                return _number_type(content)
            case "Decimal":
                return decimal.Decimal(content)
            case "Fraction":
                return fractions.Fraction(*(_bounded(part) for part in content))
            case "work":
                return Work(content[0], tuple(content[1:]))
            case "device" if "torch" in sys.modules:
                return sys.modules["torch"].device(content)
            case "function" if self._ask is not None:
                return _function(self._ask, *content)
            case "iterator" if self._ask is not None:
                return _items(self._ask, content)
            case "other" | "device":
                return _stranger(content if tag == "other" else tag)
        raise Malformed(f"a value of the unknown kind {str(tag)[:40]!r}")

    def _array(self, place: Any, dtype: str, shape: list[int], order: str) -> np.ndarray:
        lengths = tuple(map(int, shape))
        if any(length < 0 for length in lengths) or len(lengths) > 32:
            raise Malformed("an array of an impossible shape")
        if place is None:  # of Python objects, which do not cross
            return np.full(self._of_bounded_size(lengths), None, object)
        kind = _dtype(dtype)
        if kind.kind not in "biufcSU":
            raise Malformed(f"an array of dtype {kind}")
        flat = np.frombuffer(self._buffer(place), kind)
        return flat.copy().reshape(lengths, order="F" if order == "F" else "C")

    def _tensor(self, place: Any, name: str, shape: list[int]) -> Any:
        torch = sys.modules.get("torch")
        if torch is None:
            return _stranger("Tensor")
        dtype = vars(torch).get(name)
        if not isinstance(dtype, torch.dtype):
            raise Malformed("a tensor without a dtype")
        lengths = tuple(map(int, shape))
        if place is None:
            return torch.empty(self._of_bounded_size(lengths), dtype=dtype, device="meta")
        data = bytearray(self._buffer(place))
        if not data:
            return torch.empty(0, dtype=dtype).reshape(lengths)
        return torch.frombuffer(data, dtype=dtype).reshape(lengths).clone()

    def _buffer(self, place: list[int]) -> memoryview:
        start, length = map(int, place)
        if start < 0 or length < 0 or start + length > len(self._buffers):
            raise Malformed("numbers that lie outside the message")
        self._bytes -= length
        if self._bytes < 0:
            raise Malformed("numbers that are there once and are used several times")
        return self._buffers[start : start + length]

    def _of_bounded_size(self, lengths: tuple[int, ...]) -> tuple[int, ...]:
        """Pass the shape of an array whose numbers did not cross, if all of them fit in memory."""
        self._entries -= math.prod(lengths)
        if self._entries < 0:
            raise Malformed(f"an array of shape {lengths}")
        return lengths


def _dtype(name: Any) -> np.dtype:
    if not isinstance(name, str) or len(name) > LONGEST_DTYPE:
        raise Malformed("a dtype without a name")
    return np.dtype(name)


def _number_type(name: Any) -> type[np.generic]:
    kind = _dtype(name)
    if kind.kind not in "biufc":
        raise Malformed(f"the type {name!r}")
    return kind.type


def _bounded(number: Any) -> int:
    if type(number) is not int or number.bit_length() > MOST_BITS:
        raise Malformed("a part of a fraction that is no number, or a huge one")
    return number


def _function(ask: Ask, number: int, name: str) -> Callable[..., Any]:
    def function(*args: Any) -> Any:
        return ask(number, "call", args)

    function.__name__ = function.__qualname__ = str(name)
    return function


def _items(ask: Ask, number: int) -> collections.abc.Iterator[Any]:
    while True:
        found = ask(number, "next", ())
        if not found:
            return
        yield found[0]


def _stranger(name: Any) -> Any:
    """Make an object that stands for one that cannot cross: it has its type's name alone."""
    return type(re.sub(r"\W", "_", str(name))[:60] or "object", (), {})()


def error_by_value(error: BaseException) -> Message:
    """Describe an error so that `error_again` can make one like it, even if it resists."""
    names = [kind.__name__ for kind in type(error).__mro__[:8]]
    try:
        text = str(error)[:2000]
        plain = all(type(one) in (str, int, float) for one in error.args) and len(error.args) < 4
        args = [one[:2000] if type(one) is str else one for one in error.args] if plain else [text]
    except Exception:
        return {"names": names, "args": [], "text": ""}
    return {"names": names, "args": args, "text": text}


def error_again(message: Message) -> Exception:
    """Make an error like the one described: of the nearest built-in type, by the same name."""
    names, text = [str(name)[:80] for name in message["names"]], str(message["text"])[:2000]
    known = (getattr(builtins, name, None) for name in names)
    base = next((k for k in known if isinstance(k, type) and issubclass(k, Exception)), Exception)
    if base.__name__ == names[0]:
        try:
            error = base(*message["args"])
        except Exception:
            error = None
        if error is not None and str(error) == text:
            return error
    name = re.sub(r"\W", "_", names[0]) or "Error"
    kind = type(name, (base,), {"__init__": _keep_text, "__str__": lambda self: self.text})
    return kind(text)


def _keep_text(error: Any, text: str) -> None:
    Exception.__init__(error, text)
    error.text = text
