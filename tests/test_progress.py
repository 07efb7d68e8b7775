"""A learner's progress is counted right, kept in learn/ and nowhere else, and never in the way."""

import datetime
import json
import os
import re
import subprocess
import sys
import threading
from pathlib import Path

import numpy as np
import pytest

from attention_lib import check, learn, progress, record, standing
from attention_lib.checks.show.panel import CheckFailed
from attention_lib.exercises import EXERCISES
from attention_lib.lessons import LESSONS
from attention_lib.record import FILE, RELEASES, Check, Record
from tests.checks.judged import right

FIRST = standing.count(Record(), "01_softmax")
ONE_SOLVED = f"1 of {FIRST.exercises} exercises solved"


@pytest.fixture(autouse=True)
def by_hand(monkeypatch):
    """Begin with a kernel that no grader started."""
    monkeypatch.delenv("NBGRADER_EXECUTION", raising=False)


@pytest.fixture
def learn_folder(tmp_path, monkeypatch):
    """Work in a folder as `make lab` leaves it."""
    folder = tmp_path / "learn"
    folder.mkdir()
    (folder / RELEASES).write_text("{}")
    monkeypatch.chdir(folder)
    return folder


def over_all(scores, axis=-1):
    return np.exp(scores) / np.exp(scores).sum()


def restarted():
    """Forget what the kernel has in memory."""
    record._unwritten.clear()


def test_checks_of_a_learner_are_there_after_a_restart(learn_folder, capsys):
    with pytest.raises(CheckFailed):
        check("softmax", over_all)
    check("softmax", right)
    with pytest.raises(CheckFailed):
        check("softmax", over_all)
    restarted()
    capsys.readouterr()
    progress()
    text = capsys.readouterr().out
    assert f"Lesson 01_softmax: {FIRST}; 2 more" in text
    assert "Your last check was of softmax, today." in text
    assert "softmax: solved earlier, not right at the last check." in text
    assert "A known mistake met in softmax, 2 times: " in text
    assert "the sum must run along axis only" in text
    check("softmax", right)
    restarted()
    progress()
    text = capsys.readouterr().out
    assert f"Lesson 01_softmax: {ONE_SOLVED}, 3 of {FIRST.of_points} points; 2 more" in text
    assert "Next in this lesson: normalize_by_sum." in text
    assert "solved earlier" not in text
    assert "A known mistake" not in text
    assert "Kept in learn/.progress.json, on this machine only." in text
    assert {path.name for path in learn_folder.iterdir()} <= {FILE, f"{FILE}.lock", RELEASES}


def test_an_answer_that_is_not_there_yet_is_no_check(learn_folder):
    with pytest.raises(CheckFailed):
        check("study_weights", None)
    assert not (learn_folder / FILE).exists()


def test_outside_learn_progress_is_kept_in_memory_and_says_so(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    check("softmax", right)
    progress("01_softmax")
    text = capsys.readouterr().out
    assert ONE_SOLVED in text
    assert "kept only until its kernel stops" in text
    assert list(tmp_path.iterdir()) == []


def test_nbgrader_that_runs_a_notebook_leaves_no_trace(learn_folder, monkeypatch):
    monkeypatch.setenv("NBGRADER_EXECUTION", "autograde")
    check("softmax", right)
    assert not (learn_folder / FILE).exists()


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"{",
        b"[]",
        b"null",
        b"\xff",
        pytest.param(b"[" * 100_000, id="too-deep"),
        b'{"exercises": 3, "last": [], "day": {}}',
        b'{"exercises": {"softmax": 1, "entropy": {"checks": "x", "solved": 4, "mistakes": [1]}}}',
    ],
)
def test_a_torn_record_is_kept_under_another_name_and_said_once(learn_folder, content, capsys):
    (learn_folder / FILE).write_bytes(content)
    check("softmax", right)
    told = capsys.readouterr().out
    assert told.startswith("softmax: right.")
    assert "learn/.progress.json, was damaged: it is kept as .progress.damaged-1.json" in told
    assert (learn_folder / ".progress.damaged-1.json").read_bytes() == content
    assert json.loads((learn_folder / FILE).read_text())["exercises"]["softmax"]["solved"]
    progress()
    told = capsys.readouterr().out
    assert "damaged" not in told
    assert ONE_SOLVED in told


def test_what_can_be_read_of_a_damaged_record_is_gone_on_with(learn_folder, capsys):
    check("softmax", right)
    restarted()
    content = json.loads((learn_folder / FILE).read_text())
    content["exercises"]["entropy"] = 1
    (learn_folder / FILE).write_text(json.dumps(content))
    (learn_folder / ".progress.damaged-1.json").write_text("of another day")
    progress()
    told = capsys.readouterr().out
    assert "kept as .progress.damaged-2.json" in told
    assert ONE_SOLVED in told
    assert json.loads((learn_folder / ".progress.damaged-2.json").read_text()) == content
    assert (learn_folder / ".progress.damaged-1.json").read_text() == "of another day"


def test_make_lab_tells_of_a_damaged_record(learn_folder, monkeypatch, capsys):
    (learn_folder / FILE).write_text("{")
    monkeypatch.setattr(learn, "COURSE", learn_folder.parent)
    monkeypatch.setattr(learn, "open_lab", lambda *_: None)
    (learn_folder.parent / "notebooks" / "01_softmax").mkdir(parents=True)
    (learn_folder.parent / "notebooks" / "01_softmax" / "01_softmax.ipynb").write_text("{}")
    assert learn.main([]) is None
    assert "was damaged: it is kept as .progress.damaged-1.json" in capsys.readouterr().out


def test_a_damaged_record_that_cannot_be_renamed_stays(learn_folder, monkeypatch):
    (learn_folder / FILE).write_text("{")

    def refuse(*_, **__):
        raise PermissionError(13, "Permission denied")

    with monkeypatch.context() as patched:
        patched.setattr(os, "replace", refuse)
        check("softmax", right)
    assert (learn_folder / FILE).read_text() == "{"


def test_a_record_of_another_version_is_whole(learn_folder, capsys):
    content = {"exercises": {"no_such": {"solved": "2026-01-01"}}, "last": "no_such"}
    (learn_folder / FILE).write_text(json.dumps(content))
    progress()
    assert "damaged" not in capsys.readouterr().out


@pytest.mark.parametrize("call", ["write_text", "replace"])
def test_a_folder_that_cannot_be_written_disturbs_no_check(learn_folder, monkeypatch, capsys, call):
    def refuse(*_, **__):
        raise PermissionError(13, "Permission denied")

    owner = Path if call == "write_text" else os
    with monkeypatch.context() as patched:
        patched.setattr(owner, call, refuse)
        check("softmax", right)
        printed = capsys.readouterr()
        assert printed.out.startswith("softmax: right.")
        assert printed.err == ""
        progress()
        assert ONE_SOLVED in capsys.readouterr().out
    check("study_weights", EXERCISES["study_weights"].reference)
    assert set(json.loads((learn_folder / FILE).read_text())["exercises"]) == {
        "softmax",
        "study_weights",
    }


def test_a_lock_that_another_holds_only_delays_the_record(learn_folder, monkeypatch):
    from filelock import FileLock

    monkeypatch.setattr(record, "LOCK_SECONDS", 0.05)
    held = FileLock(learn_folder / f"{FILE}.lock")
    taken, done = threading.Event(), threading.Event()

    def hold():
        with held:
            taken.set()
            done.wait(30)

    holder = threading.Thread(target=hold)
    holder.start()
    taken.wait(30)
    record.note(Check("softmax", True))
    done.set()
    holder.join()
    assert not (learn_folder / FILE).exists()
    record.note(Check("entropy", True))
    assert set(record.read(learn_folder).exercises) == {"softmax", "entropy"}
    assert record._unwritten == []


WRITER = """
import sys
from attention_lib.record import Check, note
for _ in range(40):
    note(Check(sys.argv[1], False, "abc"))
"""


@pytest.mark.slow
def test_two_notebooks_at_once_lose_no_check(learn_folder):
    names = ["softmax", "entropy"]
    course = str(Path(learn.__file__).parents[1])
    writers = [
        subprocess.Popen(
            [sys.executable, "-c", WRITER, name], env={**os.environ, "PYTHONPATH": course}
        )
        for name in names
    ]
    assert [writer.wait(60) for writer in writers] == [0, 0]
    exercises = record.read(learn_folder).exercises
    assert {name: tried.checks for name, tried in exercises.items()} == dict.fromkeys(names, 40)


def test_after_a_week_the_place_is_said_and_opened(learn_folder, monkeypatch, capsys):
    week_ago = (datetime.date.today() - datetime.timedelta(days=7)).isoformat()
    record.note(Check("entropy", False, day=week_ago))
    restarted()
    released = learn_folder.parent / "notebooks"
    for lesson in LESSONS[:4]:
        (released / lesson).mkdir(parents=True)
        (released / lesson / f"{lesson}.ipynb").write_text("as given")
    opened = []
    monkeypatch.setattr(learn, "COURSE", learn_folder.parent)
    monkeypatch.setattr(learn, "open_lab", lambda first, *_: opened.append(first.name))
    assert learn.main([]) is None
    assert opened == ["03_scaling.ipynb"]
    assert "Your last check was of entropy, 7 days ago." in capsys.readouterr().out


def test_what_is_next_goes_on_to_later_lessons_and_then_to_what_was_left_out():
    solved = Record()
    names = {lesson: [] for lesson in LESSONS}
    for exercise in EXERCISES.values():
        if exercise.kind != "written":
            names[exercise.lesson].append(exercise.name)
    for name in names["02_stability"]:
        solved.add(Check(name, True))
    assert standing.next_exercise(solved, "02_stability").name == names["03_scaling"][0]
    assert standing.lesson_to_open(solved) == "03_scaling"
    for lesson in LESSONS[2:]:
        for name in names[lesson]:
            solved.add(Check(name, True))
    assert standing.next_exercise(solved, "02_stability").lesson == "01_softmax"
    for name in names["01_softmax"]:
        solved.add(Check(name, True))
    assert standing.next_exercise(solved, "10_gpu") is None
    assert "You have solved every exercise of the course." in standing.sentences(solved, "10_gpu")


def test_the_counts_are_those_of_the_course():
    whole = standing.count(Record())
    assert whole.of_points + whole.in_words == sum(one.points for one in EXERCISES.values())
    assert sum(standing.count(Record(), name).exercises for name in LESSONS) == whole.exercises


def test_an_unknown_lesson_is_named():
    with pytest.raises(ValueError, match="There are: 01_softmax, "):
        progress("eleven")


@pytest.mark.parametrize("lesson", LESSONS)
def test_every_lesson_shows_the_learners_progress_behind_its_summary(lesson):
    path = Path(learn.__file__).parents[1] / "solutions" / f"{lesson}.md"
    _, summary, behind = path.read_text(encoding="utf-8").partition("\n## Summary\n")
    assert summary
    shown = re.findall(r'^```python tags=\["progress"\]\n(.*?)```$', behind, re.M | re.S)
    assert [cell.splitlines()[-1] for cell in shown] == [f'progress("{lesson}")']
