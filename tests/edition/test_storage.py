"""Functions of a notebook come back in another process of the same Python."""

import sys

import numpy as np
import pytest

from attention_lib.edition import calls, storage
from attention_lib.record import RELEASES

# As in a notebook, whose functions no other process can import.
CELL = """
import numpy as np

HALF = np.float64(0.5)

def halved(numbers):
    return numbers * HALF

def mean_of_two(left, right, depth=1):
    return mean_of_two(left, right, depth - 1) if depth else halved(left) + halved(right)
"""


def cell(code, **values):
    names = {"__name__": "__main__", **values}
    exec(code, names)
    return names


@pytest.fixture
def function():
    return cell(CELL)["mean_of_two"]


def test_function_comes_back_with_its_helpers_imports_and_data(tmp_path, function):
    storage.store(tmp_path, "mean", function)
    loaded = storage.load(tmp_path, "mean")
    assert loaded is not function
    assert np.array_equal(loaded(np.array([1.0, 3.0]), 5.0), [3.0, 4.0])


def test_function_that_names_a_module_without_a_copy_comes_back(tmp_path):
    code = "import torch\ndef on_mac(): return torch.backends.mps.is_available()"
    storage.store(tmp_path, "on_mac", cell(code)["on_mac"])
    assert storage.load(tmp_path, "on_mac")() is False


def test_newer_function_takes_the_place_of_the_older_and_leaves_one_file(tmp_path, function):
    storage.store(tmp_path, "mean", function)
    storage.store(tmp_path, "mean", cell("def newer():\n    return 2")["newer"])
    assert storage.load(tmp_path, "mean")() == 2
    assert len([*(tmp_path / storage.FOLDER).iterdir()]) == 1


@pytest.mark.parametrize(
    ("code", "reason"),
    [
        ("data = np.zeros(1 << 18)\ndef f():\n    return data", "it uses more than 1 MB of data"),
        ("data = 'x' * (1 << 21)\ndef f():\n    return data", "it uses more than 1 MB of data"),
        ("data = (n for n in [])\ndef f():\n    return data", "generator"),
    ],
)
def test_function_that_cannot_be_stored_leaves_the_older_one(tmp_path, function, code, reason):
    storage.store(tmp_path, "mean", function)
    with pytest.raises(storage.NotStored, match=reason):
        storage.store(tmp_path, "mean", cell(code, np=np)["f"])
    assert storage.load(tmp_path, "mean")(1.0, 3.0) == 2.0
    assert len([*(tmp_path / storage.FOLDER).iterdir()]) == 1


@pytest.mark.parametrize("length", [0, 10, 40, -1])
def test_damaged_file_counts_as_none(tmp_path, function, length):
    storage.store(tmp_path, "mean", function)
    (file,) = (tmp_path / storage.FOLDER).iterdir()
    file.write_bytes(file.read_bytes()[:length])
    assert storage.load(tmp_path, "mean") is None


def test_function_of_another_python_counts_as_none(tmp_path, function, monkeypatch):
    storage.store(tmp_path, "mean", function)
    monkeypatch.setattr(sys.implementation, "cache_tag", "cpython-399")
    assert storage.load(tmp_path, "mean") is None


def test_function_that_uses_a_missing_module_counts_as_none(tmp_path, monkeypatch):
    (tmp_path / "passing_module.py").write_text("number = 1")
    monkeypatch.syspath_prepend(tmp_path)
    code = "import passing_module\ndef f():\n    return passing_module.number"
    storage.store(tmp_path, "f", cell(code)["f"])
    (tmp_path / "passing_module.py").unlink()
    monkeypatch.delitem(sys.modules, "passing_module")
    assert storage.load(tmp_path, "f") is None


def test_function_that_is_not_stored_is_the_own_one_until_the_kernel_stops(tmp_path, monkeypatch):
    (tmp_path / RELEASES).write_text("{}")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(calls, "own", {})
    function = cell("data = np.zeros(1 << 18)\ndef f():\n    return data", np=np)["f"]
    assert calls.remember("f", function) == (
        "lib.f is your own function until this kernel stops; it could not be stored for other "
        "notebooks (it uses more than 1 MB of data)."
    )
    assert calls.own == {"f": function}
