"""A class handed in on Canvas, is graded, and gets its grades and feedback back; so on Moodle."""

import csv
import io
import json
import zipfile

import pytest

from attention_lib.grading import grade
from attention_lib.grading.collect.collecting import collect_export
from attention_lib.grading.export.__main__ import main
from attention_lib.grading.export.grades import read_grades
from attention_lib.grading.grade import add_absent
from attention_lib.grading.report.findings import read_class
from attention_lib.grading.report.text import attendance
from tests.grading.collect.zips import zipped
from tests.grading.sample_class import LESSONS, Classroom, make_lean_course, quietly

LESSON = LESSONS[0]
ROSTER = f"""id,first_name,last_name,email,lms_user_id,excused
ada,Ada,Lovelace,ada@uni.edu,101,
bo,Bo,O'Hara,bo@uni.edu,102,
cal,Cal,Newport,,103,
hal,Hal,Abelson,hal@uni.edu,104,
ivy,Ivy,Lee,ivy@uni.edu,105,{LESSON}
"""
FILES = {
    "ada": ("lovelaceada_101_901_01_softmax-1.ipynb", "Ada Lovelace_801_assignsubmission_file/"),
    "bo": ("oharabo_LATE_102_902_my.work.ipynb", "Bo O'Hara_802_assignsubmission_file_"),
    "cal": ("newportcal_103_903_01_softmax.ipynb", "Cal Newport_803_assignsubmission_file_/"),
}
pytestmark = [pytest.mark.sandbox, pytest.mark.batch, pytest.mark.xdist_group("export")]


@pytest.fixture(scope="module")
def room(tmp_path_factory) -> Classroom:
    """A class in which ada's written answer is marked, cal's is not, and two hand in nothing."""
    course = make_lean_course(tmp_path_factory.mktemp("course"), LESSON)
    room = Classroom(course, LESSON)
    course.roster.write_text(ROSTER)
    notebooks = {"ada": room.key(), "bo": room.blank(), "cal": room.key()}
    files = [(FILES[one][0], json.dumps(notebook)) for one, notebook in notebooks.items()]
    (course.root / "canvas.zip").write_bytes(zipped(*files))
    collected = collect_export(course, LESSON, course.root / "canvas.zip")
    assert collected.refused == []
    room.grade()
    with course.gradebook() as gradebook:
        for exercise in room.exercises:
            if exercise.kind == "written":
                mark = gradebook.find_grade(exercise.name, LESSON, LESSON, "ada")
                mark.manual_score, mark.needs_manual_grade = exercise.points, False
        quietly(gradebook.db.commit)
    return room


def rows_of(text):
    return list(csv.reader(io.StringIO(text)))


def test_absent_and_excused_stand_in_the_table_and_in_the_report(room, monkeypatch, capsys):
    monkeypatch.chdir(room.course.root)
    assert quietly(grade.main, [LESSON, "--jobs", "0"]) == 0
    printed = capsys.readouterr().out
    lines = printed.splitlines()
    assert [line.split()[0] for line in lines[2:7]] == ["ada", "bo", "cal", "hal", "ivy"]
    assert lines[5].endswith("-  handed in nothing")
    assert lines[6].endswith("-  excused")
    assert "3 handed in. Absent: hal (handed in nothing), ivy (excused)." in printed
    assert "? waits to be marked by hand, - is not handed in" in printed
    report = quietly(read_class, room.course, LESSON)
    assert (report.away["handed in nothing"], report.away["excused"]) == (["hal"], ["ivy"])
    assert "1 handed in nothing (hal); 1 excused (ivy)" in attendance(report)


def test_summary_says_once_why_several_students_are_absent():
    absent = {"hal": "handed in nothing", "ivy": "excused", "jo": "handed in nothing"}
    results = [grade.Result(name, note=note, absent=True) for name, note in absent.items()]
    assert grade.summary(results) == (
        "0 handed in. Absent: hal jo (handed in nothing), ivy (excused)."
    )


def test_who_is_not_in_the_roster_is_said_so(room):
    room.course.roster.write_text(ROSTER.replace("bo,Bo", "bob,Bo"))
    results = quietly(add_absent, room.course, LESSON, list(room.results.values()))
    grades = quietly(read_grades, room.course)
    room.course.roster.write_text(ROSTER)
    notes = {result.student: result.note for result in results}
    assert "not in classroom/students.csv" in notes["bo"]
    assert notes["bob"] == "handed in nothing"
    assert grades.strangers == ["bo"]


def test_gradebook_knows_the_names_of_the_roster(room):
    with room.course.gradebook() as gradebook:
        assert gradebook.find_student("hal").last_name == "Abelson"


def test_canvas_gets_points_excuses_and_open_cells(room, monkeypatch, capsys):
    monkeypatch.chdir(room.course.root)
    most = sum(room.worth.values())
    assert main(["grades", "canvas"]) == 0
    text = (room.course.returned / "grades-canvas.csv").read_text("utf-8")
    assert rows_of(text) == [
        ["Student", "ID", "SIS User ID", "SIS Login ID", "Section", LESSON],
        ["    Points Possible", "", "", "", "", f"{most:g}"],
        ["Lovelace, Ada", "101", "", "", "", f"{most:g}"],
        ["O'Hara, Bo", "102", "", "", "", "0"],
        ["Newport, Cal", "103", "", "", "", ""],
        ["Abelson, Hal", "104", "", "", "", ""],
        ["Lee, Ivy", "105", "", "", "", "EX"],
    ]
    assert f"{LESSON}: open for cal, until" in capsys.readouterr().out


def test_moodle_gets_points_and_no_row_without_an_address(room, monkeypatch, capsys):
    monkeypatch.chdir(room.course.root)
    assert main(["grades", "moodle"]) == 0
    rows = rows_of((room.course.returned / "grades-moodle.csv").read_text("utf-8"))
    assert rows[0] == ["ID", "First name", "Last name", "Email address", LESSON]
    assert rows[1:3] == [
        ["ada", "Ada", "Lovelace", "ada@uni.edu", f"{sum(room.worth.values()):g}"],
        ["bo", "Bo", "O'Hara", "bo@uni.edu", "0"],
    ]
    assert [row[-1] for row in rows[3:]] == ["", ""]
    assert "cal is left out: Moodle needs" in capsys.readouterr().out


@pytest.mark.parametrize("platform", ["canvas", "moodle"])
def test_feedback_has_the_names_of_the_export(room, platform, monkeypatch, capsys):
    monkeypatch.chdir(room.course.root)
    place = ["canvas", "moodle"].index(platform)
    names = {
        one: file[place] if platform == "canvas" else f"{file[place]}any name.ipynb"
        for one, file in FILES.items()
    }
    hal = ("abelsonhal_104", "Hal Abelson_804")[place]
    names["hal"] = f"{hal}_{('904', 'assignsubmission_file')[place]}_{LESSON}.ipynb"
    (room.course.root / "given.zip").write_bytes(zipped(*((n, "{}") for n in names.values())))
    assert main(["feedback", LESSON, "given.zip"]) == 0
    printed = capsys.readouterr().out
    assert f"{hal}: there is no classroom/feedback/hal" in printed
    expected = {
        "canvas": [
            "lovelaceada_101_901_01_softmax-1.html",
            "oharabo_LATE_102_902_my.work.html",
            "newportcal_103_903_01_softmax.html",
        ],
        "moodle": [f"{FILES[one][1]}{LESSON}.html" for one in FILES],
    }[platform]
    with zipfile.ZipFile(room.course.returned / f"feedback-{LESSON}.zip") as archive:
        assert archive.namelist() == expected
        pages = [archive.read(name).decode() for name in expected]
    assert pages == [room.feedback(one) for one in FILES]


def test_feedback_that_cannot_be_packed_is_said_so(room, monkeypatch, capsys):
    monkeypatch.chdir(room.course.root)
    (room.course.root / "other.zip").write_bytes(zipped(("readme.txt", "x")))
    assert main(["feedback", LESSON, "other.zip"]) == 1
    assert "collect it with FROM=other.zip and grade it first" in capsys.readouterr().err
    assert main(["feedback", LESSON, "none.zip"]) == 1
    assert "none.zip: it cannot be read" in capsys.readouterr().err


def test_mark_for_an_earlier_answer_leaves_the_grade_open(room):
    written = next(one.name for one in room.exercises if one.kind == "written")
    for in_doubt, total in ((True, None), (False, sum(room.worth.values()))):
        with room.course.gradebook() as gradebook:
            gradebook.find_grade(written, LESSON, LESSON, "ada").needs_manual_grade = in_doubt
            quietly(gradebook.db.commit)
        assert quietly(read_grades, room.course).totals[LESSON]["ada"] == total
