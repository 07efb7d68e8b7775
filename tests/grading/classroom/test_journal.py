"""The journal of a lesson: what it keeps, and what it keeps after a crash."""

import pytest

from attention_lib.grading.classroom.course import CourseError
from attention_lib.grading.classroom.journal import Journal


def remembered(path):
    with Journal(path) as journal:
        return {student: vars(entry) for student, entry in journal.entries.items()}


def test_last_line_about_a_student_counts(tmp_path):
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


def test_truncated_journal_keeps_its_whole_lines_and_can_be_continued(tmp_path):
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
def test_invalid_line_is_skipped(tmp_path, line):
    path = tmp_path / "journal"
    path.write_text(f'{line}\n{{"student": "ada", "work": "1"}}\n')
    assert remembered(path)["ada"]["work"] == "1"


def test_again_flag_survives_a_crash(tmp_path):
    path = tmp_path / "journal"
    with Journal(path) as journal:
        journal.note("ada", work="1")
        journal.note("bo", work="1")
        journal.begin_again()
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
