"""A students' edition of two lessons: what it says, what it holds, and how the lesson goes on."""

import datetime
import importlib.util
import json
import shutil
import subprocess
from pathlib import Path

import pytest

from attention_lib.edition import making
from attention_lib.edition.__main__ import graded_lessons, main
from attention_lib.edition.making import EditionError, make_edition
from attention_lib.edition.packing import Packer
from attention_lib.exercises import EXERCISES
from attention_lib.grading.classroom.course import Course
from attention_lib.record import RELEASES
from benchmarks.edition import compared, isolated
from tests.edition import searching
from tests.edition.searching import answers_in, functions_that_compute, hidden_calls

ROOT = Path(__file__).parents[2]
pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("edition")]
OVER, GRADED = "01_softmax", "02_stability"
# The lesson's own softmax, which overflows, divides as that of lesson 02 does.
OF_OVER = ("attention_lib/lessons/softmax.py:", "solutions/01_softmax.md:")
DIVISION = "returnexponentials/exponentials.sum(axis=axis,keepdims=True)"


@pytest.fixture(scope="module")
def edition(tmp_path_factory):
    """Make an edition of two lessons, of which the first is over."""
    folder = tmp_path_factory.mktemp("edition")
    make_edition(Course(ROOT), GRADED, {GRADED: "2026-12-01"}, folder, first=GRADED)
    return folder


def run(folder, *command, cwd=None):
    """Run Python with an edition's package and nothing of this repository; return what it prints."""
    python, environment = isolated([folder])
    result = subprocess.run(
        [*python, *map(str, command)],
        env=environment,
        cwd=cwd or folder,
        capture_output=True,
        text=True,
    )
    assert result.returncode == 0, result.stderr
    return result.stdout


def test_same_is_said_of_every_kind_of_answer(edition):
    pairs = compared(edition, [GRADED], every=12)
    assert {name.split("/")[1] for name in pairs} == {"right", "wrong", "known", "natural"}
    assert [name for name, (full, other) in pairs.items() if full != other] == []


def test_no_line_of_an_answer_is_in_any_file(edition):
    found = answers_in(edition, [GRADED], ROOT)
    assert [line for line in found if not (line.startswith(OF_OVER) and DIVISION in line)] == []
    assert [path for path in edition.rglob("*") if path.suffix in (".pyc", ".so")] == []


def test_search_for_lines_finds_those_of_the_lesson_that_is_over(edition):
    found = answers_in(edition, [OVER], ROOT)
    assert {name for name in OF_OVER if any(line.startswith(name) for line in found)} == {*OF_OVER}


def test_no_function_computes_an_answer(edition, tmp_path):
    packer, calls = Packer(), hidden_calls([GRADED], seed=1)
    packer.write(tmp_path / "calls.bin", packer.encoded(calls))
    found = json.loads(run(edition, searching.__file__, tmp_path / "calls.bin").splitlines()[-1])
    # One call does not tell the two apart; that of lesson 01 overflows, as another test sees.
    assert found == ["stable_softmax: attention_lib.lessons.softmax.softmax"]


def test_search_for_functions_finds_the_references_of_the_full_course(monkeypatch):
    from attention_lib.lessons import stability

    functions = [(name, getattr(stability, name)) for name in stability.__all__]
    monkeypatch.setattr(searching, "functions_in_this_process", lambda: functions)
    calls = hidden_calls([GRADED], seed=1)
    assert {f"{name}: {name}" for name, _, _ in calls} <= set(functions_that_compute(calls))
    assert len(calls) == 6


OWN_FUNCTION = """
import numpy as np
import attention_lib as lib
from attention_lib import check

scores = np.array([2.0, 4.0, 5.5])
assert abs(lib.softmax(scores).sum() - 1) < 1e-9  # its lesson is over,
with np.errstate(all="ignore"):  # but the stable one is that of lesson 02
    assert not np.isfinite(lib.softmax(np.array([1000.0, 999.0]))).any()
print(round(lib.largest_exponent("float16"), 2))  # its lesson's cells make this call
try:
    lib.largest_exponent(float)
except Exception as error:
    print(f"{type(error).__name__}: {error}")

def largest_exponent(dtype):
    return np.log(float(np.finfo(dtype).max))

check("largest_exponent", largest_exponent)
print(round(lib.largest_exponent(float), 2))
"""


def test_library_function_is_recorded_until_the_own_one_has_passed_its_check(edition):
    assert run(edition, "-c", OWN_FUNCTION).splitlines() == [
        "11.09",
        "NotRecorded: largest_exponent is an exercise of lesson 02: once "
        "check('largest_exponent', largest_exponent) has passed in this notebook, "
        "lib.largest_exponent is your own function.",
        "largest_exponent: right. All 9 cases, 1 point.",
        "709.78",
    ]


EARLIER = """
import numpy as np
from attention_lib import check

def total(numbers):
    return numbers.sum(axis=-1, keepdims=True)

def normalize_by_sum(scores):
    return scores / total(scores)

check("normalize_by_sum", normalize_by_sum)
"""
LATER = """
import sys
import numpy as np
import attention_lib as lib
from attention_lib import check, progress

def stable_softmax(scores, axis=-1):
    weights = np.exp(scores - scores.max(axis=axis, keepdims=True))
    return np.moveaxis(lib.normalize_by_sum(np.moveaxis(weights, axis, -1)), -1, axis)

try:
    check("stable_softmax", stable_softmax)
except AssertionError:
    progress()
"""


@pytest.fixture
def nothing_over(edition, tmp_path):
    """Withhold the first lesson's functions too, of which no calls are recorded."""
    folder, graded = tmp_path / "edition", dict.fromkeys((OVER, GRADED), "")
    shutil.copytree(edition, folder)
    slices = making._slices([one for one in EXERCISES.values() if one.lesson in graded], graded, {})
    making._write_exercises(folder / "attention_lib", [*graded], slices)
    making._write_lessons(folder / "attention_lib", [*graded], graded, slices, {})
    making._write_imported(folder / "attention_lib", [*graded])
    return folder


def test_function_solved_in_one_notebook_is_called_in_another(nothing_over, tmp_path):
    learn, script = tmp_path / "learn", tmp_path / "cells.py"

    def said(cells):
        script.write_text(cells)
        return run(nothing_over, script, cwd=learn).splitlines()

    learn.mkdir()
    open_before = (
        "stable_softmax: your code raised an error. normalize_by_sum is an exercise of lesson 01: "
        "once check('normalize_by_sum', normalize_by_sum) has passed {where}, "
        "lib.normalize_by_sum is your own function."
    )
    first, *_, last = said(LATER)
    assert first == open_before.format(where="in this notebook")
    assert last.startswith(
        "This notebook is not in the folder learn/ that `python -m attention_lib.learn` makes"
    )
    (learn / RELEASES).write_text("{}")
    assert said(LATER)[0] == open_before.format(where="there")
    assert said(EARLIER)[0].startswith("normalize_by_sum: right.")
    assert said(LATER)[0].startswith("stable_softmax: right.")


UNSOLVED = """
import contextlib, io, json, sys, warnings
warnings.simplefilter("ignore")
cells = [c for c in json.load(open(sys.argv[1]))["cells"] if c["cell_type"] == "code"]
names, errors = {"__name__": "__main__"}, []
for cell in cells:
    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
        try:
            exec("".join(cell["source"]), names)
        except Exception as error:
            errors.append(type(error).__name__)
print(json.dumps([len(cells), errors]))
"""


def test_own_cells_of_a_lesson_run_where_nothing_is_solved(edition):
    book = edition / "notebooks" / GRADED / f"{GRADED}.ipynb"
    cells, errors = json.loads(run(edition, "-c", UNSOLVED, book))
    assert cells > 40
    assert set(errors) <= {"CheckFailed", "NotImplementedError"}


def test_sentence_on_open_exercises_that_an_edition_replaces_is_in_the_first_lesson():
    assert making.READ_ON[0] in Course(ROOT).released(OVER).read_text("utf-8")


def test_what_is_recorded_is_refused_as_an_answer(edition):
    code = """
from attention_lib import check
from attention_lib.exercises import EXERCISES
try:
    check("stable_softmax", EXERCISES["stable_softmax"].reference)
except AssertionError as failed:
    print(failed)
"""
    assert run(edition, "-c", code).splitlines()[-1] == (
        "stable_softmax: not right yet. stable_softmax calls lib, the course's "
        "own solution: write it with NumPy and functions of earlier lessons."
    )


def test_model_answer_shows_from_a_day_on_and_at_once_where_the_lesson_is_over(edition):
    code = "from attention_lib import solution; solution('logsumexp'); solution('weighted_sum')"
    later, first, *_, last = run(edition, "-c", code).splitlines()
    assert later == (
        "The model answer to logsumexp will show from 2026-12-01 on, in the edition that you are "
        "given then."
    )
    assert (first, last) == ("def weighted_sum(weights, values):", "    return weights @ values")


def test_edition_has_notebooks_of_its_range_and_functions_of_earlier_lessons(edition):
    assert [path.stem for path in edition.rglob("*.ipynb")] == [GRADED]
    assert (edition / "attention_lib" / "records" / "weighted_sum.bin").exists()


def test_range_that_ends_before_it_begins_is_refused(capsys):
    assert main(["01_softmax", "--from", GRADED]) == 1
    assert "FROM must not come after 01_softmax; it is 02_stability." in capsys.readouterr().err


def test_docstrings_of_commands_have_no_solved_exercise(edition):
    text = (edition / "attention_lib" / "commands.py").read_text("utf-8")
    assert "Raises" in text
    assert ">>>" not in text


def test_docstrings_say_what_a_function_does(edition):
    code = "import attention_lib as lib; print(lib.logsumexp.__doc__, lib.logsumexp.__name__)"
    said = run(edition, "-c", code)
    assert said.startswith("`logsumexp(scores, axis=-1, keepdims=False)` returns")
    assert "Notes" not in said


def test_lesson_that_is_over_after_a_graded_one_is_refused(tmp_path):
    with pytest.raises(EditionError, match="would show the answers to the earlier one"):
        make_edition(Course(ROOT), GRADED, {OVER: ""}, tmp_path)


def test_lesson_that_needs_torch_is_refused_where_there_is_none(tmp_path, monkeypatch):
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    with pytest.raises(EditionError, match="needs torch and Triton where it is made"):
        make_edition(Course(ROOT), "09_gpu", {}, tmp_path)


def test_folder_with_other_files_is_left_alone(tmp_path):
    (tmp_path / "thesis.md").write_text("Mine.", "utf-8")
    with pytest.raises(EditionError, match="holds something else"):
        make_edition(Course(ROOT), OVER, {OVER: ""}, tmp_path)
    assert (tmp_path / "thesis.md").read_text("utf-8") == "Mine."


@pytest.mark.parametrize(
    ("over", "graded"),
    [
        ("", {OVER: "", GRADED: ""}),
        (OVER, {GRADED: ""}),
        (f"{OVER}:2026-11-22,{GRADED}:2026-11-23", {GRADED: "2026-11-23"}),
    ],
)
def test_lesson_is_over_by_name_or_from_its_day_on(over, graded):
    assert graded_lessons(GRADED, over, datetime.date(2026, 11, 22)) == graded


@pytest.mark.parametrize("over", ["05_attention", f"{OVER}:soon"])
def test_what_is_no_lesson_or_no_date_is_refused(over):
    with pytest.raises(EditionError, match="in OVER is"):
        graded_lessons(GRADED, over, datetime.date(2026, 11, 22))
