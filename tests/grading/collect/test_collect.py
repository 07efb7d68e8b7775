"""Collecting downloads: each for itself, by the name that the instructor sees, over nothing."""

import os

import nbformat
import pytest
from nbformat.v4 import new_code_cell, new_notebook

from attention_lib.grading.classroom.course import Course
from attention_lib.grading.collect.__main__ import main
from attention_lib.grading.collect.collecting import collect
from attention_lib.grading.collect.downloads import by_name
from tests.grading.collect.zips import submitted, zipped
from tests.grading.sample_class import LESSONS, make_course

LESSON = LESSONS[0]
NOTEBOOK = f"{LESSON}.ipynb"


@pytest.fixture
def course(tmp_path) -> Course:
    course = make_course(tmp_path, LESSON)
    course.downloaded(LESSON).mkdir(parents=True)
    return course


@pytest.fixture
def put(course):
    def put(name, content=b"{}"):
        path = course.downloaded(LESSON) / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)

    return put


@pytest.mark.parametrize(
    ("name", "student"),
    [
        ("ada_01_softmax", "ada"),
        ("ada_01_softmax (1)", "ada"),
        ("ada_lovelace_01_softmax_late", "ada_lovelace"),
        ("ada", "ada"),
        ("ada (2)", "ada"),
        ("01_softmax", None),
        ("_01_softmax", None),
    ],
)
def test_name_of_a_download_says_whose_it_is(name, student):
    assert by_name(name, LESSON) == student


def test_notebooks_archives_and_folders_are_collected(course, put):
    put(f"ada_{LESSON}.ipynb", b"1")
    put("bo.zip", zipped((NOTEBOOK, "2"), ("data.csv", "x")))
    put(f"cy_{LESSON}.zip", zipped(("cy's work/any name.ipynb", "3"), ("cy's work/in/d.csv", "y")))
    put(f"di/{NOTEBOOK}", b"4")
    put("eve/handed_in.zip", zipped((NOTEBOOK, "5")))
    result = collect(course, LESSON)
    assert result.refused == []
    assert len(result.collected) == 5
    assert submitted(course) == {
        f"ada/{LESSON}/{NOTEBOOK}": b"1",
        f"bo/{LESSON}/{NOTEBOOK}": b"2",
        f"bo/{LESSON}/data.csv": b"x",
        f"cy/{LESSON}/{NOTEBOOK}": b"3",
        f"cy/{LESSON}/in/d.csv": b"y",
        f"di/{LESSON}/{NOTEBOOK}": b"4",
        f"eve/{LESSON}/{NOTEBOOK}": b"5",
    }


def test_renamed_notebook_is_collected_and_notes_beside_it_stop_nobody(course, put):
    put(f"ada_{LESSON}.ipynb.json", b'{"cells": [], "nbformat": 4}')
    put(f"bo_{LESSON}.ipynb", b"1")
    put(f"bo_{LESSON}_notes.txt", b"my notes")
    put(f"cy_{LESSON}.pdf", b"%PDF")
    result = collect(course, LESSON)
    assert list(submitted(course)) == [f"{one}/{LESSON}/{NOTEBOOK}" for one in ("ada", "bo")]
    assert ["have the notebook itself handed in" in one for one in result.refused] == [True, True]


def test_name_that_says_two_students_is_nobodys(course, put):
    both = ("ada", f"ada_{LESSON}_b")
    course.roster.write_text("\n".join(("id", *both)))
    put(f"{both[1]}_{LESSON}.ipynb", b"1")
    (refused,) = collect(course, LESSON).refused
    assert f"its name may say {both[0]} or {both[1]}" in refused
    assert submitted(course) == {}


def test_only_notebooks_and_plain_files_are_taken(course, put):
    names = (
        "numpy.py",
        "x.so",
        "more.zip",
        "timestamp.txt",
        "feedback/x",
        "__pycache__/x",
        ".git/x",
    )
    put("ada.zip", zipped((NOTEBOOK, "1"), ("data.csv", "x"), *[(name, "y") for name in names]))
    collect(course, LESSON)
    assert list(submitted(course)) == [f"ada/{LESSON}/{NOTEBOOK}", f"ada/{LESSON}/data.csv"]


def test_archive_that_is_damaged_or_too_large_does_not_stop_the_others(course, put):
    put("ada.zip", b"no archive")
    put("bo.zip", zipped(("readme.txt", "x")))
    put("cy.zip", zipped(("a.ipynb", "1"), ("b.ipynb", "2")))
    put("di.tar.gz", b"x")
    put("kim.7z", b"x")
    put(NOTEBOOK, b"whose?")
    put("e*e.zip", zipped((NOTEBOOK, "1")))
    put("eve.zip", zipped(("a.ipynb", "1"), (f"{NOTEBOOK}/data.csv", "1")))
    put("liz.zip", zipped((NOTEBOOK, "1"), ("zeros", bytes(30_000_000))))
    put("zoe.zip", zipped((NOTEBOOK, "1")))
    os.symlink("/etc/passwd", course.downloaded(LESSON) / f"fay_{LESSON}.ipynb")
    os.mkfifo(course.downloaded(LESSON) / f"gus_{LESSON}.ipynb")
    result = collect(course, LESSON)
    assert list(submitted(course)) == [f"eve/{LESSON}/{NOTEBOOK}", f"zoe/{LESSON}/{NOTEBOOK}"]
    assert (
        f"{NOTEBOOK}/data.csv (its name is that of a file and of a folder)" in result.collected[0]
    )
    assert len(result.refused) == 10
    parts = ("whose it is", "damaged", "no notebook", "2 notebooks", "unpack", "no folder")
    parts += ("a link", "other than a file", "unpack", "too much")
    for sentence, part in zip(sorted(result.refused), parts, strict=True):
        assert part in sentence


def test_student_cannot_hand_in_as_another(course, put):
    put("ada.zip", zipped((f"bo/{NOTEBOOK}", "ada's"), (f"bo/bo_{LESSON}.csv", "ada's")))
    put(f"bo_{LESSON}.ipynb", b"bo's")
    put("cy.zip", zipped((f"../bo/{LESSON}/{NOTEBOOK}", "cy's")))
    collect(course, LESSON)
    found = submitted(course)
    assert found[f"bo/{LESSON}/{NOTEBOOK}"] == b"bo's"
    assert [path for path in found if path.startswith("bo/")] == [f"bo/{LESSON}/{NOTEBOOK}"]
    assert not [path for path in found if path.startswith("cy/")]


def test_nothing_is_overwritten_and_conflicts_are_shown(course, put):
    put("ada.zip", zipped((NOTEBOOK, "1")))
    put("Bo.zip", zipped((NOTEBOOK, "1")))
    put("bo (1).zip", zipped((NOTEBOOK, "2")))
    result = collect(course, LESSON)
    assert [sentence.partition(":")[0] for sentence in result.refused] == ["Bo.zip", "bo (1).zip"]
    assert list(submitted(course)) == [f"ada/{LESSON}/{NOTEBOOK}"]
    assert collect(course, LESSON).collected == ["ada.zip: collected before for ada."]
    put("ada.zip", zipped((NOTEBOOK, "2")))
    assert "holds another notebook" in str(collect(course, LESSON).refused)
    assert submitted(course) == {f"ada/{LESSON}/{NOTEBOOK}": b"1"}


def test_command_says_a_sentence_about_each(course, put, monkeypatch, capsys):
    monkeypatch.chdir(course.root)
    put("ada.zip", zipped((NOTEBOOK, "1"), ("data.csv", "x")))
    put("b\x1b[31mo.zip", b"")
    assert main([LESSON]) == 0
    printed = capsys.readouterr().out.splitlines()
    assert printed[0] == "ada.zip: collected for ada, with 1 more files."
    assert printed[2:] == ["1 collected, 1 not."]
    assert "\x1b" not in printed[1]


def test_blank_notebook_is_not_collected_beside_another(course, put):
    released = nbformat.writes(new_notebook(cells=[new_code_cell("def f(): ...")]))
    course.released(LESSON).parent.mkdir(parents=True)
    course.released(LESSON).write_text(released)
    solved = nbformat.writes(new_notebook(cells=[new_code_cell("def f(): return 1")]))
    put("ada.zip", zipped((NOTEBOOK, released), ("mine.ipynb", solved)))
    (sentence,) = collect(course, LESSON).collected
    assert sentence == (
        f"ada.zip: collected for ada, without {NOTEBOOK}; "
        f"mine.ipynb is taken, since {NOTEBOOK} is as it was given out."
    )
    assert submitted(course) == {f"ada/{LESSON}/{NOTEBOOK}": solved.encode()}


def test_command_says_that_there_is_no_folder_of_downloads(course, monkeypatch, capsys):
    monkeypatch.chdir(course.root)
    course.downloaded(LESSON).rmdir()
    assert main([LESSON]) == 1
    assert "is missing" in capsys.readouterr().err
