"""The corpus of answers, and the command that prints how well wrong ones are explained."""

import dataclasses
import functools
import re

import numpy as np
import pytest

from attention_lib.checks.judging import judge
from attention_lib.exercises import EXERCISES
from benchmarks import explanations
from benchmarks.answers import CORPUS, RATINGS, Answer, answers, write_answers
from benchmarks.explanations import (
    checked,
    is_found,
    is_said,
    labels_of,
    rating_of,
    share_rows,
    updated,
)
from tests.exercises.chosen import chosen, chosen_lessons

UPDATE = (
    "Run .venv/bin/python -m benchmarks.explanations --update, read what changed, and have it rated"
)
ANSWER = Answer(
    lesson="01_softmax",
    name="somebody/1",
    exercise="softmax",
    text="def softmax(scores, axis=-1):\n    return np.exp(scores)\n",
    writer="somebody",
    half="held",
    teacher="Divide by the sum.",
)
all_answers = functools.cache(answers)


def pytest_generate_tests(metafunc):
    if "reports" in metafunc.fixturenames:
        lessons = [
            pytest.param(name, marks=pytest.mark.xdist_group(f"answers_{name}"))
            for name in chosen_lessons(metafunc.config)
        ]
        metafunc.parametrize("reports", lessons, indirect=True, scope="module")


@pytest.fixture(scope="module")
def reports(request):
    """Judge the wrong answers of a lesson, or of the one exercise that is tried."""
    tried = chosen(request.config)
    # What np.empty finds in memory may be NaN, of which another sentence is said.
    found = np.random.default_rng(0).uniform(3, 9, 1000)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(np, "empty", lambda n, dtype=float: np.resize(found, n).astype(dtype))
        of_lesson = [one for one in all_answers() if one.lesson == request.param]
        wrong = [one for one in of_lesson if one.exercise in tried and not one.right]
        return {one: checked(one) for one in wrong}


@pytest.mark.slow
def test_every_wrong_answer_is_refused_with_its_labels_and_lines(reports):
    for one, it in reports.items():
        if not is_found(one, it):
            pytest.fail(
                f"{UPDATE}: tests/answers/{one.lesson}.yaml has for {one.name} the labels "
                f"{[*one.labels]} and lines {[*one.lines]}; it is {it.outcome}, and the check finds "
                f"{[*labels_of(it)]} and {[*it.lines]}."
            )


@pytest.mark.slow
def test_stored_sentences_are_those_said_now(reports):
    rated = {one: it for one, it in reports.items() if one.writer}
    assert {one.name: it.sentence for one, it in rated.items() if not is_said(one, it)} == {}, (
        UPDATE
    )


def test_stored_sentences_of_known_mistakes_are_their_sentences():
    outdated = [
        (one.name, mistake.sentence)
        for one in all_answers()
        for mistake in EXERCISES[one.exercise].mistakes
        if one.writer and one.labels == (f"known {mistake.id}",)
        if mistake.sentence not in one.said
    ]
    assert outdated == [], UPDATE


def test_answers_have_names_of_their_own_and_labels():
    named = {one.name for one in all_answers()}
    assert len(named) == len(all_answers())
    for one in all_answers():
        assert one.right or one.labels, one.name
        assert one.faults in (1, 2), one.name


def test_answers_by_writers_have_what_a_teacher_would_say_and_a_rating():
    for one in all_answers():
        expected = ("development", "held") if one.writer else ("",)
        assert one.half in expected, one.name
        assert one.teacher.endswith((".", "?")) == bool(one.writer), one.name
        assert one.rating in (*RATINGS, ""), one.name


def test_published_shares_are_those_of_the_ratings():
    rated = [one for one in all_answers() if one.writer]
    share = f"{sum(one.rating == 'told' for one in rated) / len(rated):.0%}".replace("%", " %")
    readme, study = (
        " ".join((CORPUS.parents[1] / page).read_text("utf-8").split())
        for page in ("README.md", "docs/explanations.md")
    )
    assert f"Of {len(rated)} wrong answers by four writers, {share} are told" in study
    assert f"Today's shares, of {len(rated)}:" in readme
    fresh = [one for one in rated if one.writer in ("three", "four")]
    assert f"wrote {len(fresh)} wrong answers" in readme
    for faults in (1, 2):
        of_all = f"[0-9]+ of {sum(one.faults == faults for one in fresh)}"
        assert re.findall(of_all, readme) == re.findall(of_all, study) != []


def test_answers_are_read_as_they_were_written(tmp_path):
    lesson = answers(lesson="01_softmax")
    write_answers(lesson, tmp_path)
    assert answers(tmp_path) == lesson


@pytest.mark.parametrize(
    ("field", "said"),
    [
        (
            "exercise: softmaxx",
            'somebody/1: There is no exercise "softmaxx". Did you mean softmax?',
        ),
        ("exercise: entropy", "somebody/1 answers entropy, which is no function of 01_softmax."),
        ("exercise: weighted_sum", "somebody/1 has a text without `def weighted_sum\\(`."),
        (
            "exercise: softmax\n  label: edit",
            "somebody/1 has a field label; an answer has exercise",
        ),
        ("exercise: softmax\n  - labels", "while parsing a block mapping"),
        ("right: true", "somebody/1 has no exercise."),
    ],
)
def test_row_that_is_no_answer_is_named(tmp_path, field, said):
    row = f"- name: somebody/1\n  text: 'def softmax(scores): ...'\n  {field}\n"
    (tmp_path / "01_softmax.yaml").write_text(row)
    with pytest.raises(ValueError, match=f"tests/answers/01_softmax.yaml: {said}"):
        answers(tmp_path)


def test_answer_is_told_what_a_learner_is_told():
    report = judge(EXERCISES["softmax"], lambda scores, axis=-1: np.exp(scores), seed=0)
    now = checked(ANSWER)
    assert (now.sentence, now.kind, now.outcome) == (report.sentence, report.kind, "wrong")


def test_answer_that_does_not_compile_is_an_error():
    report = checked(dataclasses.replace(ANSWER, text="def softmax(scores)\n    pass\n"))
    assert (report.outcome, report.kind) == ("error", "cell SyntaxError")
    assert report.sentence.startswith("SyntaxError: expected ':'")


def test_answer_whose_cell_never_ends_is_stopped(monkeypatch):
    monkeypatch.setattr(explanations, "CALL_SECONDS", 0.1)
    report = checked(dataclasses.replace(ANSWER, text="while True:\n    pass\n"))
    assert (report.outcome, report.sentence) == ("error", "OutOfTime: ")


def rated(said, rating, report):
    labels = tuple(report.kind.split("; "))
    return dataclasses.replace(ANSWER, labels=labels, said=said, rating=rating)


def test_rating_holds_while_only_numbers_of_the_sentence_change():
    report = dataclasses.replace(checked(ANSWER), sentence="It took 12 s, not 0.31 s.")
    stored = rated("It took 1.5 s, not 0.2 s.", "bare", report)
    assert rating_of(stored, report) == "bare"
    assert rating_of(stored, dataclasses.replace(report, sentence="It took too long.")) == ""
    assert rating_of(stored, dataclasses.replace(report, kind="edit")) == ""
    assert rating_of(ANSWER, report) == ""


def test_update_stores_what_is_said_and_drops_the_rating_of_another_sentence():
    report = checked(ANSWER)
    kept = rated(report.sentence, "told", report)
    assert updated(kept, report) == kept
    now = updated(rated("Wrong.", "bare", report), report)
    assert (now.said, now.rating) == (report.sentence, "")
    assert is_found(now, report)


def test_share_is_that_of_rated_answers():
    group = [dataclasses.replace(ANSWER, name=f"{n}", faults=1 + n % 2) for n in range(4)]
    rows = list(share_rows(dict(zip(group, ["told", "partly", "told", ""], strict=True))))
    assert [row[0] for row in rows] == [
        "01_softmax", "faults: 1", "faults: 2", "held", "writer somebody", "all",
    ]  # fmt: skip
    assert rows[1] == ["faults: 1", "2", "2", "2", "0", "0", "0", "100%"]
    assert rows[-1] == ["all", "4", "3", "2", "1", "0", "0", "67%"]
