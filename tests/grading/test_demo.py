"""`make demo`: each made-up student shows what is promised, and nothing but the made-up class is removed."""

import contextlib
import io
import re
import shlex
import shutil
import subprocess
import zipfile
from multiprocessing import forkserver

import pytest

from attention_lib.exercises import EXERCISES
from attention_lib.grading import demo
from attention_lib.grading.classroom.course import CLASS, Course
from tests.grading.sample_class import ROOT, make_course, without_figures
from website import screens

pytestmark = [pytest.mark.sandbox, pytest.mark.batch, pytest.mark.xdist_group("demo")]
DATABASE = "NBGRADER_DB_URL"


@pytest.fixture(scope="module")
def shown(tmp_path_factory):
    """Run the demo after one that was stopped halfway; return the course, what it printed, what it ran."""
    root = tmp_path_factory.mktemp("course")
    lesson = make_course(root, demo.LESSON).written(demo.LESSON)
    lesson.write_text(without_figures(lesson.read_text("utf-8")), "utf-8")
    ran, opened, said, run = [], [], io.StringIO(), demo._run

    def run_and_note(main, arguments, *command, **of):
        ran.append((main.__module__.removesuffix(".__main__"), arguments))
        run(main, arguments, *command, **of)

    def stop(_):
        raise KeyboardInterrupt

    forkserver._forkserver._stop()  # one that another test started knows that test's class
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(root)
        patch.setenv(CLASS, "autumn")
        patch.setenv(DATABASE, "postgresql://localhost/another-class")
        patch.setenv("DISPLAY", ":0")
        patch.setattr(demo.webbrowser, "open", opened.append)
        with pytest.MonkeyPatch.context() as halfway:
            halfway.setattr(demo.grade, "main", stop)
            assert demo.main([]) == 130
        patch.setattr(demo, "_run", run_and_note)
        ended = None
        with contextlib.redirect_stdout(said), contextlib.suppress(SystemExit):
            ended = demo.main([])
        assert ended == 0, said.getvalue()
        yield Course(root), said.getvalue(), ran, opened


@pytest.fixture(scope="module")
def table(shown):
    """Return the rows of `make grade`, by student."""
    return {
        words[0]: (words[1:7], " ".join(words[7:]))
        for words in map(str.split, shown[1].splitlines())
        if len(words) > 6 and words[0] in demo.IDS.split("|") and words[1] in "01-"
    }


SAID = {mistake.id: mistake.sentence for mistake in EXERCISES["softmax"].mistakes}


@pytest.mark.parametrize(
    ("student", "points", "note", "on_page"),
    [
        ("ada", "1 3 1 2 ? 7", "^$", ["All 25 cases, 3 points"]),
        ("bo", "1 0 1 2 0 4", "^$", [SAID["last-axis-only"]]),
        ("cem", "1 0 1 2 0 4", "ours in place of", [SAID["axis-0-only"], SAID["base-2"]]),
        ("dana", "0 0 0 0 0 0", "^Every answer is as it was given out: was", ["Not attempted"]),
        ("eli", "1 3 1 2 ? 7", "^$", [demo.OWN_WORDS]),
        ("fay", "- - - - - -", r"no notebook in it, but 01_softmax\.pdf$", []),
        ("gus", "0 0 0 0 0 0", "^$", ["lib.softmax", "not available while this lesson is graded"]),
        (
            "hana",
            "1 0 1 2 0 4",
            "^late, as the platform",
            [SAID["last-axis-only"], "handed in late."],
        ),
    ],
)
def test_each_student_gets_what_is_promised(shown, table, student, points, note, on_page):
    assert table[student][0] == points.split()
    assert re.search(note, table[student][1])
    page = shown[0].feedback(demo.LESSON, student)
    assert [text for text in on_page if text not in page.read_text("utf-8")] == []
    assert page.is_file() == bool(on_page)


def test_the_readme_shows_the_pages_of_today(shown):
    for name, page in screens.class_pages(shown[0].root).items():
        assert screens.words(page) == screens.words_in(name), (
            "`python -m website.screens` redraws it."
        )


def test_every_page_is_opened_and_named(shown):
    course, said, _, opened = shown
    pages = [course.report(demo.LESSON), *sorted(course.feedback_folder.glob("*/*/*.html"))]
    assert len(pages) == 8  # the report, and who handed in a notebook
    assert sorted(opened) == sorted(page.as_uri() for page in pages)
    assert all(f"  {course.shown(page)}\n" in said for page in pages)
    with zipfile.ZipFile(course.returned / f"feedback-{demo.LESSON}.zip") as archive:
        assert len(archive.namelist()) == 7


@pytest.mark.skipif(shutil.which("make") is None, reason="make is not installed")
def test_make_does_for_each_printed_command_what_the_demo_did(shown):
    _, said, ran, _ = shown
    lines = re.findall(r"^\$ (.+)$", said, re.MULTILINE)
    assert len(lines) == len(ran) == 5
    for line, (module, arguments) in zip(lines, ran, strict=True):
        assert line.endswith(" CLASS=demo")
        command = [*shlex.split(line), "-n"]
        made = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
        did = re.findall(r" -m (attention_lib.*)", made.stdout.replace("\\\n", ""))
        assert shlex.split(did[-1]) == [module, *arguments]


def test_another_class_and_another_file_stay(shown, capsys):
    course = shown[0]
    for name in ("classroom", "classroom-autumn"):
        (course.root / name).mkdir()
        (course.root / name / "students.csv").write_text("id\nada\n")
    own = course.root / "classroom-demo" / "submitted" / "zoe" / demo.LESSON / "work.ipynb"
    own.parent.mkdir(parents=True)
    own.touch()
    before = sorted(course.root.rglob("*"))
    assert demo.main(["--clear"]) == demo.main([]) == 1
    assert f"{course.shown(own)} is not of the made-up class" in capsys.readouterr().err
    assert sorted(course.root.rglob("*")) == before
    shutil.rmtree(own.parents[1])
    assert demo.main(["--clear"]) == demo.main(["--clear"]) == 0
    assert {path.name for path in course.root.glob("classroom*")} == {
        "classroom",
        "classroom-autumn",
    }


def test_a_class_that_somebody_called_demo_stays(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(make_course(tmp_path).root)
    monkeypatch.setenv(CLASS, "")
    roster = tmp_path / "classroom-demo" / "students.csv"
    roster.parent.mkdir()
    roster.write_text("id\nada\n")
    assert demo.main([]) == demo.main(["--clear"]) == 1
    assert "classroom-demo/students.csv is not of the made-up class" in capsys.readouterr().err
    assert roster.read_text() == "id\nada\n"


def test_without_bubblewrap_a_sentence_says_so(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(make_course(tmp_path).root)
    monkeypatch.setenv(CLASS, "")
    monkeypatch.setenv("PATH", str(tmp_path))
    assert demo.main([]) == 1
    (sentence,) = capsys.readouterr().err.splitlines()
    assert "bubblewrap, which is not installed: install the package" in sentence
    assert not (tmp_path / "classroom-demo").exists()
