"""A class's report: who is stuck on what, who is missing, in a terminal, on a page and as CSV."""

import csv
import datetime
import io
import re
from dataclasses import replace

import pytest
from bs4 import BeautifulSoup

from attention_lib.exercises import EXERCISES
from attention_lib.grading.classroom.course import LATE_MARK, CourseError
from attention_lib.grading.classroom.gradebook import Standing
from attention_lib.grading.judge.checking import error_output
from attention_lib.grading.report.__main__ import main
from attention_lib.grading.report.findings import (
    NOT_CHECKED,
    Finding,
    _finding_from_outputs,
    read_class,
)
from attention_lib.grading.report.page import as_page
from attention_lib.grading.report.text import as_text, short
from attention_lib.grading.report.writing import as_csv
from tests.checks.judged import verdict
from tests.grading.sample_class import LESSONS, Classroom, cell_of, make_lean_course, quietly

LESSON = LESSONS[0]
OUTCOMES_SHOWN = ("right", "wrong", "stopped by an error", "not attempted", "not checked")
SOFTMAX = {
    "cal": "def softmax(scores, axis=-1):\n    return scores / scores.sum(axis=axis, keepdims=True)",
    "eve": "def softmax(scores, axis=-1):\n    raise KeyError('=1+1')",
}
SOFTMAX["cleo"] = SOFTMAX["cal"].replace("return", "return 1 *")  # the same mistake, written anew
pytestmark = [pytest.mark.sandbox, pytest.mark.batch, pytest.mark.xdist_group("report")]


@pytest.fixture(scope="module")
def room(tmp_path_factory) -> Classroom:
    """A class in which two make the same mistake, one is late, and one hands in nothing."""
    room = Classroom(make_lean_course(tmp_path_factory.mktemp("course"), LESSON), LESSON)
    with room.course.gradebook() as gradebook:
        gradebook.find_assignment(LESSON).duedate = datetime.datetime(2026, 1, 1)
        names = {"ada": ("Ada", "Lovelace"), "bo": ("Bo", "Li"), "cal": ("Bo", "Li")}
        for student in ("ada", "bo", "cal", "cleo", "eve", "hal"):
            first, last = names.get(student, ("", ""))
            gradebook.add_student(student, first_name=first, last_name=last)
        gradebook.db.commit()
    room.hand_in("ada", room.key())
    room.hand_in("bo", room.blank())
    for student, answer in SOFTMAX.items():
        notebook = room.key()
        cell_of(notebook, "softmax").source = answer
        room.hand_in(student, notebook)
    late = room.course.submission(LESSON, "cal") / "timestamp.txt"
    late.write_text("2026-01-02 00:00:00 UTC")
    notes = {"cal": [LATE_MARK], "eve": [LATE_MARK, "b.ipynb is taken, since a.ipynb is older"]}
    room.course.note_collected(LESSON, notes)
    room.grade()
    return room


@pytest.fixture(scope="module")
def report(room):
    return quietly(read_class, room.course, LESSON)


def test_students_with_one_mistake_stand_together_before_rarer_ones(report):
    groups = report.groups("softmax")
    assert [students for _, students in groups] == [["cal", "cleo"], ["eve"], ["bo"]]
    mistake = groups[0][0].mistake
    assert mistake in {f"softmax-{one.id}" for one in EXERCISES["softmax"].mistakes}


def test_table_says_what_collecting_said_about_the_notebook_and_the_time(room):
    note = f"{LATE_MARK}; b.ipynb is taken, since a.ipynb is older"
    assert room.results["eve"].note.endswith(note)
    assert "late by 1 day" in room.results["cal"].note
    assert LATE_MARK not in room.results["cal"].note


def test_who_is_missing_late_or_without_an_answer_is_named(report):
    assert report.away["handed in nothing"] == ["hal"]
    assert report.late == ["cal", "eve"]
    assert report.never_ran == ["bo"]


def test_text_says_who_is_stuck_on_what(report):
    text = as_text(report)
    assert "5 graded; 1 handed in nothing (hal); 2 late (cal, eve)" in text
    assert "softmax: 1 right, 2 wrong, 1 stopped by an error, 1 not attempted" in text
    assert re.search(r"^   2  softmax-[a-z-]+, .*\. \(cal cleo\)$", text, re.MULTILINE | re.DOTALL)


def test_who_is_not_in_the_roster_is_named_and_not_counted(room):
    try:
        room.course.roster.write_text("id\nhal\n", "utf-8")
        report = quietly(read_class, room.course, LESSON)
        assert "0 graded; 5 not in classroom/students.csv" in as_text(report)
        assert "0 graded" in as_page(report)
        room.course.roster.write_text("id\nada\nbo\ncal\n", "utf-8")
        report = quietly(read_class, room.course, LESSON)
    finally:
        room.course.roster.unlink()
    assert "3 graded; 2 not in classroom/students.csv (cleo, eve)" in as_text(report)
    assert report.outcomes("softmax") == {"right": 1, "wrong": 1, "unattempted": 1}
    outcomes = {row["outcome"] for row in csv.DictReader(io.StringIO(as_csv(report)))}
    assert "not in classroom/students.csv" in outcomes


def test_text_explains_the_words_that_it_uses(report):
    explained = as_text(report).splitlines()[-1]
    assert explained.startswith("(wrong: the check says why; stopped by an error: ")
    assert "not attempted: the answer is as it was given out" in explained
    assert "not checked" not in explained


def test_text_names_the_stub_that_an_answer_calls():
    def entropy(weights, axis=-1):
        raise NotImplementedError()

    found = verdict(lambda scores, target: entropy(scores), "temperature_for_entropy")
    assert short(Finding(found.outcome, sentence=found.sentence, awaits=found.awaits)) == (
        "temperature_for_entropy calls entropy, which is not written yet."
    )
    found = verdict(..., "entropy")
    assert short(Finding(found.outcome, sentence=found.sentence)) == "not attempted"


@pytest.mark.parametrize(
    ("name", "outcome"),
    [("NameError", "error"), ("PythonStopped", "error"), ("NotChecked", NOT_CHECKED)],
)
def test_answer_whose_cell_ended_in_an_error_was_stopped_by_one(name, outcome):
    output = error_output(name, "softmax is not defined: its cell stopped with KeyError.")
    assert _finding_from_outputs([output]).outcome == outcome


def test_csv_has_a_line_for_each_answer_and_no_formula(report):
    rows = list(csv.DictReader(io.StringIO(as_csv(report))))
    assert len(rows) == 6 * len(report.worth)
    of_hal = [row for row in rows if row["student"] == "hal"]
    assert [row["exercise"] for row in of_hal] == list(report.worth)
    assert {(row["points"], row["outcome"]) for row in of_hal} == {("", "handed in nothing")}
    of_eve = next(row for row in rows if (row["student"], row["exercise"]) == ("eve", "softmax"))
    assert (of_eve["points"], of_eve["outcome"]) == ("0", "error")
    assert {row["points"] for row in rows if row["exercise"] == "written_softmax"} <= {"", "0"}
    assert {(row["student"], row["late"], row["name"]) for row in rows} == {
        *(("ada", "", "Ada Lovelace"), ("bo", "", "Bo Li"), ("cal", "late", "Bo Li")),
        *(("cleo", "", ""), ("eve", "late", ""), ("hal", "", "")),
    }
    assert not any(value.startswith(("=", "+", "-", "@")) for row in rows for value in row.values())


def test_command_writes_a_page_that_needs_nothing_else(room, monkeypatch, capsys):
    monkeypatch.chdir(room.course.root)
    assert quietly(main, [LESSON]) == 0
    assert "classroom/reports/01_softmax.html" in capsys.readouterr().out
    page = room.course.report(LESSON).read_text("utf-8")
    soup = BeautifulSoup(page, "html.parser")
    assert not soup.find_all(["script", "link", "img", "iframe"])
    assert not re.search(r"https?://", page)
    assert "Bo Li (cal), cleo" in soup.get_text()
    assert (
        "not attempted"
        in soup.select_one("#softmax").find("bdi", string="Bo Li (bo)").find_parent("tr").get_text()
    )
    legend = soup.find("summary", string="Legend").parent.get_text(" ")
    for word in (*OUTCOMES_SHOWN, "? waits to be marked by hand", "- is not handed in", "0 is"):
        assert word in legend
    assert all(picture["aria-label"] for picture in soup.find_all("svg"))


def test_most_of_many_names_are_folded_and_stand_in_their_order(report):
    students = [f"s{number:03}" for number in range(300)]
    many = replace(
        report,
        standings=dict.fromkeys(students, Standing({"softmax": 0.0})),
        findings={one: {"softmax": Finding("wrong", "", "Numbers.")} for one in students},
        names={one: f"Name {one[::-1]}" for one in students},
    )
    soup = BeautifulSoup(as_page(many), "html.parser")
    (cell,) = soup.select("#softmax td:nth-child(3)")
    shown = [name.text for name in cell.find_all("bdi")]
    assert shown == sorted(many.names.values())
    assert cell.details.summary.text == "and 292 more"
    assert soup.select_one('.overview a[href="#softmax"]').find_parent("tr").td.text == "softmax"


def test_lesson_that_nobody_was_graded_for_is_said_so(room):
    with pytest.raises(CourseError, match="Nobody has been graded for 02_stability yet"):
        quietly(read_class, room.course, LESSONS[1])
