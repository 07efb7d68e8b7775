"""Reading a submission: which files are taken, and the sentence for each that is not."""

import json
import os
from copy import deepcopy

import nbformat
import pytest
from nbformat.v4 import new_code_cell, new_notebook

from attention_lib.grading import limits
from attention_lib.grading.intake.cells import is_answer
from attention_lib.grading.intake.submission import (
    AS_GIVEN_OUT,
    UnreadableNotebook,
    blank_of,
    files_of,
    prepare,
    problem_of,
    read_notebook,
    read_submission,
)
from attention_lib.grading.resource_limits import HAS_RLIMIT
from tests.grading.intake.released import RELEASED

# A limit may strike in a finalizer, where Python warns and the limit strikes again.
pytestmark = pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")

LESSON = "01_softmax"
NOTEBOOK = new_notebook(cells=[new_code_cell("1 + 1", id="own")])
TEXT = nbformat.writes(NOTEBOOK)


@pytest.fixture
def folder(tmp_path):
    """A student's folder, with the notebook in it."""
    inner = tmp_path / "submitted" / "ada" / LESSON
    inner.mkdir(parents=True)
    (inner / f"{LESSON}.ipynb").write_text(TEXT)
    return inner


def put(folder, *names, content="1,2\n"):
    for name in names:
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content)


def read(folder):
    return read_submission(folder, LESSON)


# The notebook


def test_blank_notebook_is_not_chosen_beside_another(folder, tmp_path):
    released = tmp_path / "released.ipynb"
    released.write_text(nbformat.writes(RELEASED))
    blank = blank_of(released)
    wanted, other = folder / f"{LESSON}.ipynb", folder / "download (1).ipynb"
    solved = deepcopy(RELEASED)
    solved.cells[2].source = "def double(x):\n    return x + x"
    wanted.write_text(nbformat.writes(RELEASED))
    other.write_text(nbformat.writes(solved))
    submission = read_submission(folder, LESSON, blank=blank)
    assert submission.notebook == other.read_bytes()
    (told,) = submission.told
    assert told.startswith("Left out as a notebook other than")
    assert prepare(submission, released, tmp_path / "nowhere").told == [told]
    assert any("only notebook there with answers" in note for note in submission.notes)
    other.write_text(nbformat.writes(RELEASED))
    assert read_submission(folder, LESSON, blank=blank).notebook == wanted.read_bytes()
    wanted.write_text(nbformat.writes(solved))
    assert read_submission(folder, LESSON, blank=blank).notebook == wanted.read_bytes()


FOREIGN = new_notebook(cells=[new_code_cell("def stable_softmax(scores): ...")])


@pytest.mark.parametrize("worse", ["", TEXT[:-20], nbformat.writes(FOREIGN)])
@pytest.mark.parametrize("name", [f"{LESSON} (1).ipynb", "final.ipynb"])
def test_notebook_without_answers_is_not_chosen_beside_one_with_some(folder, worse, name):
    wanted = folder / f"{LESSON}.ipynb"
    wanted.rename(folder / name)
    wanted.write_text(worse)
    assert read(folder).notebook == TEXT.encode()
    wanted.rename(folder / "other.ipynb")
    assert read(folder).notebook == TEXT.encode()


def test_of_several_notebooks_without_answers_the_lessons_own_is_spoken_of(folder):
    (folder / f"{LESSON}.ipynb").write_text(TEXT[:-20])
    (folder / "other.ipynb").write_text("")
    assert read(folder).notebook == TEXT[:-20].encode()


@pytest.mark.parametrize("version", [3, 4])
@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-32"])
def test_notebook_formats_and_encodings_in_use_are_read(version, encoding):
    text = nbformat.writes(NOTEBOOK, version=version)
    assert read_notebook(text.encode(encoding))["nbformat"] == version


@pytest.mark.parametrize(
    "more",
    ['"a": NaN, "b": -Infinity', '"nbformat": 3, "nbformat": 4', '"a": "\\ud800"', '"a": 1e999'],
)
def test_odd_values_in_json_do_no_harm(more):
    assert read_notebook(TEXT.replace("{", "{" + more + ",", 1).encode())["nbformat"] == 4


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("", "the file is empty"),
        ("{}{}", "not valid JSON: .*line 1 column 3"),
        (TEXT[:-20], "not valid JSON"),
        (f"{TEXT[:1]}\n<<<<<<< HEAD\n{TEXT[1:]}", "it has git's conflict markers"),
        ("\0" * 100, "not valid JSON|not text"),
        ("[]", "not a notebook: it says no nbformat"),
        ('{"cells": []}', "not a notebook: it says no nbformat"),
        (json.dumps({"nbformat": "four"}), "not a notebook"),
        (json.dumps({"nbformat": NOTEBOOK}), "not a notebook"),
        (json.dumps({"nbformat": 99, "cells": []}), "nbformat 99, which is not known"),
        ('{"nbformat": ' + "9" * 4000 + "}", "nbformat of a large number, which is not known"),
        ('{"nbformat": ' + "9" * 5000 + "}", "a number that is too long"),
        ('{"nbformat": 4, "cells": ' + "9" * 5000 + "}", "a number that is too long"),
        ("[" * 100_000, "nested too deeply"),
        ('{"a":' * 100_000, "nested too deeply"),
        ("[" + "[],{}," * 500_000 + "[]]", "more parts than can be read"),
    ],
)
def test_unreadable_notebook_is_reported_in_one_sentence(text, told):
    with pytest.raises(UnreadableNotebook, match=told) as caught:
        read_notebook(text.encode())
    assert "\n" not in str(caught.value)
    assert len(str(caught.value)) < 200


def test_bytes_that_are_no_text_are_reported():
    with pytest.raises(UnreadableNotebook, match="UTF-8"):
        read_notebook(b"\x89PNG\xff\xfe")


@pytest.mark.parametrize("name", [f"{LESSON} (1).ipynb", "final.ipynb", "Untitled.IPYNB"])
def test_only_notebook_is_taken_under_any_name(folder, name):
    (folder / f"{LESSON}.ipynb").rename(folder / name)
    put(folder, "data.csv", f"._{LESSON}.ipynb")  # the latter is left by archives from a Mac
    submission = read(folder)
    assert (submission.problem, submission.notebook) == (None, TEXT.encode())
    assert list(submission.files) == ["data.csv"]
    assert submission.notes == [f"`{name}`, the only notebook there, is taken for {LESSON}.ipynb."]


def test_notebook_named_after_the_lesson_is_taken_of_several(folder):
    put(folder, f"{LESSON} (1).ipynb", content=TEXT)
    assert read(folder).notebook == TEXT.encode()
    (folder / f"{LESSON}.ipynb").rename(folder / "final.ipynb")
    both = f"`{LESSON} (1).ipynb`, `final.ipynb`"
    assert read(folder).problem == f"there is no {LESSON}.ipynb in the folder, but {both}"


def test_folder_without_a_notebook_is_reported(folder):
    (folder / f"{LESSON}.ipynb").unlink()
    put(folder, "timestamp.txt", "submission_secret.txt")
    assert read(folder).problem == f"there is no {LESSON}.ipynb in the folder"


@pytest.mark.parametrize(
    "name", ["answers.pdf", "work.zip", "notes.txt", "data.json", "work/a.ipynb"]
)
def test_what_is_there_in_place_of_a_notebook_is_named(folder, name):
    (folder / f"{LESSON}.ipynb").unlink()
    put(folder, name)
    told = f"there is no {LESSON}.ipynb in the folder, but `{name.partition('/')[0]}`"
    assert read(folder).problem == told


@pytest.mark.parametrize("name", [f"{LESSON}.ipynb.txt", f"{LESSON}.ipynb.json", "a.JSON", "a.txt"])
def test_notebook_under_the_suffix_of_a_text_is_taken(folder, name):
    (folder / f"{LESSON}.ipynb").rename(folder / name)
    put(folder, "data.json", "words.txt", "timestamp.txt")
    submission = read(folder)
    assert (submission.problem, submission.notebook) == (None, TEXT.encode())
    assert (
        submission.notes[-1] == f"`{name}`, the only notebook there, is taken for {LESSON}.ipynb."
    )
    assert sorted(submission.files) == ["data.json", "words.txt"]


def test_text_that_is_a_notebook_does_not_count_beside_one(folder):
    put(folder, f"{LESSON}.ipynb.txt")
    (folder / f"{LESSON}.ipynb.txt").write_text(TEXT.replace("1", "2"))
    assert read(folder).notebook == TEXT.encode()


def test_too_large_notebook_is_not_read(folder):
    with (folder / f"{LESSON}.ipynb").open("r+b") as file:
        file.truncate(limits.NOTEBOOK_BYTES + 1)
    assert "larger than 20 MB; clear its outputs and hand it in again" in read(folder).problem


@pytest.mark.parametrize("part", ["notebook", "lesson", "student"])
def test_notebook_behind_a_link_is_not_read(folder, part):
    path = {
        "notebook": folder / f"{LESSON}.ipynb",
        "lesson": folder,
        "student": folder.parent,
    }[part]
    away = path.parent.parent / "away"
    path.rename(away)
    path.symlink_to(away)
    submission = read(folder)
    assert "a link; hand in the" in submission.problem
    assert submission.notebook == b""
    assert submission.files == {}


def test_file_in_place_of_the_folder_is_reported(folder):
    (folder / f"{LESSON}.ipynb").unlink()
    folder.rmdir()
    folder.write_text("")
    assert read(folder).problem == "its folder is no folder; hand in the folder itself"


# The files beside it


def test_files_and_folders_are_taken(folder):
    put(folder, "data.csv", "more/deep/values.txt", "aux.txt", "Data.CSV ", "é b.txt")
    submission = read(folder)
    assert sorted(submission.files) == [
        "Data.CSV ",
        "aux.txt",
        "data.csv",
        "more/deep/values.txt",
        "é b.txt",
    ]
    assert submission.files["data.csv"] == b"1,2\n"
    assert submission.notes == []
    assert submission.problem is None


def test_files_of_editors_and_of_nbgrader_are_ignored(folder):
    put(folder, ".DS_Store", ".git/config", "__pycache__/a.pyc", "__MACOSX/b", "feedback/c.html")
    put(folder, "in/__pycache__/a.pyc", "in/.hidden")
    put(folder, ".ipynb_checkpoints/x.ipynb", "submission_secret.txt")
    put(folder, "timestamp.txt", content="2026-03-01 12:00 UTC")
    submission = read(folder)
    assert submission.files == {}
    assert submission.notes == []


@pytest.mark.parametrize(
    "name",
    [
        "numpy.py",
        "Numpy.PY",
        "numpy/__init__.py",
        "numpy.pyc",
        "numpy.so",
        "numpy.cpython-311-x86_64-linux-gnu.so",
        "numpy.pyd",
        "x.pth",
        "x.zip",
        "x.egg",
        "x.whl",
    ],
)
def test_importable_files_are_left_out(folder, name):
    put(folder, name)
    submission = read(folder)
    assert submission.files == {}
    assert submission.notes == [
        f"Left out as a module or an archive, which could be imported: `{name}`."
    ]


def test_links_and_devices_are_left_out(folder):
    put(folder, "real.csv")
    (folder / "link.csv").symlink_to("real.csv")
    (folder / "loop").symlink_to(".")
    (folder / "outside").symlink_to("/etc")
    os.link(folder / "real.csv", folder / "again.csv")
    os.mkfifo(folder / "pipe")
    submission = read(folder)
    assert submission.files == {}
    assert submission.notes == [
        "Left out as a file with several names (a hard link): `again.csv`, `real.csv`.",
        "Left out as a link: `link.csv`, `loop`, `outside`.",
        "Left out as something other than a file: `pipe`.",
    ]


def test_files_with_undecodable_names_are_left_out(folder):
    put(folder, "a\nb", "c\x1b[2J", os.fsdecode(b"d\xff"), "e`<b>.csv")
    submission = read(folder)
    assert list(submission.files) == ["e`<b>.csv"]
    assert submission.notes == ["Left out as of a name that is no text: `a?b`, `c?[2J`, `d?`."]
    put(folder, "e`\u202e.so")
    assert "`e??.so`" in read(folder).notes[1]


@pytest.mark.parametrize(
    ("limit", "value", "told", "taken"),
    [
        ("EXTRA_FILE_BYTES", 3, "larger than", set()),
        ("EXTRA_FILES", 2, "beyond 2 files: `in/c`, `in/d`", {"a", "b"}),
        ("EXTRA_FILES_BYTES", 9, "beyond 9e-06 MB together: `in/c`, `in/d`", {"a", "b"}),
        ("FOLDER_ENTRIES", 3, "beyond 3 files and folders: `...`", {"a", "b"}),
        ("FOLDER_DEPTH", 0, "too deep in folders: `in`", {"a", "b"}),
        ("FILES_NAMED_PER_NOTE", 1, "", {"a", "b", "in/c", "in/d"}),
    ],
)
def test_outer_files_are_taken_first_up_to_the_limits(
    folder, monkeypatch, limit, value, told, taken
):
    put(folder, "a", "b", "in/c", "in/d")
    monkeypatch.setattr(limits, limit, value)
    submission = read(folder)
    assert set(submission.files) == taken
    assert told in "".join(submission.notes)


def test_long_list_of_names_is_cut(folder):
    put(folder, *(f"{i}.py" for i in range(9)), f"0{'x' * 200}.zip")
    assert read(folder).notes[0].endswith("xxx...`, `1.py`, `2.py`, `3.py` and 5 more.")
    assert len(read(folder).notes[0]) < 200
    assert len(read(folder).notes) == 1


def test_walk_stops_at_the_limit_of_entries(folder, monkeypatch):
    """Each of the first few is opened once; the depth of the rest does not matter."""
    monkeypatch.setattr(limits, "FOLDER_ENTRIES", 20)
    for i in range(30):
        put(folder, f"{i:02}/in/a.csv")
    submission = read(folder)
    assert len(submission.files) == 0
    assert "beyond 20 files and folders" in submission.notes[0]


def test_instructors_files_replace_a_students(folder, tmp_path):
    source = tmp_path / "source"
    put(source, "data.csv", "sub/x.csv", "taken", "folder/x.csv", content="ours")
    put(source, f"{LESSON}.ipynb", f"{LESSON}.md", ".hidden", ".git/config", "helper.py")
    put(folder, "data.csv", "mine.csv", "sub/y.csv", "taken/z.csv", "folder", content="theirs")
    assert files_of(read(folder), source) == {
        "data.csv": b"ours",
        "sub/x.csv": b"ours",
        "taken": b"ours",
        "folder/x.csv": b"ours",
        "mine.csv": b"theirs",
        "sub/y.csv": b"theirs",
    }
    (source / "sub" / "x.csv").unlink()
    (source / "sub").rmdir()
    put(source, "sub", content="ours")
    assert "sub/y.csv" not in files_of(read(folder), source)


# Both together


@pytest.fixture
def released(tmp_path):
    path = tmp_path / "notebooks" / f"{LESSON}.ipynb"
    path.parent.mkdir()
    nbformat.write(RELEASED, path)
    return path


@pytest.mark.parametrize("is_saved", [True, False])
def test_orderly_submission_gets_no_note_unless_nothing_is_answered(
    folder, released, tmp_path, is_saved
):
    submitted = nbformat.from_dict(RELEASED)
    answer = next(cell for cell in submitted.cells if is_answer(cell))
    answer.source += "\n# done" if is_saved else "\n"
    nbformat.write(submitted, folder / released.name)
    put(folder, "data.csv")
    prepared = prepare(read(folder), released, tmp_path / "nowhere")
    assert prepared.is_as_given_out != is_saved
    on_top = prepared.notebook.cells[: -len(RELEASED.cells)]
    assert [cell.source for cell in on_top] == ([] if is_saved else [f"**{AS_GIVEN_OUT}**"])
    assert prepared.files == {"data.csv": b"1,2\n"}
    assert (prepared.problem, prepared.notes) == (None, [])


def test_note_on_top_says_what_was_changed(folder, released, tmp_path):
    submitted = nbformat.from_dict(RELEASED)
    submitted.cells = submitted.cells[2:]
    nbformat.write(submitted, folder / released.name)
    put(folder, "helper.py")
    put(folder, "timestamp.txt", content="soon")
    prepared = prepare(read(folder), released, tmp_path / "nowhere")
    _, note, *cells = prepared.notebook.cells
    assert cells == RELEASED.cells
    assert prepared.notes == [
        "timestamp.txt does not say a time, and was not used.",
        "Left out as a module or an archive, which could be imported: `helper.py`.",
        "Missing cells of the lesson (2) were put back.",
    ]
    assert all(f"- {told}" in note.source for told in prepared.notes)
    assert problem_of(prepared.notebook) is None


@pytest.mark.parametrize("content", ["{", TEXT])
def test_unreadable_submission_becomes_the_released_notebook(folder, released, tmp_path, content):
    (folder / released.name).write_text(content)
    put(folder, "helper.py")
    for _ in range(2):  # what is kept between submissions stays as it is
        prepared = prepare(read(folder), released, tmp_path / "nowhere")
        assert prepared.notebook.cells[2:] == RELEASED.cells
        assert problem_of(prepared.notebook) == prepared.problem
        assert f"could not be graded: {prepared.problem}." in prepared.notebook.cells[0].source
        assert "`helper.py`" in prepared.notebook.cells[1].source


def work_forever(*_):
    while True:
        pass


def take_memory(*_):
    return bytearray(1 << 30)


@pytest.mark.skipif(not HAS_RLIMIT, reason="memory is not limited here")
@pytest.mark.parametrize("rebuild", [work_forever, take_memory])
def test_notebook_that_takes_too_much_to_read_is_reported(
    folder, released, tmp_path, monkeypatch, rebuild
):
    monkeypatch.setattr(limits, "INTAKE_CPU_SECONDS", 0.2)
    monkeypatch.setattr(limits, "INTAKE_MEMORY_BYTES", 1 << 28)
    monkeypatch.setattr("attention_lib.grading.intake.submission.rebuild", rebuild)
    prepared = prepare(read(folder), released, tmp_path)
    assert "too much time or memory to read" in prepared.problem
    assert "too much time or memory to read" in prepared.notebook.cells[0].source


def test_new_release_is_read_again(folder, released, tmp_path):
    (folder / released.name).write_text(released.read_text())
    prepare(read(folder), released, tmp_path)
    changed = nbformat.from_dict(RELEASED)
    changed.cells[0].source = "# Another title"
    nbformat.write(changed, released)
    os.utime(released, ns=(0, 0))
    assert prepare(read(folder), released, tmp_path).notebook.cells[2].source == "# Another title"
