"""Look-ups and what they rest on: keys of calls, packed values, hashed values, slices of modules."""

import ast
import copy
import functools
import itertools

import numpy as np
import pytest

from attention_lib.checks.calls.case import Stream
from attention_lib.checks.calls.timeouts import OutOfTime
from attention_lib.edition import values
from attention_lib.edition.contents import Slices, WithheldError
from attention_lib.edition.keys import Undescribed, key_of, key_of_call
from attention_lib.edition.lookups import Lookup, NotRecorded, outcome_of, table_of
from attention_lib.edition.packing import Packer, Unpacker
from attention_lib.edition.recording import Tables
from attention_lib.edition.slicing import Module, names_in
from attention_lib.edition.values import hashed
from attention_lib.exercises.gradients.numerical_gradient import loss_with
from attention_lib.exercises.stability.largest_exponent import problem_with

ARRAY = np.array([[1.0, 2.0, 3.0], [4.0, np.nan, -np.inf]])


@pytest.mark.parametrize(
    "other",
    [
        ARRAY.T,
        ARRAY.astype(np.float32),
        ARRAY.ravel(),
        ARRAY + 1e-9,
        ARRAY.tolist(),
        (ARRAY,),
        None,
    ],
)
def test_other_arguments_have_another_key(other):
    assert key_of((ARRAY,)) != key_of((other,))


@pytest.mark.parametrize(
    "same", [np.asfortranarray(ARRAY), np.repeat(ARRAY, 2, 1)[:, ::2], ARRAY * (1 + 1e-15), +ARRAY]
)
def test_memory_and_last_bits_leave_the_key_as_it_is(same):
    assert key_of((ARRAY,)) == key_of((same,))


def test_functions_go_by_what_they_close_over():
    first, same, other = (loss_with(np.array([target])) for target in (1.0, 1.0, 2.0))
    assert key_of((first,)) == key_of((same,)) != key_of((other,))
    with pytest.raises(Undescribed, match="is not recorded"):
        key_of((lambda x: x,))


def test_function_of_a_notebook_goes_by_what_it_returns_for_the_next_argument():
    x = np.array([1.0, 2.0])
    keys = [key_of_call((function, x, 1e-5)) for function in (np.sum, lambda y: y[0] + y[1], max)]
    assert keys[0] == keys[1] != keys[2]
    assert keys[0] != key_of_call((np.sum, x, 1e-6))
    assert key_of_call((x, 1)) == key_of((x, 1))
    with pytest.raises(Undescribed):
        key_of_call((lambda: 0,))


def stored(tmp_path, content, packer):
    packer.write(tmp_path / "records.bin", content)
    return Unpacker(tmp_path / "records.bin")


@pytest.mark.parametrize(
    "value",
    [
        ARRAY.T,
        np.float32(0.1),
        np.array([True, False]),
        (1, [2.5, None], {"axis": -1}, "text"),
        np.dtype("float16"),
        np.float16,
        float("-inf"),
    ],
)
def test_unpacked_value_is_what_was_packed(tmp_path, value):
    packer = Packer()
    records = stored(tmp_path, packer.encoded(value), packer)
    again = records.decoded(records.content)
    assert type(again) is type(value)
    np.testing.assert_equal(again, value)
    assert getattr(again, "dtype", None) == getattr(value, "dtype", None)


@pytest.mark.parametrize("axes", list(itertools.permutations(range(3))))
def test_unpacked_array_lies_in_memory_as_a_copy_would(tmp_path, axes):
    array = np.arange(24.0).reshape(2, 3, 4).transpose(axes)
    packer = Packer()
    records = stored(tmp_path, packer.encoded(array), packer)
    again = records.decoded(records.content)
    np.testing.assert_equal(again, array)
    assert again.strides == copy.deepcopy(array).strides


def test_streams_and_functions_are_made_again(tmp_path):
    packer = Packer()
    values = (
        Stream([ARRAY]),
        loss_with(np.zeros(2)),
        functools.partial(problem_with, exact=2.0),
    )
    records = stored(tmp_path, packer.encoded(values), packer)
    stream, loss, verify = records.decoded(records.content)
    np.testing.assert_equal(next(iter(stream)), ARRAY)
    assert (loss(np.zeros(2)), loss.__name__) == (0.0, "loss_of_tanh")
    assert verify(2.0) is None
    assert "exp overflows above 2" in verify(3.0)


class OddError(ValueError):
    def __repr__(self):
        return "OddError(4)"


def test_look_up_returns_and_raises_what_was_recorded_and_nothing_else(tmp_path):
    tables = Tables()
    for argument, outcome in (
        (1, outcome_of(ARRAY)),
        (2, outcome_of(error=OddError("odd"))),
        (3, outcome_of(error=OutOfTime())),
        (4, outcome_of(lambda: 0)),  # nothing that can be recorded
    ):
        tables.add("function", key_of((argument,)), *outcome)
    records = stored(tmp_path, tables.content(), tables.packer)
    function = Lookup(records, table_of(records, "function"))
    np.testing.assert_equal(function(1), ARRAY)
    function(1)[:] = 0.0
    np.testing.assert_equal(function(1), ARRAY)
    with pytest.raises(ValueError, match=r"^odd$") as raised:
        function(2)
    assert (type(raised.value).__name__, repr(raised.value)) == ("OddError", "OddError(4)")
    with pytest.raises(OutOfTime):
        function(3)
    for argument in (4, 5, object()):
        with pytest.raises(NotRecorded):
            function(argument)


@pytest.fixture
def quick_hash(monkeypatch):
    monkeypatch.setitem(values.COST, "n", 2)


@pytest.mark.usefixtures("quick_hash")
def test_hashed_value_tells_what_is_near_and_holds_no_number():
    numbers, distance = np.array([0.0634, 0.4683, -2.0, 1e-5]), 6e-4
    value = hashed(numbers, distance, "salt")
    for by, off in ((0.0, False), (0.99, False), (-0.99, False), (1.01, True), (-1.01, True)):
        assert value.off(numbers + by * distance).tolist() == [off] * 4
    assert value.off(np.array([0.0634, np.inf, 1e300, 0.0])).tolist() == [False, True, True, False]
    assert not any(str(number)[:5] in repr(value) for number in numbers[:3])
    assert not value.sums_to_one
    assert hashed(np.array([0.25, 0.75]), distance, "salt").sums_to_one


@pytest.mark.usefixtures("quick_hash")
def test_value_with_one_hash_does_not_tell_which_number_is_near():
    value = hashed(np.array([0.25, 0.75]), 1e-3, "salt", jointly=True)
    assert value.off(np.array([0.2505, 0.7495])).tolist() == [False, False]
    assert value.off(np.array([0.25, 0.7])).tolist() == [True, True]


def test_names_of_a_function_are_those_it_takes_from_outside():
    (function,) = ast.parse(
        "def f(a, b: Hint = default):\n    c = a + outer\n    return [d(c) for d in b]"
    ).body
    assert names_in(function) == {"default", "outer"}


def test_function_that_is_in_no_list_stops_the_making():
    slices = Slices(["attention_lib.lessons.softmax"])
    slices.keep("attention_lib.exercises.parts.softmax", "plain_softmax")
    with pytest.raises(WithheldError, match=r"does not say .*parts\.softmax\.plain_softmax"):
        slices.texts()


def test_slice_has_what_a_probe_rests_on_and_no_body_of_a_withheld_function():
    slices = Slices(["attention_lib.lessons.attention", "attention_lib.lessons.stability"])
    slices.keep("attention_lib.exercises.flash.tiled_attention_backward", "with_saved")
    slices.keep("attention_lib.exercises.flash.tiled_attention_backward", "holds_the_matrix")
    text = slices.texts()["attention_lib.exercises.flash.tiled_attention_backward"]
    names = [node.name for node in ast.parse(text).body if isinstance(node, ast.FunctionDef)]
    assert sorted(names) == ["holds_the_matrix", "with_saved"]
    assert "return calls.call(with_saved, query, key, value)" in text
    assert "logsumexp(" not in text


def test_every_function_that_stays_or_is_looked_up_exists():
    from attention_lib.edition import contents

    for lists in (contents.STAYS, contents.LOOKED_UP):
        for module, names in lists.items():
            defined = Module(f"attention_lib.exercises.{module}").definitions
            assert set(names) <= defined.keys(), module
