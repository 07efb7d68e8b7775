"""Patches say which text they replace, define the patched function and compose with others."""

import inspect
import linecache
import traceback

import numpy as np
import pytest

from attention_lib.checks.exercise import known_mistakes
from attention_lib.checks.patch import Patch, patches

OFFSET = 10.0


def plain(numbers, axis=-1):
    shift = numbers.max(axis=axis, keepdims=True)
    exponentials = np.exp(numbers - shift)
    result = np.sum(exponentials, axis=axis)
    return result


def _patch(written):
    (patch,) = patches(plain, written, "some-id")
    return patch


def test_patch_defines_the_changed_function():
    patch = _patch("np.sum => np.max && return result => return result + OFFSET")
    assert patch(np.array([1.0, 2.0])) == 11.0
    assert plain(np.array([2.0, 2.0])) == 2.0
    assert patch.text == (
        inspect.getsource(plain)
        .replace("np.sum", "np.max")
        .replace("return result", "return result + OFFSET")
    )


def test_new_text_may_be_empty_or_have_several_lines():
    assert _patch(" - shift => ")(np.zeros(2)) == 2.0
    assert _patch("    return result\n =>")(np.zeros(2)) is None
    doubled = _patch("axis=-1):\n => axis=-1):\n    numbers = 2 * numbers\n")
    assert doubled(np.array([0.0, 5.0])) == plain(np.array([0.0, 10.0]))


def test_patch_may_use_functions_of_the_library():
    assert (
        _patch("return result => return softmax(np.array([result, math.nan]))[0]")(np.zeros(2)) != 0
    )


def test_first_line_of_an_answer_can_be_patched():
    assert _patch("plain(numbers, axis=-1) => plain(numbers, axis=0)")(np.zeros((2, 3))).shape == (
        3,
    )


def test_choices_make_a_patch_each():
    found = [one.replacements for one in patches(plain, "np.sum => np.{max|min} + {1|2}")]
    assert [new for ((_, new),) in found] == [
        "np.max + 1",
        "np.max + 2",
        "np.min + 1",
        "np.min + 2",
    ]


def test_same_choices_in_several_places_are_one_choice():
    found = [one.replacements for one in patches(plain, "sum => {max|min} && exp => {max|min}")]
    assert found == [(("sum", "max"), ("exp", "max")), (("sum", "min"), ("exp", "min"))]


def test_operators_and_braces_of_python_are_no_choices():
    (patch,) = patches(plain, "np.exp(numbers - shift) => {1 | 2} | {f'{axis}' & 3}")
    assert patch.replacements[0][1] == "{1 | 2} | {f'{axis}' & 3}"


def test_patches_compose_where_their_places_differ():
    both = _patch("np.sum => np.max").with_(_patch("return result => return -result"))
    assert both(np.array([1.0, 2.0])) == -1.0
    assert _patch("np.sum => np.max").with_(_patch("np.sum(expo => np.min(expo")) is None
    assert _patch("np.sum => np.max").with_(_patch(".sum => .mean")) is None
    assert both.with_(_patch("return => yield")) is None


def test_patches_of_other_answers_do_not_compose():
    def other(numbers):
        return numbers + 1

    (patch,) = patches(other, "+ 1 => + 2")
    assert patch.with_(_patch("np.sum => np.max")) is None


def test_patch_is_shown_by_its_mistake_alone():
    assert repr(_patch("np.sum => np.max")) == "<Patch some-id>"


def test_traceback_shows_the_line_of_a_patch():
    with pytest.raises(TypeError) as caught:
        _patch("np.sum(exponentials, axis=axis) => len(3)")(np.zeros(2))
    assert "    result = len(3)\n" in traceback.format_tb(caught.value.__traceback__)[-1]


def test_source_that_an_edition_packs_is_read_and_not_shown(monkeypatch):
    class Loader:
        def packed_source(self, file):
            return "x = 1\n\n\ndef hidden(x):\n    return x + 1\n"

    class Module:
        __loader__ = Loader()

    names = {"__name__": "packed_module"}
    exec(compile(Loader().packed_source(""), "packed.py", "exec"), names)
    monkeypatch.setitem(__import__("sys").modules, "packed_module", Module())
    (patch,) = patches(names["hidden"], "+ 1 => - 1")
    assert patch(3) == 2
    assert patch.function.__code__.co_filename not in linecache.cache


@pytest.mark.parametrize(
    ("written", "said"),
    [
        ("np.prod => np.sum", "'np.prod', which occurs 0 times in plain"),
        ("axis=axis => axis=0", "'axis=axis', which occurs 2 times in plain"),
        ("np.sum => np..sum", "makes no function: invalid syntax"),
        ("axis=-1 => axis=unknown", "makes no function: name 'unknown' is not defined"),
    ],
)
def test_patch_that_does_not_fit_is_named_with_its_file_and_mistake(written, said):
    with pytest.raises(ValueError, match=rf"checks/test_patch.py: some-id .*{said}"):
        _ = _patch(written).function


@pytest.mark.parametrize(
    ("written", "said"),
    [
        ("np.sum => np.{max|min", "write choices as"),
        ("np.sum => np.max|np.min", "write choices as"),
        ("np.sum => np.{max|max}", "write choices as"),
        ("np.sum => np.{max|}", "write choices as"),
        ("np.sum => np.{max|{min|sum}}", "write choices as"),
        ("np.sum -> np.max", "write each replacement as 'old => new'"),
        ("np.sum => np.max => np.min", "write each replacement as 'old => new'"),
        ("np.sum => np.max && axis", "write each replacement as 'old => new'"),
        (" => np.max", "write each replacement as 'old => new'"),
    ],
)
def test_text_that_writes_no_patch_is_refused(written, said):
    with pytest.raises(ValueError, match=f"checks/test_patch.py: some-id, in .*{said}"):
        _patch(written)


def test_table_of_mistakes_begins_with_the_plain_answer():
    one, two = known_mistakes(
        plain,
        "one: The first.",
        "np.sum => np.{max|min}",
        len,
        "two: The second.",
        *patches(plain, "np.exp => np.exp2"),
    )
    assert [one.id, two.id] == ["one", "two"]
    assert [type(variant) for variant in one.variants] == [Patch, Patch, type(len)]
    assert {variant.mistake for variant in (*one.variants[:2], *two.variants)} == {"one", "two"}
