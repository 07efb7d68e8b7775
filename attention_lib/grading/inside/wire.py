"""Serialize messages between the grader and a student's process: no pickle, bounded sizes.

A message is a dict from names to values. It is sent as JSON followed by the bytes of arrays, so
reading it runs no code. Arrays and tensors are made from contiguous bytes, a shape, and a dtype
from an allow-list. Functions and iterators that the grader passes stay in the grader's process. The
student's process gets proxies, which call them back.
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
from attention_lib.grading import limits

# Commands to the supervisor of a student's process. It replies to CPU_SECONDS, packed by SECONDS.
INTERRUPT = b"i"
CPU_SECONDS = b"c"
SECONDS = struct.Struct("d")
LENGTH = struct.Struct(">I")
# The allow-list of dtypes in both byte orders, by `dtype.str`.
NUMBERS = {
    dtype.str: dtype
    for code in "?bhilqBHILQefdgFDG"
    for dtype in (np.dtype(code), np.dtype(code).newbyteorder())
}
NUMBER_NAMES = {dtype.name: dtype for dtype in NUMBERS.values() if dtype.isnative}
BYTES_OF_A_CHARACTER = np.dtype("U1").itemsize
TEXT = re.compile(r"[<>|=][US][1-9][0-9]{0,5}")  # dtypes of str and bytes
# The allow-list of tensors' dtypes. Quantized dtypes are excluded: they hold pointers and scales.
TENSORS = {"bool", "uint8", "int8", "int16", "int32", "int64", "bfloat16"} | {
    *("float16", "float32", "float64", "complex64", "complex128")
}
DEVICE = re.compile(r"(cpu|cuda|mps|meta)(:[0-9]{1,2})?")

Message = dict[str, Any]
# Call a function or iterator in the grader's process: its number, "call" or "next", the arguments.
CallBack = Callable[[int, str, tuple[Any, ...]], Any]


class Malformed(ValueError):
    """A message that cannot be parsed, or a value that cannot be serialized."""


class Closed(ConnectionError):
    """The other process has closed the connection."""


class Channel:
    """Send and receive messages over a socket, each within a time limit."""

    def __init__(self, connection: socket.socket) -> None:
        self._socket = connection

    def send(
        self, message: Message, seconds: float | None, callbacks: list[Any] | None = None
    ) -> None:
        """Send a message; functions and iterators in it are appended to `callbacks`."""
        data = pack(message, callbacks)
        self._socket.settimeout(seconds)
        try:
            self._socket.sendall(LENGTH.pack(len(data)) + data)
        except TimeoutError:
            raise
        except OSError:
            raise Closed from None

    def receive(self, seconds: float | None, call_back: CallBack | None = None) -> Message:
        """Wait for a message; raise TimeoutError, Closed, or Malformed."""
        until = None if seconds is None else time.monotonic() + seconds
        (length,) = LENGTH.unpack(self._read(LENGTH.size, until))
        if length > limits.MESSAGE_BYTES:
            raise Malformed(f"a message of {length:,} bytes; {limits.MESSAGE_BYTES:,} are allowed")
        return unpack(self._read(length, until), call_back)

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


def pack(
    message: Message, callbacks: list[Any] | None = None, most_bytes: int | None = None
) -> bytes:
    """Serialize a message, or raise Malformed.

    Its arrays may have `most_bytes` together, by default half of MESSAGE_BYTES. Functions and
    iterators are appended to `callbacks`. Without that list, only the names of their types are
    sent.
    """
    packing = _Packing(callbacks, most_bytes or limits.MESSAGE_BYTES // 2)
    try:
        head = json.dumps({key: packing.value(value) for key, value in message.items()}).encode()
    except Malformed:
        raise
    except Exception as problem:  # a student's object may raise anything
        raise Malformed(f"{type(problem).__name__}: {problem}"[:200]) from None
    return b"".join([LENGTH.pack(len(head)), head, *packing.buffers])


def unpack(data: bytes | bytearray, call_back: CallBack | None = None) -> Message:
    """Deserialize a message, or raise Malformed."""
    try:
        (length,) = LENGTH.unpack_from(data)
        if length > limits.MESSAGE_JSON_BYTES:
            raise Malformed(f"{length:,} bytes of JSON; {limits.MESSAGE_JSON_BYTES:,} are allowed")
        end = LENGTH.size + length
        head = json.loads(bytes(data[LENGTH.size : end]).decode())
        unpacking = _Unpacking(memoryview(data)[end:], call_back)
        message = {_text(key): unpacking.value(value) for key, value in head.items()}
        unpacking.require_small_texts()
        return message
    except Malformed:
        raise
    except Exception as problem:  # hostile bytes may raise anything
        raise Malformed(f"{type(problem).__name__}: {problem}"[:200]) from None


class _Packing:
    """Serializer of one message: values become JSON, arrays become buffers."""

    def __init__(self, callbacks: list[Any] | None, most_bytes: int) -> None:
        self.buffers: list[bytes] = []
        self._most_bytes = most_bytes
        self._callbacks = callbacks
        self._offset = 0
        self._count = 0

    def value(self, value: Any, depth: int = 0) -> Any:
        self._count += 1
        if self._count > limits.MESSAGE_VALUES or depth > limits.MESSAGE_DEPTH:
            raise Malformed("a value with too many parts, or nested too deeply")
        if value is None or type(value) in (bool, float):
            return value
        if type(value) is int:
            return value if value.bit_length() < limits.INTEGER_BITS else {"other": "int"}
        if isinstance(value, str):
            return _text(str(value)[: limits.STRING_CHARACTERS])
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
        return self._special(value, depth)

    def _special(self, value: Any, depth: int) -> Any:
        if isinstance(value, np.dtype) and value.name in NUMBER_NAMES:
            return {"dtype": value.name}
        if isinstance(value, type) and issubclass(value, (np.number, np.bool_)):
            return {"type": value.__name__}
        if isinstance(value, (float, decimal.Decimal, fractions.Fraction)):  # float: of a subclass
            return self.value(float(value), depth + 1)
        if isinstance(value, int):
            return self.value(int(value), depth + 1)
        torch = sys.modules.get("torch")
        if torch is not None and isinstance(value, torch.Tensor):
            return self._tensor(value, torch)
        if torch is not None and isinstance(value, torch.device):
            return {"device": str(value)}
        if self._callbacks is not None and callable(value):
            self._callbacks.append(value)
            name = str(getattr(value, "__name__", "function"))
            return {"function": [len(self._callbacks) - 1, name]}
        if self._callbacks is not None and isinstance(value, collections.abc.Iterator):
            self._callbacks.append(value)
            return {"iterator": len(self._callbacks) - 1}
        return {"other": type(value).__name__}

    def _array(self, array: np.ndarray) -> dict[str, Any]:
        array = np.asarray(array)
        order = "F" if array.flags.f_contiguous and not array.flags.c_contiguous else "C"
        shape = list(array.shape)
        if array.dtype.str not in NUMBERS and array.dtype.kind not in "SU":
            return {"array": [None, array.dtype.kind, shape, "C"]}
        if array.nbytes > self._most_bytes:
            raise Malformed(f"an array of shape {array.shape}, {array.nbytes:,} bytes")
        data = np.ascontiguousarray(array.T if order == "F" else array).tobytes()
        return {"array": [self._buffer(data), array.dtype.str, shape, order]}

    def _tensor(self, tensor: Any, torch: Any) -> dict[str, Any]:
        name = str(tensor.dtype).removeprefix("torch.")
        if name not in TENSORS:
            raise Malformed(f"a tensor of the kind {name}")
        if tensor.is_nested or tensor.layout != torch.strided:
            layout = "nested" if tensor.is_nested else str(tensor.layout).removeprefix("torch.")
            raise Malformed(f"a tensor of the kind {layout}")
        shape = list(tensor.shape)
        if tensor.is_meta:
            return {"tensor": [None, name, shape]}
        plain = tensor.detach().resolve_conj().resolve_neg()
        flat = plain.cpu().contiguous().reshape(-1)
        return {"tensor": [self._buffer(flat.view(torch.uint8).numpy().tobytes()), name, shape]}

    def _buffer(self, data: bytes) -> list[int]:
        start, self._offset = self._offset, self._offset + len(data)
        if self._offset > self._most_bytes:
            raise Malformed(f"more than {self._most_bytes:,} bytes of numbers")
        self.buffers.append(data)
        return [start, len(data)]


class _Unpacking:
    """Deserializer of one message. It is untrusted, so each part is validated before it is used."""

    def __init__(self, buffers: memoryview, call_back: CallBack | None) -> None:
        self._buffers = buffers
        self._call_back = call_back
        self._count = 0
        self._bytes_left = len(buffers)  # no byte is used twice
        self._entries_left = 1_000_000  # of arrays that are sent without their numbers
        self._texts = 0  # the number of texts in arrays
        self._longest = 0  # bytes that NumPy would need for the longest text

    def require_small_texts(self) -> None:
        """Raise Malformed if one array of all values would be too large.

        NumPy gives every entry of an array the length of the longest text.
        """
        if self._longest * (self._count + self._texts) > 256 * limits.MIB:
            raise Malformed("texts that are too long for their number")

    def value(self, value: Any, depth: int = 0) -> Any:
        self._count += 1
        if self._count > limits.MESSAGE_VALUES or depth > limits.MESSAGE_DEPTH:
            raise Malformed("a value with too many parts, or nested too deeply")
        if not isinstance(value, dict):
            if isinstance(value, list):
                raise Malformed("a list without its kind")
            if isinstance(value, str):
                self._longest = max(self._longest, BYTES_OF_A_CHARACTER * len(value))
                return _text(value)
            return value
        ((tag, content),) = value.items()
        match tag:
            case "tuple" | "list" | "stream":
                items = [self.value(item, depth + 1) for item in content]
                if tag == "stream" and not all(isinstance(item, np.ndarray) for item in items):
                    raise Malformed("a stream of something other than arrays")
                return {"tuple": tuple, "list": list, "stream": Stream}[tag](items)
            case "dict":
                pairs = [[self.value(part, depth + 1) for part in pair] for pair in content]
                if not all(isinstance(key, str) for key, _ in pairs):
                    raise Malformed("a key that is not a string")  # integers can collide on purpose
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
                return _dtype(content).type
            case "device" if "torch" in sys.modules and DEVICE.fullmatch(content):
                return sys.modules["torch"].device(content)
            case "function" if self._call_back is not None:
                return _function(self._call_back, *content)
            case "iterator" if self._call_back is not None:
                return _iterator(self._call_back, content)
            case "other" | "device":
                return _placeholder(content if tag == "other" else tag)
        raise Malformed(f"a value of the unknown kind {str(tag)[:40]!r}")

    def _array(self, span: Any, name: str, shape: list[int], order: str) -> np.ndarray:
        lengths = _shape(shape)
        if span is None:  # an array of Python objects, which are not sent
            return np.full(self._bounded_shape(lengths), None, object)
        dtype = NUMBERS.get(name)
        if dtype is not None:
            flat = _numbers(self._buffer(span), dtype)
        elif isinstance(name, str) and TEXT.fullmatch(name):
            flat = _texts(self._buffer(span), np.dtype(name))
            self._texts += flat.size
            self._longest = max(self._longest, flat.itemsize)
        else:
            raise Malformed(f"an array of the dtype {str(name)[:30]!r}")
        return flat.reshape(lengths, order="F" if order == "F" else "C")

    def _tensor(self, span: Any, name: str, shape: list[int]) -> Any:
        torch = sys.modules.get("torch")
        if torch is None:
            return _placeholder("Tensor")
        if name not in TENSORS:
            raise Malformed(f"a tensor of the dtype {str(name)[:30]!r}")
        dtype, lengths = getattr(torch, name), _shape(shape)
        if span is None:
            return torch.empty(self._bounded_shape(lengths), dtype=dtype, device="meta")
        data = bytearray(self._buffer(span))
        if not data:
            return torch.empty(0, dtype=dtype).reshape(lengths)
        if name == "bool":  # any byte other than 0 or 1 is undefined behavior
            return (torch.frombuffer(data, dtype=torch.uint8) != 0).reshape(lengths)
        return torch.frombuffer(data, dtype=dtype).reshape(lengths).clone()

    def _buffer(self, span: list[int]) -> memoryview:
        start, length = map(int, span)
        if start < 0 or length < 0 or start + length > len(self._buffers):
            raise Malformed("an array that lies outside the message")
        self._bytes_left -= length
        if self._bytes_left < 0:
            raise Malformed("arrays that overlap")
        return self._buffers[start : start + length]

    def _bounded_shape(self, lengths: tuple[int, ...]) -> tuple[int, ...]:
        """Return the shape of an array sent without its numbers; limit the entries of all of them."""
        self._entries_left -= math.prod(lengths)
        if self._entries_left < 0:
            raise Malformed(f"an array of shape {lengths}")
        return lengths


def _text(text: str) -> str:
    """Replace lone surrogates, which UTF-8 cannot encode."""
    return text.encode("utf-8", "replace").decode()


def _shape(shape: Any) -> tuple[int, ...]:
    """Validate a shape: the product of its lengths is limited, even if one of them is zero."""
    if not all(type(length) is int and length >= 0 for length in shape):
        raise Malformed("an array with a length that is negative or not an integer")
    if len(shape) > 32 or math.prod(filter(None, shape)) >= 1 << 31:
        raise Malformed("an array of an impossible shape")
    return tuple(shape)


def _numbers(data: memoryview, dtype: np.dtype) -> np.ndarray:
    """Copy bytes into an array whose entries are valid numbers of the dtype for any bytes."""
    if dtype.kind == "b":  # any byte other than 0 or 1 is undefined behavior
        return np.frombuffer(data, np.uint8) != 0
    flat = np.frombuffer(data, dtype).copy()
    if dtype.char in "gG":  # some 80-bit patterns are invalid; arithmetic makes them NaN
        with np.errstate(all="ignore"):
            flat = (flat + 0).astype(dtype)
    return flat


def _texts(data: memoryview, dtype: np.dtype) -> np.ndarray:
    """Copy bytes into an array of str or bytes; raise Malformed for invalid code points."""
    if dtype.kind == "U":
        codes = np.frombuffer(data, np.dtype(np.uint32).newbyteorder(dtype.byteorder))
        if ((codes > sys.maxunicode) | ((codes >= 0xD800) & (codes < 0xE000))).any():
            raise Malformed("text with invalid code points")
    return np.frombuffer(data, dtype).copy()


def _dtype(name: Any) -> np.dtype:
    dtype = NUMBER_NAMES.get(name)
    if dtype is None:
        raise Malformed(f"the dtype {str(name)[:30]!r}")
    return dtype


def _function(call_back: CallBack, number: int, name: str) -> Callable[..., Any]:
    def function(*args: Any) -> Any:
        return call_back(number, "call", args)

    function.__name__ = function.__qualname__ = str(name)
    return function


def _iterator(call_back: CallBack, number: int) -> collections.abc.Iterator[Any]:
    while True:
        items = call_back(number, "next", ())
        if not items:
            return
        yield items[0]


def _placeholder(name: Any) -> Any:
    """Return an object for one that cannot be sent, with the name of its type."""
    return type(re.sub(r"\W", "_", str(name))[:60] or "object", (), {})()


def error_by_value(error: BaseException) -> Message:
    """Serialize an error for `error_again`, even if its own methods raise."""
    most = limits.ERROR_CHARACTERS
    names = [kind.__name__ for kind in type(error).__mro__[:8]]
    try:
        text = str(error)[:most]
        plain = all(type(one) in (str, int, float) for one in error.args) and len(error.args) < 4
        args = [one[:most] if type(one) is str else one for one in error.args] if plain else [text]
    except Exception:
        return {"names": names, "args": [], "text": ""}
    return {"names": names, "args": args, "text": text}


def error_again(message: Message) -> Exception:
    """Rebuild a serialized error: a subclass of its nearest built-in type, with its own name."""
    names = [str(name)[:80] for name in message["names"]]
    text = str(message["text"])[: limits.ERROR_CHARACTERS]
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
    kind = type(name, (base,), {"__init__": _init_with_text, "__str__": lambda self: self.text})
    return kind(text)


def _init_with_text(error: Any, text: str) -> None:
    Exception.__init__(error, text)
    error.text = text
