"""Collecting what Moodle and Canvas export, by the names that each documents."""

import os
import zipfile

import pytest

from attention_lib.grading import limits
from attention_lib.grading.classroom.course import Course
from attention_lib.grading.collect.__main__ import main
from attention_lib.grading.collect.archives import NotCollected
from attention_lib.grading.collect.collecting import collect, collect_export
from attention_lib.grading.collect.exports import read_name
from attention_lib.grading.grade import add_absent
from tests.grading.collect.zips import submitted, zipped
from tests.grading.sample_class import LESSONS, make_course, quietly

LESSON = LESSONS[0]
NOTEBOOK = f"{LESSON}.ipynb"
ROSTER = """id,first_name,last_name,email,lms_user_id
ada,Ada,Lovelace,,12345
bo,Bo,O'Hara,bo@uni.edu,
li1,Min,Li,,
li2,Min,Li,,
zoe,Zoë,Müller-Groß,,
"""


@pytest.fixture
def course(tmp_path) -> Course:
    course = make_course(tmp_path, LESSON)
    course.roster.parent.mkdir()
    course.roster.write_text(ROSTER)
    return course


@pytest.fixture
def export(course):
    """Collect an export that holds these files."""

    def export(*entries):
        path = course.root / "export.zip"
        path.write_bytes(zipped(*entries))
        return collect_export(course, LESSON, path)

    return export


def test_name_in_moodles_export_is_never_read_as_canvas_would(export, course):
    """Eve calls herself as Canvas calls Ada."""
    moodles = f"Bo O'Hara_7_assignsubmission_file_{NOTEBOOK}"
    eves = f"Eve_12345_1_x_99999_assignsubmission_file_{NOTEBOOK}"
    result = export((moodles, "bo's"), (eves, "eve's"))
    assert submitted(course) == {f"bo/{LESSON}/{NOTEBOOK}": b"bo's"}
    assert "not as Moodle exports it" in result.refused[0]


@pytest.mark.parametrize("separator", ["/", "_"])
def test_name_with_moodles_own_words_is_nobodys(export, course, separator):
    """Eve's name begins as Moodle would write all of Ada's."""
    ends = f"_assignsubmission_file{separator}{NOTEBOOK}"
    eves = f"Ada Lovelace_5_assignsubmission_file_77{ends}"
    result = export((eves, "eve's"), (f"Ada Lovelace_8{ends}", "ada's"))
    assert submitted(course) == {f"ada/{LESSON}/{NOTEBOOK}": b"ada's"}
    (sentence,) = result.refused
    assert sentence == (
        f"{eves}: not collected, since its name can be read as that of two students; rename it."
    )


@pytest.mark.parametrize(
    ("path", "read"),
    [
        (
            "Ada Lovelace_12_assignsubmission_file/a/b_c.ipynb",
            ("Ada Lovelace", "12", "a/b_c.ipynb"),
        ),
        ("Ada Lovelace_12_assignsubmission_file_/b_c.ipynb", ("Ada Lovelace", "12", "b_c.ipynb")),
        ("Ada Lovelace_12_assignsubmission_file_b_c.ipynb", ("Ada Lovelace", "12", "b_c.ipynb")),
        ("Participant_12_assignsubmission_file/b.ipynb", ("Participant", "12", "b.ipynb")),
        ("lovelaceada_12_34_b_c-2.ipynb", ("lovelaceada", "12", "b_c-2.ipynb")),
        ("lovelaceada_LATE_12_34_b.ipynb", ("lovelaceada", "12", "b.ipynb")),
        ("lovelace_ada_12_34_5_6_b.ipynb", ("lovelace_ada", "12", "5_6_b.ipynb")),
        ("x_12_34_9_assignsubmission_file_b.ipynb", ("x", "12", "9_assignsubmission_file_b.ipynb")),
    ],
)
def test_name_says_whose_a_file_is_and_what_follows_it_does_not(path, read):
    file = read_name(path)
    assert (file.student, file.lms_id, file.own_name) == read
    assert file.late == ("LATE" in path)


@pytest.mark.parametrize(
    "path",
    [
        NOTEBOOK,
        "ada_12_b.ipynb",
        "lovelaceada_12_text.html",
        "lovelaceada_12_link.html",
        "Ada Lovelace_12_assignsubmission_onlinetext/onlinetext.html",
        "Ada Lovelace_12_assignsubmission_file",
        "anon_x7Yz2_34_b.ipynb",
        "in/lovelaceada_12_34_b.ipynb",
    ],
)
def test_name_of_another_kind_is_nobodys(path):
    with pytest.raises(NotCollected):
        read_name(path)


def test_export_of_moodle_is_collected(course, export):
    result = export(
        (f"Ada Lovelace_801_assignsubmission_file/{NOTEBOOK}", "1"),
        ("Ada Lovelace_801_assignsubmission_file/in/d.csv", "x"),
        ("Bo O'Hara_802_assignsubmission_file_my work.ipynb", "2"),
        ("Zoë Müller-Groß_803_assignsubmission_file_/x.zip", zipped(("any/a.ipynb", "3"))),
    )
    assert result.refused == []
    assert submitted(course) == {
        f"ada/{LESSON}/{NOTEBOOK}": b"1",
        f"ada/{LESSON}/in/d.csv": b"x",
        f"bo/{LESSON}/{NOTEBOOK}": b"2",
        f"zoe/{LESSON}/{NOTEBOOK}": b"3",
    }


def test_export_of_canvas_is_collected_and_of_repeated_hand_ins_the_latest(course, export):
    result = export(
        ("lovelaceada_LATE_12345_903_01_softmax-10.ipynb", "latest"),
        ("lovelaceada_12345_901_01_softmax.ipynb", "first"),
        ("lovelaceada_LATE_12345_902_01_softmax-9.ipynb", "second"),
        ("lovelaceada_12345_904_data-1.csv", "x"),
        ("lovelaceada_12345_905_data-2.csv", "y"),
        ("oharabo_23456_906_homework.ipynb", "2"),
    )
    assert result.refused == []
    assert submitted(course) == {
        f"ada/{LESSON}/{NOTEBOOK}": b"latest",
        f"ada/{LESSON}/data-1.csv": b"x",
        f"ada/{LESSON}/data-2.csv": b"y",
        f"bo/{LESSON}/{NOTEBOOK}": b"2",
    }
    (of_ada,) = (one for one in result.collected if "ada" in one)
    assert of_ada == (
        "lovelaceada_12345: collected for ada, with 2 more files, without 01_softmax-9.ipynb, "
        "01_softmax.ipynb; late (if that costs something, add "
        f'LATE="2026-12-01 17:30 UTC" or write classroom/submitted/ada/{LESSON}/timestamp.txt); '
        "01_softmax-10.ipynb is taken, since 01_softmax.ipynb is older, 01_softmax-9.ipynb is older."
    )


def test_time_of_late_hand_ins_is_said_once_for_all(course, monkeypatch, capsys):
    path = course.root / "export.zip"
    path.write_bytes(
        zipped(
            (f"lovelaceada_LATE_12345_903_{NOTEBOOK}", "1"), (f"oharabo_23456_904_{NOTEBOOK}", "2")
        )
    )
    monkeypatch.chdir(course.root)
    for late, why in (("tomorrow", "not say a time"), ("2999-12-01", "that has not come yet")):
        late += " 17:30 UTC"
        assert main([LESSON, "--from", str(path), "--late", late]) == 1
        assert why in capsys.readouterr().err
    assert main([LESSON, "--from", str(path), "--late", "2026-03-01 17:30 UTC"]) == 0
    stamps = [name for name in submitted(course) if name.endswith("timestamp.txt")]
    assert stamps == [f"ada/{LESSON}/timestamp.txt"]
    assert submitted(course)[stamps[0]] == b"2026-03-01 17:30 UTC\n"


def test_who_handed_in_a_pdf_has_not_handed_in_nothing(export, course):
    export((f"Ada Lovelace_12345_assignsubmission_file_{LESSON}.pdf", "%PDF"))
    assert "no notebook" in course.not_collected(LESSON)["ada"]
    notes = {one.student: one.note for one in quietly(add_absent, course, LESSON, [])}
    assert notes["ada"].startswith("what was handed in was not collected: ")
    assert notes["bo"] == "handed in nothing"
    export((f"Ada Lovelace_12345_assignsubmission_file_{NOTEBOOK}", "{}"))
    assert course.not_collected(LESSON) == {}


@pytest.mark.parametrize("method", [zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED])
def test_damaged_hand_in_does_not_stop_the_others(course, method):
    damaged = zipped(
        ("lovelaceada_12345_1_a.ipynb", "UNIQUE" * 100),
        ("oharabo_23456_2_a.zip", "no archive"),
        ("mllergrozo_5_6_a.ipynb", "whose?"),
        ("readme.txt", "of nobody"),
        ("../../x_1_2_evil.ipynb", "1"),
        ("müllergroßzoë_45678_3_a.ipynb", "1"),
        method=method,
    )
    start = damaged.index(b"lovelaceada_12345_1_a.ipynb") + len("lovelaceada_12345_1_a.ipynb")
    damaged = damaged[:start] + b"\xff" * 5 + damaged[start + 5 :]
    path = course.root / "export.zip"
    path.write_bytes(damaged)
    result = collect_export(course, LESSON, path)
    assert submitted(course) == {f"zoe/{LESSON}/{NOTEBOOK}": b"1"}
    refused = "\n".join(sorted(result.refused))
    assert len(result.refused) == 5
    for part in (
        "but a.ipynb is damaged",
        "no zip archive",
        "does not say who 'mllergrozo'",
        "readme.txt: not",
    ):
        assert part in refused
    assert "leads out of its folder" in refused


def test_students_of_one_name_are_asked_about_and_told_apart_by_a_line(course, export):
    entry = (f"Min Li_805_assignsubmission_file/{NOTEBOOK}", "1")
    result = export(entry)
    assert submitted(course) == {}
    assert "for li2 make its line li2,Min,Li,,805" in result.refused[0]
    course.roster.write_text(ROSTER.replace("li2,Min,Li,,", "li2,Min,Li,,700 805"))
    assert export(entry).refused == []
    assert submitted(course) == {f"li2/{LESSON}/{NOTEBOOK}": b"1"}


def test_two_numbers_that_fit_one_student_are_both_asked_about(course, export):
    result = export(("oharabo_1_2_a.ipynb", "1"), ("oharabo_3_4_a.ipynb", "2"))
    assert submitted(course) == {}
    assert [sentence.split(":")[0] for sentence in result.refused] == ["oharabo_1", "oharabo_3"]


def test_student_cannot_hand_in_as_another_by_the_name_of_a_file(course, export):
    """Whose the first file is depends on who chose which part of its name: nobody knows."""
    refused = export(("oharabo_23456_1_lovelaceada_12345_9_01_softmax.ipynb", "bo's")).refused
    assert (
        "that of bo as oharabo_23456 or of ada as oharabo_23456_1_lovelaceada_12345." in refused[0]
    )
    inner = f"Ada Lovelace_4_assignsubmission_file/{NOTEBOOK}"
    export((f"Zoë Müller-Groß_3_assignsubmission_file/{inner}", "zoe's"))
    assert sorted(submitted(course)) == [f"zoe/{LESSON}/{NOTEBOOK}"]


@pytest.mark.parametrize("eves", ["eve,Eve,Moneypenny,,777\n", ""])
def test_student_cannot_hand_in_as_another_by_a_name_on_canvas(course, export, eves):
    """Canvas leaves hyphens out of a name, and so does not see that it looks like another's."""
    course.roster.write_text(ROSTER + eves)
    eve = f"lovelaceada_12345_99999_777_905_{NOTEBOOK}"
    result = export((eve, "eve's"), (f"oharabo_23456_906_{NOTEBOOK}", "bo's"))
    assert sorted(submitted(course)) == [f"bo/{LESSON}/{NOTEBOOK}"]
    (refused,) = result.refused
    assert "ada as lovelaceada_12345 or of " in refused
    assert "lovelaceada_12345_99999_777" in refused


def test_numbers_in_the_name_of_a_file_are_not_taken_for_the_platforms(course, export):
    result = export(
        ("lovelaceada_12345_901234_softmax_2026_11_27.ipynb", "1"),
        ("oharabo_23456_901235_01_softmax.ipynb", "2"),
    )
    assert result.refused == []
    assert sorted(submitted(course)) == [f"ada/{LESSON}/{NOTEBOOK}", f"bo/{LESSON}/{NOTEBOOK}"]


def test_one_name_like_the_other_platforms_does_not_make_it_theirs(course, export):
    names = (f"oharabo_23456_906_{NOTEBOOK}", f"müllergroßzoë_5_907_{NOTEBOOK}")
    result = export(
        ("x_1_assignsubmission_file_y_6_7_a.ipynb", "1"), *((one, "1") for one in names)
    )
    assert sorted(submitted(course)) == [f"bo/{LESSON}/{NOTEBOOK}", f"zoe/{LESSON}/{NOTEBOOK}"]
    assert len(result.refused) == 1


def test_number_of_one_student_with_the_name_of_another_is_nobodys_on_moodle(course, export):
    result = export((f"Bo O'Hara_12345_assignsubmission_file_/{NOTEBOOK}", "1"))
    assert submitted(course) == {}
    assert 'the LMS id 12345 for ada and the name "Bo O\'Hara" for bo' in result.refused[0]


@pytest.mark.parametrize(
    "name",
    [
        f"Team 3_17_assignsubmission_file_/{NOTEBOOK}",
        f"Default group_assignsubmission_file_/{NOTEBOOK}",
        f"gruppe12_12345_906_{NOTEBOOK}",
    ],
)
def test_hand_in_of_a_team_is_said_to_be_unsupported(course, export, name):
    (refused,) = export((name, "1")).refused
    assert "hand-ins of teams and groups are not supported" in refused
    assert submitted(course) == {}


def test_who_is_in_no_roster_on_moodle_may_be_a_team(course, export):
    (refused,) = export((f"The Softmaxers_17_assignsubmission_file_/{NOTEBOOK}", "1")).refused
    assert (
        "(if it is a team: teams are not supported): check first_name, last_name, email and add "
        in refused
    )


def test_group_of_any_name_on_canvas_is_remarked_on(course, export):
    (sentence,) = export((f"thesoftmaxers_12345_906_{NOTEBOOK}", "1")).collected
    assert "Canvas calls ada 'thesoftmaxers': if that is a group, its other members" in sentence


def packed_again(content):
    return zipped(("exports/export.zip", content), ("__MACOSX/exports/._export.zip", "x"))


@pytest.mark.parametrize(
    "name",
    [f"lovelaceada_12345_1_{NOTEBOOK}", f"Ada Lovelace_801_assignsubmission_file_/{NOTEBOOK}"],
)
def test_export_packed_into_a_folder_or_an_archive_is_read(course, name):
    path = course.root / "export.zip"
    in_folders = zipped((f"all/of it/{name}", "1"), ("__MACOSX/all/._x", "x"), (".DS_Store", "x"))
    in_backslashes = zipped((f"all\\{name}".replace("/", "\\"), "1"))
    for content in (in_folders, in_backslashes, packed_again(zipped((name, "1")))):
        path.write_bytes(content)
        result = collect_export(course, LESSON, path)
        assert result.refused == []
        assert submitted(course) == {f"ada/{LESSON}/{NOTEBOOK}": b"1"}
    folder = course.root / "folder" / "inner"
    folder.mkdir(parents=True)
    (folder / "export.zip").write_bytes(zipped((name, "1")))
    assert collect_export(course, LESSON, folder.parent).refused == []


def test_archive_of_a_student_that_was_unpacked_is_still_the_students(course, export):
    folder = "oharabo_23456_901_work"
    result = export((f"{folder}/lovelaceada_12345_9_{NOTEBOOK}", "1"), (f"{folder}/in/d.csv", "x"))
    assert result.refused == []
    assert submitted(course) == {f"bo/{LESSON}/{NOTEBOOK}": b"1", f"bo/{LESSON}/in/d.csv": b"x"}


def test_odd_names_in_a_students_archive_are_left_out_and_named(course, export):
    odd = ["x" * 259, "/".join("abcdefgh") + "/d.csv", "/abs.csv", "tab\tbed.csv", "C:\\c.csv"]
    odd += ["../up.csv", "DATA.csv"]
    archive = zipped((NOTEBOOK, "1"), ("data.csv", "x"), ("in/d.csv", "y"), *((n, "") for n in odd))
    result = export(("lovelaceada_12345_1_work.zip", archive))
    assert submitted(course) == {f"ada/{LESSON}/{NOTEBOOK}": b"1", f"ada/{LESSON}/in/d.csv": b"y"}
    assert "without " in result.collected[0]


def test_odd_name_in_an_export_is_named_and_stops_nobody(course, export):
    good = f"Bo O'Hara_802_assignsubmission_file_/{NOTEBOOK}"
    odd = "Ada Lovelace_801_assignsubmission_file_/" + "x" * 259
    deep = "Ada Lovelace_801_assignsubmission_file_/" + "/".join("abcdefgh") + f"/{NOTEBOOK}"
    result = export((good, "1"), (odd, "2"), (deep, "3"))
    assert len(result.refused) == 1
    assert sorted(submitted(course)) == [f"ada/{LESSON}/{NOTEBOOK}", f"bo/{LESSON}/{NOTEBOOK}"]


def test_without_a_roster_each_sentence_has_the_line_that_adds_the_student(course, export):
    course.roster.unlink()
    moodles = export((f"Ada Lovelace_801_assignsubmission_file/{NOTEBOOK}", "1"))
    assert "add the line ada_lovelace,Ada,Lovelace,,801," in moodles.refused[0]
    assert "students.csv" not in "".join(moodles.refused)
    assert moodles.missing[0].startswith("There is no classroom/students.csv: write it, with id,")
    canvas = export(("lovelaceada_12345_901_a.ipynb", "1"))
    assert "add the line lovelaceada,,,,12345," in canvas.refused[0]


def test_later_export_sets_aside_what_was_collected_before(course):
    path = course.root / "export.zip"
    for content in ("1", "2", "2", "3"):
        path.write_bytes(
            zipped(("lovelaceada_12345_1_a.ipynb", content), ("oharabo_6_7_b.ipynb", ""))
        )
        result = collect_export(course, LESSON, path, again=True)
        assert result.refused == []
    assert submitted(course) == {f"ada/{LESSON}/{NOTEBOOK}": b"3", f"bo/{LESSON}/{NOTEBOOK}": b""}
    earlier = course.earlier(LESSON)
    assert [(earlier / f"ada-{n}" / NOTEBOOK).read_text() for n in (1, 2)] == ["1", "2"]
    assert len(list(earlier.iterdir())) == 2
    assert f"before is now in classroom/earlier/{LESSON}/ada-2." in result.collected[0]


def test_hand_in_that_holds_too_much_is_refused_alone(course, export, monkeypatch):
    monkeypatch.setattr(limits, "NOTEBOOK_BYTES", 1000)
    monkeypatch.setattr(limits, "ARCHIVE_UNPACKED_BYTES", 1500)
    result = export(
        ("lovelaceada_12345_1_a.ipynb", b"\0" * 1001),
        ("oharabo_2_2_a.ipynb", b"\0" * 900),
        ("oharabo_2_3_b.csv", b"\0" * 700),
        ("müllergroßzoë_3_4_a.ipynb", "1"),
    )
    assert sorted(submitted(course)) == [f"zoe/{LESSON}/{NOTEBOOK}"]
    assert all("holds too much" in sentence for sentence in result.refused)
    monkeypatch.setattr(limits, "EXPORT_ENTRIES", 1)
    with pytest.raises(NotCollected, match="more than 1 files"):
        export(("a", ""), ("b", ""))


def test_export_that_a_browser_unpacked_is_collected_and_no_link_followed(course):
    folder = course.root / "export"
    own = folder / "Bo O'Hara_802_assignsubmission_file"
    own.mkdir(parents=True)
    (own / "a.ipynb").write_text("2")
    (folder / "lovelaceada_12345_1_a.ipynb").symlink_to("/etc/passwd")
    os.mkfifo(folder / "müllergroßzoë_3_4_a.ipynb")
    (folder / "lovelaceada_12345_1_a\\b.ipynb").write_text("1")
    (folder / "lovelaceada_12345_1_a\n.ipynb").write_text("1")
    (folder / ".DS_Store").write_text("1")
    result = collect_export(course, LESSON, folder)
    assert submitted(course) == {f"bo/{LESSON}/{NOTEBOOK}": b"2"}
    assert len(result.refused) == 4


def test_files_that_are_not_taken_are_named(course, export):
    folder = "Bo O'Hara_802_assignsubmission_file"
    names = (NOTEBOOK, "scratch.ipynb", "numpy.py", "data.csv")
    result = export(*((f"{folder}/{name}", name) for name in names))
    assert sorted(submitted(course)) == [f"bo/{LESSON}/{NOTEBOOK}", f"bo/{LESSON}/data.csv"]
    assert result.collected == [
        "Bo O'Hara_802: collected for bo, with 1 more files, without numpy.py, scratch.ipynb."
    ]


def test_names_in_utf_8_are_read_where_the_archive_does_not_say_so(course):
    name = "müllergroßzoë".encode()
    place = "X" * len(name)
    content = zipped((f"{place}_3_4_a.ipynb", "1")).replace(place.encode(), name)
    (course.root / "export.zip").write_bytes(content)
    assert collect_export(course, LESSON, course.root / "export.zip").refused == []


def test_joiners_of_a_proposed_line_are_printed(course, monkeypatch, capsys):
    monkeypatch.chdir(course.root)
    name = "علی\u200cزاده رضا"
    content = zipped((f"{name}_7_assignsubmission_file_/{NOTEBOOK}", "1"))
    (course.root / "export.zip").write_bytes(content)
    main([LESSON, "--from", "export.zip"])
    assert f",{name.replace(' ', ',')},,7," in capsys.readouterr().out


def test_downloads_are_those_of_students_in_the_roster(course):
    folder = course.downloaded(LESSON)
    folder.mkdir(parents=True)
    (folder / f"bo@uni.edu_{LESSON}.ipynb").write_text("2")
    (folder / f"eve_{LESSON}.ipynb").write_text("3")
    result = collect(course, LESSON)
    assert sorted(submitted(course)) == [f"bo/{LESSON}/{NOTEBOOK}"]
    assert (
        "has no student 'eve': check first_name, last_name, email and add the line eve,,,,,"
        in result.refused[0]
    )


def test_command_collects_an_export_or_says_why_not(course, monkeypatch, capsys):
    monkeypatch.chdir(course.root)
    (course.root / "export.zip").write_bytes(zipped(("lovelaceada_12345_1_a.ipynb", "1")))
    assert main([LESSON, "--from", "export.zip"]) == 0
    assert capsys.readouterr().out == (
        "lovelaceada_12345: collected for ada.\n1 collected, 0 not.\n"
    )
    (course.root / "export.zip").write_bytes(b"x")
    assert main([LESSON, "--from", "export.zip"]) == 1
    assert "no zip archive" in capsys.readouterr().err
    assert main([LESSON, "--from", "none.zip"]) == 1
    assert "from none.zip: it cannot be read (No such file" in capsys.readouterr().err
    course.roster.write_text("x")
    assert main([LESSON, "--from", "none.zip"]) == 1
    assert "students.csv" in capsys.readouterr().err
