"""A learner's work stays theirs and gets its updates beside it; a copy without work is renewed."""

import json
import platform
import webbrowser
from pathlib import Path

import pytest

from attention_lib import learn


@pytest.fixture
def notebooks(tmp_path: Path) -> Path:
    folder = tmp_path / "notebooks"
    release(folder, "01_softmax", "first")
    release(folder, "02_stability", "first")
    return folder


def release(notebooks: Path, lesson: str, content: str) -> None:
    path = notebooks / lesson / f"{lesson}.ipynb"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(content)


def contents(folder: Path) -> dict[str, str]:
    return {path.name: path.read_text() for path in folder.glob("*.ipynb")}


def test_the_first_start_copies_every_lesson(notebooks, tmp_path):
    sentences = learn.update(notebooks, tmp_path / "learn")
    assert contents(tmp_path / "learn") == {
        "01_softmax.ipynb": "first",
        "02_stability.ipynb": "first",
    }
    assert sentences == ["Your own copies to write in, in learn/: 01_softmax, 02_stability."]


def test_a_copy_as_jupyterlab_saves_it_is_as_given(notebooks, tmp_path):
    copy = tmp_path / "learn" / "01_softmax.ipynb"
    release(notebooks, "01_softmax", '"pygments_lexer": "ipython3"\n')
    learn.update(notebooks, copy.parent)
    version = f'"version": "{platform.python_version()}"'
    assert copy.read_text() == f'"pygments_lexer": "ipython3",\n   {version}\n'

    copy.write_text(copy.read_text().replace(version, '"version": "3.99.0"'))  # a newer Python
    assert learn.update(notebooks, copy.parent) == []
    release(notebooks, "01_softmax", "second")
    (sentence,) = learn.update(notebooks, copy.parent)
    assert sentence.endswith("your copy, which was as given.")


def test_a_second_start_changes_and_says_nothing(notebooks, tmp_path):
    learn.update(notebooks, tmp_path / "learn")
    (tmp_path / "learn" / "01_softmax.ipynb").write_text("my work")
    before = {path: path.read_bytes() for path in (tmp_path / "learn").iterdir()}
    assert learn.update(notebooks, tmp_path / "learn") == []
    assert {path: path.read_bytes() for path in (tmp_path / "learn").iterdir()} == before


def test_a_lesson_that_appears_later_is_copied(notebooks, tmp_path):
    learn.update(notebooks, tmp_path / "learn")
    release(notebooks, "03_scaling", "first")
    assert learn.update(notebooks, tmp_path / "learn") == [
        "Your own copies to write in, in learn/: 03_scaling."
    ]
    assert contents(tmp_path / "learn")["03_scaling.ipynb"] == "first"


def test_an_updated_lesson_is_put_beside_the_learners_copy_once(notebooks, tmp_path):
    learn.update(notebooks, tmp_path / "learn")
    (tmp_path / "learn" / "01_softmax.ipynb").write_text("my work")
    release(notebooks, "01_softmax", "second")
    (sentence,) = learn.update(notebooks, tmp_path / "learn")
    files = contents(tmp_path / "learn")
    (beside,) = files.keys() - {"01_softmax.ipynb", "02_stability.ipynb"}
    assert beside.startswith("01_softmax.updated-")
    assert (files["01_softmax.ipynb"], files[beside]) == ("my work", "second")
    assert beside in sentence

    (tmp_path / "learn" / beside).unlink()  # the learner has no use for it
    assert learn.update(notebooks, tmp_path / "learn") == []
    assert beside not in contents(tmp_path / "learn")


def test_each_update_gets_a_file_of_its_own(notebooks, tmp_path):
    learn.update(notebooks, tmp_path / "learn")
    (tmp_path / "learn" / "01_softmax.ipynb").write_text("my work")
    for content in ("second", "third", "second"):
        release(notebooks, "01_softmax", content)
        learn.update(notebooks, tmp_path / "learn")
    assert sorted(contents(tmp_path / "learn").values()) == ["first", "my work", "second", "third"]


def test_a_copy_without_work_in_it_is_updated_itself(notebooks, tmp_path):
    learn.update(notebooks, tmp_path / "learn")
    for content in ("second", "third", "second"):
        release(notebooks, "01_softmax", content)
        assert learn.update(notebooks, tmp_path / "learn") == [
            "Lesson 01_softmax has been updated, and with it your copy, which was as given."
        ]
        assert contents(tmp_path / "learn") == {
            "01_softmax.ipynb": content,
            "02_stability.ipynb": "first",
        }
        assert learn.update(notebooks, tmp_path / "learn") == []


def test_work_done_in_an_updated_version_is_never_overwritten(notebooks, tmp_path):
    learn.update(notebooks, tmp_path / "learn")
    (tmp_path / "learn" / "01_softmax.ipynb").write_text("some work")
    release(notebooks, "01_softmax", "second")
    learn.update(notebooks, tmp_path / "learn")
    (beside,) = (tmp_path / "learn").glob("*.updated-*")
    beside.write_text("my work")
    (tmp_path / "learn" / learn.RECORD).unlink()
    learn.update(notebooks, tmp_path / "learn")
    assert beside.read_text() == "my work"


@pytest.mark.parametrize("record", [None, "", "{", "[]", "null", '{"01_softmax": 3}', "\xff"])
def test_a_lost_or_broken_record_loses_no_work(notebooks, tmp_path, record):
    learn.update(notebooks, tmp_path / "learn")
    path = tmp_path / "learn" / learn.RECORD
    if record is None:
        path.unlink()
    else:
        path.write_bytes(record.encode("latin-1"))
    assert learn.update(notebooks, tmp_path / "learn") == []  # the copies are as released

    path.unlink()
    (tmp_path / "learn" / "01_softmax.ipynb").write_text("my work")
    release(notebooks, "01_softmax", "second")
    learn.update(notebooks, tmp_path / "learn")
    assert sorted(contents(tmp_path / "learn").values()) == ["first", "my work", "second"]
    assert json.loads(path.read_text()).keys() == {"01_softmax", "02_stability"}


def test_a_copy_thrown_away_is_made_again(notebooks, tmp_path):
    learn.update(notebooks, tmp_path / "learn")
    (tmp_path / "learn" / "01_softmax.ipynb").unlink()
    learn.update(notebooks, tmp_path / "learn")
    assert contents(tmp_path / "learn")["01_softmax.ipynb"] == "first"


def test_an_interrupted_copy_leaves_no_half_notebook(notebooks, tmp_path, monkeypatch):
    def interrupted(source, target):
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(learn.os, "replace", interrupted)
        with pytest.raises(KeyboardInterrupt):
            learn.update(notebooks, tmp_path / "learn")
    assert contents(tmp_path / "learn") == {}
    learn.update(notebooks, tmp_path / "learn")
    assert len(contents(tmp_path / "learn")) == 2


def test_lessons_come_in_course_order_and_nothing_else_does(notebooks):
    release(notebooks, "03_scaling", "first")
    (notebooks / "04_empty").mkdir()
    release(notebooks, "drafts", "not a lesson")
    names = [path.stem for path in learn.lessons(notebooks)]
    assert names == ["01_softmax", "02_stability", "03_scaling"]


def test_main_opens_the_learners_copy_of_the_first_lesson(notebooks, tmp_path, monkeypatch, capsys):
    opened = []
    monkeypatch.setattr(learn, "COURSE", tmp_path)
    monkeypatch.setattr(learn, "open_lab", lambda *arguments: opened.append(arguments))
    assert learn.main(["--no-browser"]) is None
    assert opened == [(tmp_path / "learn" / "01_softmax.ipynb", tmp_path, ["--no-browser"])]
    assert "01_softmax, 02_stability" in capsys.readouterr().out


def test_main_says_where_there_are_no_lessons(tmp_path, monkeypatch):
    monkeypatch.setattr(learn, "COURSE", tmp_path)
    assert "There are no lessons" in learn.main([])


def test_main_says_why_a_copy_could_not_be_made(notebooks, tmp_path, monkeypatch):
    monkeypatch.setattr(learn, "COURSE", tmp_path)
    (tmp_path / "learn").write_text("a file where the folder should be")
    assert "could not be copied" in learn.main([])


@pytest.mark.parametrize(
    ("browser", "arguments", "begins", "ends"),
    [
        ("firefox", [], "JupyterLab opens in your browser", "open the last address below."),
        ("firefox", ["--no-browser"], "Open the last address", " --ip=0.0.0.0"),
        (None, ["--port=8888"], "Open the last address", " --ip=0.0.0.0"),
        (None, ["--ip=0.0.0.0"], "Open the last address", "below in your browser."),
    ],
)
def test_what_to_open_is_said_where_no_browser_opens(browser, arguments, begins, ends, monkeypatch):
    found = {} if browser is None else {browser: [None, webbrowser.GenericBrowser(browser)]}
    monkeypatch.setattr(webbrowser, "_browsers", found)
    monkeypatch.setattr(webbrowser, "_tryorder", [*found])
    said = learn.how_to_see(arguments)
    assert said.startswith(begins)
    assert said.endswith(ends)
