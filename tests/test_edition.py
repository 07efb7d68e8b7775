"""A students' edition says what the whole course says, and shows no answer to a graded lesson."""

import ast
import datetime
import functools
import importlib
import json
import os
import re
import subprocess
import sys
import sysconfig
import tomllib
import zipfile
from pathlib import Path

import pytest

from attention_lib.edition import ARCHIVE, EditionError, graded_lessons, main, make_edition
from attention_lib.exercises import EXERCISES
from attention_lib.exercises.model_answers import model_answer
from attention_lib.grading.classroom.course import Course
from attention_lib.grading.replacing import LIST
from attention_lib.lessons import LESSONS, module_of

pytestmark = pytest.mark.xdist_group("edition")
ROOT = Path(__file__).parents[1]
OVER, GRADED = "01_softmax", ("02_stability", "03_scaling")
COMPARED = ("softmax", "stable_softmax", "merge_softmax_stats", "entropy")
SHORTEST = 20  # characters of a line that only an answer has
# Lines that answer nothing, and that of lesson 01's model answer, which divides as lesson 02's does.
ELSEWHERE = re.compile(
    r"withnp\.errstate|require_|scores=as_floating|returnexponentials/exponentials\.sum"
)


@pytest.fixture(scope="module")
def edition(tmp_path_factory):
    """Make an edition of three lessons, of which the first is over."""
    folder = tmp_path_factory.mktemp("edition")
    graded = dict.fromkeys(GRADED, "") | {GRADED[1]: "2026-12-01"}
    make_edition(Course(ROOT), LESSONS[:3], graded, folder, first=GRADED[0])
    return folder


def run(folder, *command):
    """Run Python with a folder's package and nothing else of this repository; return its output.

    Without `site`, no editable install supplies the modules that the package lacks.
    """
    installed = [sysconfig.get_path(name) for name in ("purelib", "platlib")]
    path = os.pathsep.join(map(str, [folder, *installed]))
    environment = os.environ | {"PYTHONPATH": path, "PYTHONDONTWRITEBYTECODE": "1"}
    result = subprocess.run(
        [sys.executable, "-S", "-P", *map(str, command)],
        env=environment | {"OMP_NUM_THREADS": "1"},
        cwd=folder,
        capture_output=True,
        text=True,
    )
    assert result.returncode == 0, result.stderr
    return result.stdout


def plain(text):
    return re.sub(r"[\s\"'\\]", "", text)


def lines_of(code):
    """Return the lines of code as they are whatever its layout, without docstrings and headers."""
    lines = set()
    for node in ast.walk(ast.parse(code)):
        if isinstance(node, ast.FunctionDef):
            body = node.body[1:] if ast.get_docstring(node) else node.body
            lines.update(ast.unparse(ast.Module(body, [])).splitlines())
        elif isinstance(node, ast.Lambda):
            lines.add(ast.unparse(node.body))
    return {line for line in map(plain, lines) if len(line) >= SHORTEST}


@functools.cache
def withheld_lines():
    """Return the lines of graded lessons' references, known mistakes and model answers."""
    library, lines = ROOT / "attention_lib", set()
    for lesson in GRADED:
        paths = (library / "exercises" / module_of(lesson)).glob("*.py")
        for path in (library / "lessons" / f"{module_of(lesson)}.py", *paths):
            lines |= lines_of(path.read_text("utf-8"))
    for exercise in EXERCISES.values():
        if exercise.lesson in GRADED and exercise.kind == "function":
            lines |= lines_of(model_answer(exercise))
        elif exercise.lesson in GRADED:
            lines.update(map(plain, model_answer(exercise).splitlines()))
    return {line for line in lines if len(line) >= SHORTEST and not ELSEWHERE.match(line)}


def shows(text):
    text = plain(text)
    return sorted(line for line in withheld_lines() if line in text)


def text_of(path):
    """Return a file's text, without a layout where it is Python."""
    if path.suffix == ".py":
        return ast.unparse(ast.parse(path.read_text("utf-8")))
    return path.read_bytes().decode("utf-8", "replace")


def test_edition_has_the_data_that_lessons_read(edition):
    words = run(edition, "-c", "from attention_lib import trained; print(*trained().words)")
    assert words.split()[:3] == ["please", "study", "man"]
    settings = tomllib.loads((edition / "pyproject.toml").read_text(encoding="utf-8"))
    named = settings["tool"]["setuptools"]["package-data"]["attention_lib"]
    assert [file for file in named if not list((edition / "attention_lib").glob(file))] == []
    assert "lessons/trained.npz" in named


def test_archive_has_all_of_an_edition_and_says_how_to_begin(edition):
    with zipfile.ZipFile(edition / ARCHIVE) as archive:
        packed = {name: archive.read(name) for name in archive.namelist() if name[-1] != "/"}
    files = {path.relative_to(edition): path for path in edition.rglob("*") if path.is_file()}
    for extra in (ARCHIVE, Path(LIST)):
        del files[extra]
    assert packed == {f"attention-course/{name}": path.read_bytes() for name, path in files.items()}
    page = packed["attention-course/README.md"].decode()
    install = (ROOT / "docs" / "install.md").read_text("utf-8").partition("## Without make")[2]
    commands = [line for line in install.splitlines() if line.startswith("    ")][:3]
    commands[1] = commands[1].replace("-c requirements.lock -e", "--editable")
    assert "\n".join(commands) in page
    elsewhere = "\n".join(commands).replace("py -m", "python3 -m")
    assert elsewhere.replace(r".venv\Scripts\python", ".venv/bin/python") in page


def test_no_file_shows_a_line_of_an_answer(edition):
    files = [path for path in edition.rglob("*") if path.is_file() and path.suffix != ".ipynb"]
    assert {path.name: found for path in files if (found := shows(text_of(path)))} == {}
    assert shows(text_of(ROOT / "attention_lib" / "lessons" / "stability.py"))


# Prints what a session can be made to show of a lesson's functions and the modules of its exercises.
SESSION = """
import importlib, inspect, linecache, pydoc, sys, traceback
import attention_lib as lib
from attention_lib.exercises import EXERCISES
from IPython.core.ultratb import VerboseTB

for exercise in EXERCISES.values():
    if exercise.lesson not in ("02_stability", "03_scaling") or exercise.kind != "function":
        continue
    module = importlib.import_module(
        f"attention_lib.exercises.{exercise.lesson[3:]}.{exercise.name}"
    )
    functions = [value for value in vars(module).values() if inspect.isfunction(value)]
    functions += [one for mistake in exercise.mistakes for one in mistake.variants]
    for function in [exercise.reference, *functions]:
        print(pydoc.render_doc(function))
        try:
            print(inspect.getsource(function))
        except (OSError, TypeError):
            pass
        try:
            function("no array")
        except Exception as error:
            traceback.print_exc(file=sys.stdout)
            if function is exercise.reference:
                print(VerboseTB().text(*sys.exc_info()))
    for module in (module, inspect.getmodule(exercise.reference)):
        try:
            print(inspect.getsource(module))
        except OSError:
            pass
print([entry for entry in linecache.cache.values() if len(entry) > 2])
"""


RUBRICS = """
import pickle, pprint, sys, traceback
from attention_lib.exercises import EXERCISES, find

written = find("written_nan")
print(written, vars(written), written.rubric)
pprint.pprint(vars(sys.modules[f"attention_lib.exercises.stability.{written.name}"]))
for exercise in EXERCISES.values():
    print(exercise, exercise.mistakes, find(exercise.name))
try:
    find(find("entropy"))
except ValueError as error:
    traceback.print_exc(file=sys.stdout)
"""


def test_no_object_shows_what_words_are_marked_by_or_a_known_mistake(edition):
    text = run(edition, "-c", RUBRICS)
    for exercise in EXERCISES.values():
        for secret in [one for _, one in exercise.rubric] + [m.sentence for m in exercise.mistakes]:
            assert secret not in text
    assert "<Exercise written_nan>" in text
    assert "<Mistake " in text


@pytest.mark.slow
def test_no_traceback_help_or_inspection_shows_a_line_of_an_answer(edition):
    assert shows(run(edition, "-c", SESSION)) == []


@pytest.mark.slow
def test_search_of_a_session_finds_the_answers_of_the_whole_course():
    of_one_lesson = SESSION.replace('"02_stability", "03_scaling"', '"03_scaling",')
    assert len(shows(run(ROOT, "-c", of_one_lesson))) > 20


SAID = """
import contextlib, io, json, linecache, re, sys
from attention_lib import check
from attention_lib.exercises import EXERCISES

linecache.getline = lambda *_: ""  # an edition has no source of a mistake
said = {}
for name in sys.argv[1:]:
    for number, mistake in enumerate(EXERCISES[name].mistakes):
        with contextlib.redirect_stdout(io.StringIO()) as text:
            with contextlib.suppress(AssertionError):
                check(name, mistake.variants[0])
        said[f"{name} {number}"] = re.sub("0x[0-9a-f]+", "0x", text.getvalue())
print(json.dumps(said))
"""


@pytest.mark.slow
def test_same_is_said_of_known_mistakes_word_for_word(edition):
    said, whole = (json.loads(run(folder, "-c", SAID, *COMPARED)) for folder in (edition, ROOT))
    assert len(whole) > 60
    assert said == whole


HELP = """
import contextlib, inspect, pickle
import numpy as np
import attention_lib as lib
from attention_lib import check, hint, progress, solution

for function in (lib.entropy, lib.softmax, lib.weighted_sum):
    assert pickle.loads(pickle.dumps(function)) is function
    try:
        print(inspect.getsource(function).splitlines()[0])
    except OSError:
        print(inspect.getdoc(function).splitlines()[0])
print(lib.softmax(np.array([1000.0, 1000.0])), hasattr(lib, "attention"))
for name in ("softmax", "stable_softmax", "entropy"):
    solution(name)
solution("softmax", library=True)
hint("entropy")
with contextlib.suppress(AssertionError):
    check("entropy", lambda weights, axis=-1: -np.log2(weights ** weights).sum(axis))
progress()
"""


def test_answers_show_when_their_lesson_is_over_and_the_course_goes_on(edition):
    stable, softmax, mix, weights, *shown = run(edition, "-c", HELP).splitlines()
    assert stable.startswith("`entropy(weights, axis=-1)` returns")  # the exercise's contract
    assert softmax.startswith("`softmax(scores, axis=-1)` turns")  # it answers stable_softmax, too
    assert mix.startswith("def weighted_sum(")
    assert weights == "[0.5 0.5] False"
    text = "\n".join(shown)
    assert "    exponentials = np.exp(scores)\n" in text
    then = ", in the edition that you are given then."
    for sentence in (
        f"The model answer to stable_softmax will show when lesson 02_stability is over{then}",
        f"The model answer to entropy will show from 2026-12-01 on{then}",
        f"The library's version of softmax will show when lesson 02_stability is over{then}",
        "Hint 1 of 3: Each weight p adds",
        "  03_scaling      0 of ",
        "A known mistake met in entropy: ",
    ):
        assert sentence in text


def test_edition_has_notebooks_of_its_range_and_nothing_of_later_lessons(edition):
    assert sorted(path.stem for path in edition.rglob("*.ipynb")) == [*GRADED]
    assert [path.stem for path in (edition / "solutions").iterdir()] == [OVER]
    names = {path.relative_to(edition).as_posix() for path in edition.rglob("*.py")}
    assert not [name for name in names if "attention.py" in name or "gradients" in name]
    packed = importlib.import_module("attention_lib.edition").PackedFinder(
        edition / "attention_lib" / "packed.bin"
    )
    assert "exercises/parts/choices.py" in packed._sources
    assert (edition / "attention_lib" / "exercises" / "ids.txt").is_file()
    assert not [name for name in packed._sources if re.search("/(attention|heads)", name)]


KERNELS = """
import inspect, linecache
import torch
import attention_lib as lib
from attention_lib.exercises import EXERCISES

three = torch.randn(3, 1, 2, 20, 16)
print(torch.allclose(lib.flash_attention(*three), lib.torch_attention(*three), atol=1e-5))
for name in ("softmax_kernel", "flash_kernel", "flash_program"):
    for mistake in EXERCISES[name].mistakes:
        for variant in mistake.variants:
            variant.function
print([name for name in linecache.cache if "gpu" in name or "patched" in name])
try:
    inspect.getsource(lib.flash_kernel.fn)
except OSError as error:
    print(error)
"""


@pytest.mark.slow
def test_packed_kernels_run_and_their_source_is_there_for_edits_alone(tmp_path):
    make_edition(Course(ROOT), LESSONS, {"10_gpu": ""}, tmp_path, first="10_gpu")
    assert run(tmp_path, "-c", KERNELS).splitlines() == ["True", "[]", "could not get source code"]


def test_range_that_ends_before_it_begins_is_refused(capsys):
    assert main([OVER, "--from", GRADED[0]]) == 1
    assert f"FROM must not come after {OVER}; it is {GRADED[0]}." in capsys.readouterr().err


def test_folder_with_other_files_is_left_alone(tmp_path):
    (tmp_path / "thesis.md").write_text("Mine.", "utf-8")
    with pytest.raises(EditionError, match="holds something else"):
        make_edition(Course(ROOT), LESSONS[:1], {OVER: ""}, tmp_path, first=OVER)
    assert (tmp_path / "thesis.md").read_text("utf-8") == "Mine."


@pytest.fixture
def worked_in(tmp_path):
    """An edition of two lessons in which somebody works."""
    make_edition(Course(ROOT), LESSONS[:2], dict.fromkeys(LESSONS[:2], ""), tmp_path, first=OVER)
    for name in (".git/HEAD", ".venv/pyvenv.cfg", "learn/01_softmax.ipynb", "notebooks/my.ipynb"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text("Mine.", "utf-8")
    (tmp_path / "attention_lib" / "lessons" / "__pycache__").mkdir()
    return tmp_path


def files_in(folder):
    return {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_new_edition_replaces_what_an_edition_wrote_and_nothing_else(worked_in, tmp_path_factory):
    make_edition(Course(ROOT), LESSONS[:1], {OVER: ""}, worked_in, first=OVER)
    other = tmp_path_factory.mktemp("other")
    make_edition(Course(ROOT), LESSONS[:1], {OVER: ""}, other, first=OVER)
    found = {path.relative_to(worked_in): content for path, content in files_in(worked_in).items()}
    expected = {path.relative_to(other): content for path, content in files_in(other).items()}
    for file in (ARCHIVE, Path(LIST)):  # an archive has the times of its files, the list its digest
        del found[file], expected[file]
    mine = {path for path, content in found.items() if content == b"Mine."}
    assert len(mine) == 4
    assert {path: found[path] for path in found.keys() - mine} == expected
    assert not (worked_in / "notebooks" / "02_stability").exists()


@pytest.mark.parametrize(
    "name",
    [
        "notebooks/01_softmax/01_softmax.ipynb",
        "notebooks/02_stability/02_stability.ipynb",  # which would be removed
        "README.md",
        "attention_lib/arguments.py",
    ],
)
def test_file_of_an_edition_that_was_changed_is_not_lost(worked_in, name):
    path = worked_in / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("Mine.", "utf-8")
    before = files_in(worked_in)
    with pytest.raises(EditionError, match=f"{path} has been changed since it was written"):
        make_edition(Course(ROOT), LESSONS[:1], {OVER: ""}, worked_in, first=OVER)
    assert files_in(worked_in) == before


@pytest.mark.parametrize(
    ("over", "graded"),
    [
        ("", dict.fromkeys(LESSONS[:3], "")),
        (OVER, dict.fromkeys(GRADED, "")),
        (f"{OVER}:2026-11-22,{GRADED[0]}:2026-11-23", {GRADED[0]: "2026-11-23", GRADED[1]: ""}),
    ],
)
def test_lesson_is_over_by_name_or_from_its_day_on(over, graded):
    assert graded_lessons(LESSONS[:3], over, datetime.date(2026, 11, 22)) == graded


@pytest.mark.parametrize(
    ("over", "why"),
    [
        ("05_attention", "in OVER is none of"),
        (f"{OVER}:soon", "in OVER is no date"),
        (GRADED[0], "would show the answers to the earlier one"),
    ],
)
def test_lesson_that_cannot_be_over_is_refused(over, why):
    with pytest.raises(EditionError, match=why):
        graded_lessons(LESSONS[:3], over, datetime.date(2026, 11, 22))
