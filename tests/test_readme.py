"""The README and the pages for authors say what is there: commands, files and lessons."""

import re
from pathlib import Path

import pytest

from attention_lib.exercises import EXERCISES
from attention_lib.exercises.__main__ import COLUMNS, counts
from attention_lib.exercises.contracts import COMMAND
from attention_lib.lessons import LESSONS
from tests.test_straight_way import STATED, cells_of
from website.screens import FOLDER, words_in

ROOT = Path(__file__).parents[1]
PAGES = [
    "README.md",
    "CONTRIBUTING.md",
    "docs/architecture.md",
    "docs/install.md",
    "docs/teaching.md",
]
LINKING_PAGES = [*PAGES, "docs/colab.md", "docs/glossary.md"]
README = (ROOT / "README.md").read_text(encoding="utf-8")
LINK = r"\[`(?P<lesson>\d\d_\w+)`\]\(notebooks/(?P=lesson)/(?P=lesson)\.ipynb\)"
ROW = re.compile(rf"^\| {LINK} \|.*\| (?P<points>\d+) \|$", re.M)
TABLE = {row["lesson"]: row for row in ROW.finditer(README)}


def test_the_table_lists_the_released_lessons_in_order():
    released = [path.name for path in sorted((ROOT / "notebooks").glob("*_*"))]
    assert list(TABLE) == released
    assert tuple(TABLE) == LESSONS
    assert [lesson[:2] for lesson in TABLE] == sorted({lesson[:2] for lesson in LESSONS})


@pytest.mark.parametrize("lesson", sorted({exercise.lesson for exercise in EXERCISES.values()}))
def test_the_points_are_those_of_the_exercises(lesson):
    points = sum(exercise.points for exercise in EXERCISES.values() if exercise.lesson == lesson)
    assert int(TABLE[lesson]["points"]) == points, (
        f"README.md says that {lesson} has {TABLE[lesson]['points']} points; its exercises have {points}: "
        f"run {COMMAND}."
    )


def test_the_first_page_is_short():
    assert len(README.split()) <= 900


def test_the_first_box_has_one_command():
    first_box = re.search(r"\n\n((?:    .+\n)+)", README)
    assert first_box[1] == "    make lab\n"


def test_the_hours_are_those_that_the_lessons_state():
    minutes = [int(STATED.search(cells_of(lesson)[0].source)[1]) for lesson in LESSONS]
    promised = re.search(r"In (\d+) Jupyter notebooks, about (\d+)\s+hours", README)
    assert promised.groups() == (str(len(LESSONS)), f"{sum(minutes) / 60:.0f}")
    assert "Each takes one to two hours" in README
    assert 60 <= min(minutes) <= max(minutes) <= 120


def test_the_downloads_are_as_large_as_the_makefile_says():
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    learning = re.search(r"-learn: SIZE := about (\d+) megabytes", makefile)[1]
    model = re.search(r"language model of lesson 09: (\d+) megabytes", makefile)[1]
    assert f"what learning needs ({learning} MB)" in README
    assert f"of {model} MB" in README


def test_the_pictures_show_what_is_said_of_them():
    alts = {picture: alt for alt, picture in re.findall(r"!\[(.*)\]\((.*)\)", README)}
    assert alts.keys() == {file.relative_to(ROOT).as_posix() for file in FOLDER.iterdir()}
    number = re.compile(r"[\d.]*\d")
    for picture, alt in alts.items():
        shown = words_in(Path(picture).stem)
        assert set(number.findall(alt)) <= set(number.findall(shown))
        assert [quoted for quoted in re.findall('"(.+?)"', alt) if quoted not in shown] == []
        assert (ROOT / picture).stat().st_size <= 150_000


@pytest.mark.parametrize("page", PAGES)
def test_every_make_command_exists(page):
    targets = set(re.findall(r"^([a-z]+):", (ROOT / "Makefile").read_text(), re.M))
    named = set(re.findall(r"(?:`|    )make ([a-z]+)", (ROOT / page).read_text(encoding="utf-8")))
    assert named
    assert named <= targets


def test_the_numbers_on_the_first_screen_are_exceeded():
    total = dict(zip(COLUMNS, counts(EXERCISES.values()), strict=True))
    texts = [path.read_text(encoding="utf-8") for path in (ROOT / "solutions").glob("*.md")]
    verdicts = [re.search(r"^\| Claim \| Verdict \|\n((?:\|.*\n)+)", t, re.M)[1] for t in texts]
    assert max(text.count("\n") for text in verdicts) <= int(
        re.search(r"grep -hA (\d+)", README)[1]
    )
    actual = {
        "functions": sum(exercise.kind == "function" for exercise in EXERCISES.values()),
        "inputs": total["cases"],
        "mistakes": total["known mistakes"],
        "wrong answers": total["wrong answers"],
        "sentences": sum(text.count("\n") - 1 for text in verdicts),
    }
    floors = {
        what: int(number.replace(",", ""))
        for number, what in re.findall(rf"[Mm]ore\s+than ([\d,]+) ({'|'.join(actual)})", README)
    }
    assert floors.keys() == actual.keys()
    outdated = {what for what, floor in floors.items() if not floor < actual[what] < 2 * floor}
    assert outdated == set(), f"README.md is out of date; the numbers are {actual}."


@pytest.mark.parametrize("page", LINKING_PAGES)
def test_every_picture_and_linked_file_is_there(page):
    path = ROOT / page
    targets = re.findall(r"\]\(([^)]+)\)", path.read_text(encoding="utf-8"))
    assert targets
    assert [t for t in targets if "://" not in t and not leads_somewhere(path, t)] == []


def leads_somewhere(page: Path, target: str) -> bool:
    """Say whether the file of a link is there, and in it the heading that the link names."""
    file, _, anchor = target.partition("#")
    linked = page.parent / file if file else page
    if not anchor:
        return linked.is_file()
    headings = re.findall(r"^#+ (.+)$", linked.read_text(encoding="utf-8"), re.M)
    return anchor in [re.sub(r"[^\w\- ]", "", h.lower()).replace(" ", "-") for h in headings]


def test_the_page_on_architecture_names_every_folder():
    page = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
    named = set(re.findall(r"`([\w/]+)/`", page))
    library = ROOT / "attention_lib"
    modules = {path.parent for path in library.rglob("*.py")}
    lessons = {folder for folder in modules if folder.parent == library / "exercises"}
    lessons -= {library / "exercises" / "parts"}  # one row for all
    folders = {folder.relative_to(ROOT).as_posix() for folder in modules - lessons}
    assert folders - named == set()
    assert {n for n in named if n.startswith("attention_lib") and not (ROOT / n).is_dir()} == set()
