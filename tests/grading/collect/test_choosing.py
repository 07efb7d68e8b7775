"""Of several notebooks the newest with answers counts, on every platform, and is named."""

import zipfile

import nbformat
import pytest
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook

from attention_lib.grading.classroom.course import LATE_MARK
from attention_lib.grading.collect.collecting import collect_export
from tests.grading.collect.zips import submitted, zipped
from tests.grading.sample_class import LESSONS, make_course

LESSON, OTHER = LESSONS[:2]
MOODLE = "Ada Lovelace_801_assignsubmission_file_"
CANVAS = "lovelaceada_5_902_", "lovelaceada_5_901_"
STUB = "def softmax(scores): ..."


def notebook(source, name="softmax"):
    """Return a notebook with one answer cell, as a file's content."""
    settings = {"grade_id": name, "solution": True, "grade": False}
    cells = [new_markdown_cell("# Lesson", id="a")]
    cells.append(new_code_cell(source, id="b", metadata={"nbgrader": settings}))
    return nbformat.writes(new_notebook(cells=cells)).encode()


def with_notes(content, *cells):
    """Add cells of a student's own, as a name and a date are."""
    whole = nbformat.reads(content.decode(), as_version=4)
    whole.cells += cells
    return nbformat.writes(whole).encode()


BLANK, ONE, TWO = (notebook(source) for source in (STUB, f"{STUB} # 1", f"{STUB} # 2"))
FOREIGN = notebook("def stable_softmax(scores): return 1", "stable_softmax")
DAMAGED = ONE[:-40]
NAMED = with_notes(BLANK, new_markdown_cell("Ada, 1 May"), new_code_cell("1 + 1"))
ELSEWHERE = with_notes(BLANK, new_code_cell("def softmax(scores): return 1"))


@pytest.fixture
def course(tmp_path):
    course = make_course(tmp_path, LESSON, OTHER)
    course.roster.parent.mkdir()
    course.roster.write_text("id,first_name,last_name\nada,Ada,Lovelace\nbo,Bo,Li\n")
    course.released(LESSON).parent.mkdir(parents=True)
    course.released(LESSON).write_bytes(BLANK)
    return course


@pytest.fixture
def export(course):
    """Collect an export that holds these files, each with the day of January on which it was made."""

    def export(*files):
        entries = [
            (zipfile.ZipInfo(name, (2026, 1, *day, 0, 0, 0)) if day else name, content)
            for name, content, *day in files
        ]
        path = course.root / "export.zip"
        path.write_bytes(zipped(*entries))
        return collect_export(course, LESSON, path)

    return export


def taken(course):
    """Return what was collected for Ada."""
    return submitted(course).get(f"ada/{LESSON}/{LESSON}.ipynb")


NAMES = [f"{LESSON}.ipynb", f"{LESSON} (1).ipynb", f"Copy of {LESSON}.ipynb", "final.ipynb"]
NAMES += [f"{LESSON}-Copy1.ipynb", f"{LESSON} (2).ipynb", f"{LESSON}.ipynb.txt"]


PAIRS = [(one, f"{LESSON}.ipynb") for one in NAMES[1:]] + [(one, "a (3).ipynb") for one in NAMES]


@pytest.mark.parametrize(("newer", "older"), PAIRS)
@pytest.mark.parametrize("in_a_zip", [False, True])
def test_newer_notebook_with_answers_counts_on_moodle(course, export, newer, older, in_a_zip):
    files = [(newer, TWO, 9), (older, ONE, 8), ("data.csv", b"x", 1)]
    if in_a_zip:
        inner = [(zipfile.ZipInfo(name, (2026, 1, day, 0, 0, 0)), one) for name, one, day in files]
        result = export((f"{MOODLE}/work.zip", zipped(*inner), 10))
    else:
        result = export(*((f"{MOODLE}/{name}", *rest) for name, *rest in files))
    assert taken(course) == TWO
    assert f"{newer} is taken, since {older} is older" in result.collected[0]
    assert course.collected(LESSON)["ada"][0] == f"{newer} is taken, since {older} is older"


@pytest.mark.parametrize(
    ("worse", "why"),
    [
        (BLANK, "is as it was given out"),
        (NAMED, "is as it was given out"),
        (DAMAGED, "cannot be read (it is not valid JSON"),
        (FOREIGN, f"is the notebook of {OTHER}"),
        (b"", "cannot be read (the file is empty)"),
    ],
    ids=["blank", "named", "damaged", "foreign", "empty"],
)
@pytest.mark.parametrize("prefixes", [(f"{MOODLE}/",) * 2, CANVAS], ids=["Moodle", "Canvas"])
def test_answers_count_before_a_newer_notebook_without_them(course, export, worse, why, prefixes):
    newer, older = prefixes
    result = export((f"{newer}{LESSON}.ipynb", worse, 9), (f"{older}{LESSON}-1.ipynb", ONE, 8))
    assert taken(course) == ONE
    assert f"{LESSON}-1.ipynb is taken, since {LESSON}.ipynb {why}" in result.collected[0]


@pytest.mark.parametrize("late", [0, 1])
def test_who_is_late_is_so_by_the_notebook_that_is_taken(course, export, late):
    marks = ["", "_LATE"] if late == 0 else ["_LATE", ""]
    export(
        (f"lovelaceada{marks[1]}_5_901_{LESSON}.ipynb", BLANK),
        (f"lovelaceada{marks[0]}_5_900_{LESSON}-1.ipynb", ONE),
    )
    assert (LATE_MARK in course.collected(LESSON)["ada"]) == bool(late)


def test_an_answer_in_a_cell_of_ones_own_is_one(course, export):
    export((f"{MOODLE}/{LESSON}.ipynb", NAMED, 9), (f"{MOODLE}/a.ipynb", ELSEWHERE, 8))
    assert taken(course) == ELSEWHERE


@pytest.mark.parametrize("days", [(8, 8), ()])
def test_where_nothing_says_which_is_newer_the_instructor_is_asked(course, export, days):
    names = (f"{LESSON}.ipynb", f"{LESSON} (1).ipynb")
    files = zip(names, (ONE, TWO), strict=True)
    result = export(
        *((f"{MOODLE}/{name}", content, *days[:1]) for name, content in files),
        (f"Bo Li_802_assignsubmission_file_/{LESSON}.ipynb", ONE),
    )
    assert list(submitted(course)) == [f"bo/{LESSON}/{LESSON}.ipynb"]
    assert f"2 notebooks ({LESSON} (1).ipynb, {LESSON}.ipynb)" in result.refused[0]
    assert f"collect that one in its place, named STUDENT_{LESSON}.ipynb." in result.refused[0]


def test_times_within_a_minute_may_be_those_of_packing_and_say_nothing(course):
    times = ((2026, 1, 1, 12, 0, 59), (2026, 1, 1, 12, 1, 1))
    names = (f"{MOODLE}/{LESSON}.ipynb", f"{MOODLE}/{LESSON} (1).ipynb")
    files = [zipfile.ZipInfo(name, time) for name, time in zip(names, times, strict=True)]
    path = course.root / "export.zip"
    path.write_bytes(zipped((files[0], ONE), (files[1], TWO)))
    assert "nothing says which counts" in collect_export(course, LESSON, path).refused[0]


def test_two_of_the_same_content_are_one(course, export):
    result = export((f"{MOODLE}/{LESSON}.ipynb", ONE), (f"{MOODLE}/{LESSON} (1).ipynb", ONE))
    assert taken(course) == ONE
    assert f"{LESSON}.ipynb is taken, since {LESSON} (1).ipynb is the same" in result.collected[0]


@pytest.mark.parametrize("name", [f"{LESSON}.ipynb.json", f"{LESSON}.ipynb.txt", "x.json", "x"])
def test_notebook_under_another_name_is_taken(course, export, name):
    result = export((f"{MOODLE}/{name}", ONE))
    assert taken(course) == ONE
    assert f"{name} is read as a notebook" in result.collected[0]


@pytest.mark.parametrize("name", ["answers.pdf", "a.py", "a.html", "a.json", "work.7z", "work.rar"])
def test_what_was_there_in_place_of_a_notebook_is_named(course, export, name):
    (refused,) = export((f"{MOODLE}/{name}", b'{"no": "notebook"}')).refused
    assert refused.endswith(f"since there is no notebook in it, but {name}.")
    assert name in course.not_collected(LESSON)["ada"]


def test_an_empty_file_is_named(course, export):
    assert "a.pdf (empty)" in export((f"{MOODLE}/a.pdf", b"")).refused[0]
    assert f"{LESSON}.ipynb is empty" in export((f"{MOODLE}/{LESSON}.ipynb", b"")).collected[0]


def packed(content):
    return zipped((f"{LESSON}.ipynb", content), ("in.csv", "x"))


@pytest.mark.parametrize("worse", [packed(BLANK), packed(FOREIGN), b"no archive", BLANK])
@pytest.mark.parametrize("newer", ["worse", "better"])
def test_archive_with_answers_counts_before_what_has_none(course, export, worse, newer):
    suffix = "ipynb" if worse == BLANK else "zip"
    numbers = (902, 901) if newer == "worse" else (901, 902)
    result = export(
        (f"lovelaceada_5_{numbers[0]}_work-2.{suffix}", worse),
        (f"lovelaceada_5_{numbers[1]}_work-1.zip", packed(ONE)),
    )
    assert taken(course) == ONE
    assert submitted(course)[f"ada/{LESSON}/in.csv"] == b"x"
    assert f"work-2.{suffix}" in result.collected[0]


def test_of_two_archives_with_answers_the_newer_counts(course, export):
    export(
        ("lovelaceada_5_902_work.zip", packed(TWO)), ("lovelaceada_5_901_work-1.zip", packed(ONE))
    )
    assert taken(course) == TWO


def test_archive_of_data_is_left_packed(course, export):
    data = zipped(("d.csv", "x"))
    (sentence,) = export((f"{MOODLE}/{LESSON}.ipynb", BLANK), (f"{MOODLE}/d.zip", data)).collected
    assert list(submitted(course)) == [f"ada/{LESSON}/{LESSON}.ipynb"]
    assert "without d.zip" in sentence


def test_what_lies_around_an_archive_is_named(course, export):
    archive = zipped((f"{LESSON}.ipynb", ONE), ("in.csv", "x"))
    (sentence,) = export((f"{MOODLE}/w.zip", archive), (f"{MOODLE}/extra.csv", "y")).collected
    assert taken(course) == ONE
    assert "with 1 more files, without extra.csv" in sentence


def without_marks(content):
    lines = nbformat.reads(content.decode(), as_version=4)
    for cell in lines.cells:
        cell.metadata = {}
    return nbformat.writes(lines).encode()


@pytest.mark.parametrize("foreign", [FOREIGN, without_marks(FOREIGN)])
def test_notebook_of_another_lesson_is_named_with_its_lesson(course, export, foreign):
    (sentence,) = export((f"{MOODLE}/{LESSON}.ipynb", foreign)).collected
    assert f"{LESSON}.ipynb is the notebook of {OTHER}, not of {LESSON}" in sentence
    assert course.collected(LESSON) == {}  # the table of marks says it once, of what was graded


def test_answers_replace_what_was_collected_blank_and_never_the_other_way(course, export):
    export((f"{MOODLE}/{LESSON}.ipynb", BLANK))
    assert "is now in" in export((f"{MOODLE}/{LESSON}.ipynb", ONE)).collected[0]
    assert taken(course) == ONE
    path = course.root / "export.zip"
    path.write_bytes(zipped((f"{MOODLE}/{LESSON}.ipynb", BLANK)))
    (refused,) = collect_export(course, LESSON, path, again=True).refused
    assert "its notebook is as it was given out" in refused
    assert taken(course) == ONE


def test_notes_on_what_was_collected_are_those_of_the_last_time(course, export):
    export((f"lovelaceada_LATE_5_901_{LESSON}.ipynb", BLANK))
    assert course.collected(LESSON) == {"ada": [LATE_MARK]}
    export((f"lovelaceada_5_902_{LESSON}.ipynb", ONE))
    assert course.collected(LESSON) == {}
