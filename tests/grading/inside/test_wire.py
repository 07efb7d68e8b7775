"""Serializing messages between the grader and a student's process, and reading hostile bytes."""

import contextlib
import decimal
import fractions
import json
import signal
import socket
import threading

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from attention_lib.checks.calls.case import Stream
from attention_lib.grading import limits
from attention_lib.grading.inside.wire import (
    LENGTH,
    Channel,
    Closed,
    Malformed,
    error_again,
    error_by_value,
    pack,
    unpack,
)


def round_trip(value):
    return unpack(pack({"value": value}))["value"]


@pytest.mark.parametrize(
    "array",
    [
        np.arange(6.0).reshape(2, 3),
        np.arange(6, dtype=np.float32).reshape(3, 2).T,
        np.array([[np.nan, -np.inf]], np.float16),
        np.array(True),
        np.zeros((2, 0, 3), np.int64),
        np.array([1 + 2j]),
        np.array(["a", "bc"]),
        np.arange(10)[::-2],
    ],
)
def test_arrays_keep_dtype_shape_and_values(array):
    back = round_trip(array)
    assert (back.dtype, back.shape) == (array.dtype, array.shape)
    np.testing.assert_array_equal(back, array)
    assert back.flags.writeable
    if array.ndim > 1:
        assert back.flags.f_contiguous == array.flags.f_contiguous


@pytest.mark.parametrize(
    "value",
    [
        None,
        True,
        3,
        -2.5,
        float("inf"),
        "text",
        (1, [2.0, ("x",)]),
        {"key": np.float32(1.5), "3": None},
        np.float64(0.1),
        np.int32(7),
        np.float32,
        np.dtype("float16"),
        torch.device("cpu"),
    ],
)
def test_values_keep_their_types(value):
    back = round_trip(value)
    assert back == value
    assert type(back) is type(value)


@pytest.mark.parametrize(
    ("number", "sent"),
    [(fractions.Fraction(1, 3), 1 / 3), (decimal.Decimal("1.25"), 1.25), (signal.SIGHUP, 1)],
)
def test_numbers_of_other_types_are_sent_as_pythons_own(number, sent):
    back = round_trip(number)
    assert (back, type(back)) == (sent, type(sent))


def test_tensors_and_streams_are_serialized():
    tensor = torch.arange(6, dtype=torch.bfloat16).reshape(2, 3).mT
    assert torch.equal(round_trip(tensor), tensor)
    assert round_trip(torch.empty(2, 3, device="meta")).is_meta
    stream = round_trip(Stream([np.ones(2), np.zeros(2)]))
    assert [list(item) for item in stream] == [[1, 1], [0, 0]]


class Liar(np.ndarray):
    """An array that claims to equal everything."""

    def __eq__(self, other):
        return True


class Nameless:
    """An object that can only be described."""

    def __reduce__(self):
        raise AssertionError("nothing is pickled")


def test_other_objects_are_sent_as_the_names_of_their_types():
    assert type(round_trip(Nameless())).__name__ == "Nameless"
    assert type(round_trip(len)).__name__ == "builtin_function_or_method"
    assert type(round_trip(np.zeros(2).view(Liar))) is np.ndarray
    assert round_trip(np.array([Nameless(), None])).dtype == object


def test_functions_and_iterators_become_proxies():
    callbacks = []
    data = pack({"function": abs, "items": iter([np.ones(2), np.zeros(2)])}, callbacks)

    def call_back(number, what, arguments):
        if what == "call":
            return callbacks[number](*arguments)
        return [item] if (item := next(callbacks[number], None)) is not None else []

    message = unpack(data, call_back)
    assert message["function"](-3) == 3
    assert message["function"].__name__ == "abs"
    assert [list(item) for item in message["items"]] == [[1, 1], [0, 0]]


@given(st.binary(max_size=200))
def test_random_bytes_are_a_message_or_malformed(data):
    with contextlib.suppress(Malformed):
        assert isinstance(unpack(data), dict)


def crafted(value, buffers=b""):
    head = json.dumps({"value": value}).encode()
    return LENGTH.pack(len(head)) + head + buffers


@pytest.mark.parametrize(
    "value",
    [
        {"array": [[0, 8], "|O", [1], "C"]},
        {"array": [[0, 8], "<f8", [-1], "C"]},
        {"array": [[0, 800], "<f8", [100], "C"]},
        {"array": [[0, 8], "<f8", [2], "C"]},
        {"array": [None, "O", [10**9], "C"]},
        {"tensor": [None, "float32", [10**9]]},
        {"tensor": [[0, 0], "float32", [10**9]]},
        {"list": [{"array": [[0, 8], "<f8", [1], "C"]}] * 2},  # the same bytes twice
        {"list": [{"array": [None, "O", [10**6], "C"]}] * 2},
        {"list": [{"tensor": [None, "float32", [10**6]]}] * 2},
        {"dict": [[number * (2**61 - 1), 0] for number in range(9)]},  # all of the same hash
        {"dtype": "f8," * 1000},
        " " * (5 << 20),
        {"tensor": [[0, 4], "__class__", [1]]},
        {"type": "object"},
        {"unknown": 1},
        {"tuple": 1, "list": 2},
        {"function": [0, "name"]},
        [1, 2],
        {"tensor": [[0, 8], "qint8", [8]]},  # reading one reads memory that is not there
        {"tensor": [[0, 8], "quint4x2", [8]]},
        {"tensor": [None, "qint32", [2]]},
        {"tensor": [[0, 8], "bits16", [4]]},
        {"tensor": [[0, 8], "float4_e2m1fn_x2", [8]]},
        {"tensor": [[0, 8], "complex32", [2]]},
        {"tensor": [[0, 8], "float32", [-1]]},
        {"tensor": [[0, 8], "float32", [1] * 100 + [2]]},
        {"tensor": [[0, 0], "float32", [0, 2**62]]},
        {"array": [[0, 8], "<M8[D]", [1], "C"]},
        {"array": [[0, 8], "(2,)f4", [1], "C"]},
        {"array": [[0, 8], "V8", [1], "C"]},
        {"array": [[0, 8], "f4,f4", [1], "C"]},
        {"array": [[0, 8], "<f8", [1.0], "C"]},
        {"array": [[0, 0], "<f8", [0, 2**40], "C"]},
        {"dtype": "f8,i4"},
        {"dtype": "O"},
        {"type": "datetime64"},
        {"stream": [5]},
        {"list": ["x" * 100_000] + [""] * 1_000},  # 400 MB, if NumPy makes an array of it
        {"list": [{"list": ["x" * 100_000]}, {"tuple": [""] * 1_000}]},
        {"list": [{"array": [[0, 8], "<U2", [1], "C"]}, "x" * 1_000_000] + [""] * 100},
        json.loads("[" * 500 + "]" * 500),
        {"list": [0] * 30_000},
    ],
)
def test_crafted_messages_are_malformed(value):
    with pytest.raises(Malformed):
        unpack(crafted(value, bytes(8)))


def test_arrays_of_many_and_of_long_texts_are_malformed():
    texts = [np.array(["x" * 100_000]), *[np.array(["x"])] * 1_000]
    with pytest.raises(Malformed, match="too long for their number"):
        unpack(pack({"value": texts}))
    with pytest.raises(Malformed, match="too long for their number"):
        unpack(pack({"value": [np.zeros(1_000, "S1"), "x" * 100_000]}))
    assert unpack(pack({"value": ["x" * 100_000, ""]}))["value"] == ["x" * 100_000, ""]


@pytest.mark.parametrize("code", [0x110000, 0xD800, 0xFFFFFFFF])
def test_text_of_what_are_no_characters_is_malformed(code):
    data = np.array([code], np.uint32).tobytes()
    with pytest.raises(Malformed, match="invalid code points"):
        unpack(crafted({"array": [[0, 4], "<U1", [1], "C"]}, data))


def test_halves_of_characters_are_replaced():
    head = rb'{"value": {"list": ["a\ud800", {"other": "\udfff"}]}}'
    text, other = unpack(LENGTH.pack(len(head)) + head)["value"]
    assert text == "a?"
    assert type(other).__name__ == "_"


def test_bytes_that_are_no_numbers_of_their_dtype_become_some():
    data = bytes([0, 1, 2, 255])
    flags = unpack(crafted({"array": [[0, 4], "|b1", [4], "C"]}, data))["value"]
    assert flags.view(np.uint8).tolist() == [0, 1, 1, 1]
    flags = unpack(crafted({"tensor": [[0, 4], "bool", [4]]}, data))["value"]
    assert flags.view(torch.uint8).tolist() == [0, 1, 1, 1]
    size = np.dtype(np.longdouble).itemsize
    odd = bytes([1, 0, 0, 0, 0, 0, 0, 0, 255, 63]).ljust(16, b"\0")[:size]
    name = np.dtype(np.longdouble).str
    number = unpack(crafted({"array": [[0, size], name, [1], "C"]}, odd))["value"][0]
    assert np.isnan(number) or np.dtype(np.longdouble).itemsize == 8 or abs(number) < 10


@pytest.mark.filterwarnings("ignore")  # that quantized and nested tensors may change
@pytest.mark.parametrize(
    "make",
    [
        lambda: torch.quantize_per_tensor(torch.ones(2), 0.1, 0, torch.qint8),
        lambda: torch.eye(2).to_sparse(),
        lambda: torch.nested.nested_tensor([torch.ones(2), torch.ones(3)]),
        lambda: torch.ones(2).to(torch.float8_e5m2),
    ],
    ids=["quantized", "sparse", "nested", "float8"],
)
def test_tensors_of_other_kinds_cannot_be_sent(make):
    with pytest.raises(Malformed, match="a tensor of the kind"):
        pack({"value": make()})


def test_views_of_tensors_are_sent_as_plain_numbers():
    conjugate = torch.tensor([1 + 2j, 3j]).conj()
    assert torch.equal(round_trip(conjugate), conjugate.resolve_conj())
    negative = torch.tensor([1 + 2j, 3j]).conj().imag
    assert torch.equal(round_trip(negative), negative.resolve_neg())
    assert torch.equal(round_trip(torch.ones(3, 1).expand(3, 4)), torch.ones(3, 4))


class Fails:
    """An object whose methods raise errors."""

    @property
    def __class__(self):
        raise RuntimeError("no class today")


def test_object_whose_methods_fail_cannot_be_sent():
    with pytest.raises(Malformed, match="no class today"):
        pack({"value": Fails()})


def test_deep_json_and_huge_numbers_are_malformed():
    for head in (b'{"a":' + b"[" * 100_000, b'{"a":' + b"9" * 10_000 + b"}"):
        with pytest.raises(Malformed):
            unpack(LENGTH.pack(len(head)) + head)


def test_too_many_numbers_are_refused():
    with pytest.raises(Malformed):
        pack({"value": np.zeros(limits.MESSAGE_BYTES // 8)})


def test_incomplete_message_times_out():
    receiver, sender = socket.socketpair()
    with receiver, sender:
        sender.sendall(LENGTH.pack(100) + b"only a part")
        with pytest.raises(TimeoutError):
            Channel(receiver).receive(0.05)
        sender.sendall(LENGTH.pack(limits.MESSAGE_BYTES + 1))


def test_message_with_a_huge_length_is_refused_at_once():
    receiver, sender = socket.socketpair()
    with receiver, sender:
        sender.sendall(LENGTH.pack(limits.MESSAGE_BYTES + 1))
        with pytest.raises(Malformed):
            Channel(receiver).receive(5)


def test_closed_connection_raises_closed():
    receiver, sender = socket.socketpair()
    with receiver:
        sender.close()
        with pytest.raises(Closed):
            Channel(receiver).receive(5)


def test_large_message_is_received_completely():
    receiver, sender = socket.socketpair()
    big = np.arange(500_000.0)
    with receiver, sender:
        thread = threading.Thread(target=Channel(sender).send, args=({"value": big}, 5))
        thread.start()
        np.testing.assert_array_equal(Channel(receiver).receive(5)["value"], big)
        thread.join()


class Particular(ValueError):
    """An error of a student's own type."""


@pytest.mark.parametrize(
    ("error", "base"),
    [
        (ValueError("too hot"), ValueError),
        (KeyError("there is none"), KeyError),
        (OSError(2, "no such file"), OSError),
        (Particular("odd"), ValueError),
        (np.linalg.LinAlgError("singular"), ValueError),
        (UnicodeDecodeError("utf-8", b"\xff", 0, 1, "bad"), UnicodeDecodeError),
    ],
)
def test_errors_become_their_nearest_builtin_type(error, base):
    back = error_again(error_by_value(error))
    assert isinstance(back, base)
    assert str(back) == str(error)
    assert type(back).__name__ == type(error).__name__


def test_errors_that_would_end_a_process_become_exceptions():
    for error in (SystemExit(1), KeyboardInterrupt(), GeneratorExit()):
        back = error_again(error_by_value(error))
        assert isinstance(back, Exception)
        assert type(back).__name__ == type(error).__name__


def test_text_of_an_error_is_cut():
    assert len(str(error_again({"names": ["E"], "args": [], "text": "x" * 10_000}))) == 2000
