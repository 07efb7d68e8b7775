"""The corpus of natural mistakes, and the command that prints how well they are explained."""

import dataclasses
import functools

import numpy as np
import pytest

from attention_lib.checks.judging import judge
from attention_lib.exercises import EXERCISES
from benchmarks import explanations
from benchmarks.explanations import (
    CORPUS,
    RATINGS,
    Entry,
    checked,
    entries,
    is_stored,
    rating_of,
    read_ratings,
    share_rows,
    updated,
)

FILES = [
    pytest.param(file, id=f"{file.parent.name}/{file.stem}")
    for file in sorted(CORPUS.glob("*/[0-9][0-9]_*.yaml"))
]
stored_ratings = functools.cache(read_ratings)

ENTRY = Entry(
    writer="somebody",
    lesson="01_softmax",
    number=1,
    exercise="softmax",
    answer="def softmax(scores, axis=-1):\n    return np.exp(scores)\n",
    teacher="Divide by the sum.",
)


@pytest.mark.slow
@pytest.mark.parametrize("file", FILES)
def test_every_entry_is_refused_with_the_sentence_that_is_stored(file, monkeypatch):
    # What np.empty finds in memory may be NaN, of which another sentence is said.
    found = np.random.default_rng(0).uniform(3, 9, 1000)
    monkeypatch.setattr(np, "empty", lambda n, dtype=float: np.resize(found, n).astype(dtype))
    of_file = [e for e in entries(lesson=file.stem) if e.writer == file.parent.name]
    stored, said = stored_ratings(), {entry: checked(entry) for entry in of_file}
    assert of_file
    assert [entry.name for entry in of_file if said[entry][0] not in ("wrong", "error")] == []
    assert {
        entry.name: sentence
        for entry, (_, sentence) in said.items()
        if not is_stored(entry, sentence, stored)
    } == {}, "Have these rated: see CONTRIBUTING.md, Rate the explanations."


def test_entries_name_an_exercise_of_their_lesson_and_say_what_a_teacher_would():
    for entry in entries():
        exercise = EXERCISES[entry.exercise]
        assert (exercise.lesson, exercise.kind) == (entry.lesson, "function"), entry.name
        assert f"def {entry.exercise}(" in entry.answer, entry.name
        assert entry.faults in (1, 2), entry.name
        assert entry.half in ("development", "held"), entry.name
        assert entry.teacher.endswith((".", "?")), entry.name


def test_each_exercise_has_its_development_half_before_its_held_half():
    halves = {}
    for entry in entries():
        halves.setdefault((entry.writer, entry.exercise), []).append(entry.half)
    for key, in_order in halves.items():
        assert in_order == sorted(in_order), key


def test_ratings_are_of_entries_that_exist():
    assert stored_ratings().keys() <= {entry.name for entry in entries()}
    assert {record["rating"] for record in stored_ratings().values()} <= {*RATINGS, None}


def test_published_share_is_that_of_the_ratings():
    ratings = [record["rating"] for record in stored_ratings().values()]
    share = f"{ratings.count('told') / len(ratings):.0%}".replace("%", " %")
    text = " ".join((CORPUS.parents[1] / "CONTRIBUTING.md").read_text("utf-8").split())
    assert f"{len(ratings)} " in text
    assert share in text


def test_entry_is_told_what_a_learner_is_told():
    report = judge(EXERCISES["softmax"], lambda scores, axis=-1: np.exp(scores), seed=0)
    assert checked(ENTRY) == (report.outcome, report.sentence)


def test_answer_that_does_not_compile_is_an_error():
    entry = dataclasses.replace(ENTRY, answer="def softmax(scores)\n    pass\n")
    outcome, sentence = checked(entry)
    assert outcome == "error"
    assert sentence.startswith("SyntaxError: expected ':'")


def test_answer_whose_cell_never_ends_is_stopped(monkeypatch):
    monkeypatch.setattr(explanations, "CALL_SECONDS", 0.1)
    entry = dataclasses.replace(ENTRY, answer="while True:\n    pass\n")
    assert checked(entry) == ("error", "OutOfTime: ")


def test_rating_holds_while_only_numbers_of_the_sentence_change():
    stored = {ENTRY.name: {"said": "It took 1.5 s, not 0.2 s.", "rating": "bare"}}
    assert rating_of(ENTRY, "It took 12 s, not 0.31 s.", stored) == "bare"
    assert rating_of(ENTRY, "It took too long.", stored) is None
    assert rating_of(ENTRY, "It took 12 s, not 0.31 s.", {}) is None


def test_update_stores_new_sentences_and_drops_their_ratings():
    other = dataclasses.replace(ENTRY, number=2)
    stored = {
        ENTRY.name: {"said": "Wrong.", "rating": "bare"},
        other.name: {"said": "Divide by the sum.", "rating": "told"},
    }
    assert updated({ENTRY: "Sum to 1.", other: "Divide by the sum."}, stored) == {
        ENTRY.name: {"said": "Sum to 1.", "rating": None},
        other.name: {"said": "Divide by the sum.", "rating": "told"},
    }


def test_share_is_that_of_rated_entries():
    group = [
        dataclasses.replace(ENTRY, number=number, faults=1 + number % 2) for number in range(4)
    ]
    rows = list(share_rows(dict(zip(group, ["told", "partly", "told", None], strict=True))))
    assert [row[0] for row in rows] == [
        "01_softmax", "faults: 1", "faults: 2", "held", "writer somebody", "all",
    ]  # fmt: skip
    assert rows[1] == ["faults: 1", "2", "2", "2", "0", "0", "0", "100%"]
    assert rows[-1] == ["all", "4", "3", "2", "1", "0", "0", "67%"]
