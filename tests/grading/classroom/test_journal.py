"""The journal remembers what was done, and no accident makes it remember anything else."""

import pytest

from attention_lib.grading.classroom.course import CourseError
from attention_lib.grading.classroom.journal import Journal


def remembered(path):
    with Journal(path) as journal:
        return {student: vars(entry) for student, entry in journal.entries.items()}


def test_the_last_word_counts(tmp_path):
    path = tmp_path / "journal"
    with Journal(path) as journal:
        journal.note("ada", work="1", automatic={"check_a": 1.0, "written": None}, note="stopped")
        journal.note("bo", work="1")
        journal.note("ada", page="p")
        journal.note("bo", work="2", automatic={"check_a": 0.0})
    assert remembered(path) == {
        "ada": {
            "work": "1",
            "automatic": {"check_a": 1.0, "written": None},
            "note": "stopped",
            "page": "p",
        },
        "bo": {"work": "2", "automatic": {"check_a": 0.0}, "note": "", "page": ""},
    }


def test_a_journal_cut_anywhere_knows_what_was_whole_and_goes_on(tmp_path):
    path = tmp_path / "journal"
    with Journal(path) as journal:
        journal.note("ada", work="1", note="ä")
        first = path.stat().st_size
        journal.note("bo", work="2")
    whole = path.read_bytes()
    for length in range(first, len(whole)):
        path.write_bytes(whole[:length])
        with Journal(path) as journal:
            assert list(journal.entries) == ["ada"] or length == len(whole) - 1
            journal.note("cy", work="3")
        assert {"ada", "cy"} <= remembered(path).keys()


@pytest.mark.parametrize("line", ["[]", "1", "{}", '{"student": 1}', '{"student": [], "work": 1}'])
def test_a_strange_line_is_passed_over(tmp_path, line):
    path = tmp_path / "journal"
    path.write_text(f'{line}\n{{"student": "ada", "work": "1"}}\n')
    assert remembered(path)["ada"]["work"] == "1"


def test_an_unfinished_batch_has_a_seed_and_a_finished_one_has_none(tmp_path):
    path = tmp_path / "journal"
    with Journal(path) as journal:
        assert journal.seed is None
        journal.begin(17)
    with Journal(path) as journal:
        assert journal.seed == 17
        journal.end()
    with Journal(path) as journal:
        assert journal.seed is None


def test_what_was_to_be_done_again_is_to_be_done_again_after_an_accident(tmp_path):
    path = tmp_path / "journal"
    with Journal(path) as journal:
        journal.note("ada", work="1")
        journal.note("bo", work="1")
        journal.begin(17, again=True)
        journal.note("ada", work="1")
        assert list(journal.entries) == ["ada"]
    assert list(remembered(path)) == ["ada"]


def test_a_lesson_is_graded_by_one_batch_at_a_time(tmp_path):
    pytest.importorskip("fcntl", reason="there is no lock on files here")
    with Journal(tmp_path / "journal"):
        with pytest.raises(CourseError, match="being graded already"):
            Journal(tmp_path / "journal")
        Journal(tmp_path / "another").close()
    Journal(tmp_path / "journal").close()
