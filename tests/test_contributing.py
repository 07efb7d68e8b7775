"""An exercise, a mistake and an answer are added as CONTRIBUTING.md says, with its own code, and all is green."""

import os
import re
import shutil
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("contributing")]
BLOCK = re.compile(r"^ *(`{3,4})(?:text|python|yaml|md)\n(.*?)^ *\1$", re.M | re.S)
PAGE = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
MISTAKE, ANSWER, REFERENCE, IMPORT, TASK = (
    textwrap.dedent(text) for _, text in BLOCK.findall(PAGE)
)
# What else counts exercises, or holds all of them.
OF_ALL_EXERCISES = (
    *("tests/test_readme.py", "tests/test_progress.py", "tests/test_architecture.py"),
    *("tests/exercises/test_contracts.py", "tests/answers/test_answers.py", "-m", "not slow"),
)


class Course:
    """A copy of the course's own files, for an author to work in."""

    def __init__(self, folder):
        self.folder = folder
        listed = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
        files = subprocess.run(listed, cwd=ROOT, capture_output=True, text=True, check=True).stdout
        for file in filter(None, files.split("\0")):
            if (ROOT / file).is_file():
                (folder / file).parent.mkdir(parents=True, exist_ok=True)
                shutil.copy(ROOT / file, folder / file)

    def text(self, file):
        return (self.folder / file).read_text(encoding="utf-8")

    def put(self, file, before, text):
        """Write text before another, or at a file's end."""
        old = self.text(file) if (self.folder / file).exists() else ""
        assert not before or before in old, (file, before)
        new = old.replace(before, text + before, 1) if before else f"{old.rstrip()}\n\n\n{text}"
        (self.folder / file).write_text(new.lstrip(), encoding="utf-8")

    def run(self, *command):
        """Return the exit status of a Python module, and what it prints."""
        environment = {**os.environ, "PYTHONPATH": str(self.folder)}
        done = subprocess.run(
            [sys.executable, "-m", *command],
            cwd=self.folder,
            env=environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        return done.returncode, done.stdout

    def must_run(self, *command):
        status, told = self.run(*command)
        assert status == 0, told
        return told

    def release(self):
        """Do what `make release LESSON=03_scaling` does."""
        self.must_run("attention_lib.exercises.contracts")
        self.must_run("attention_lib.grading.release", "03_scaling")

    def check(self):
        """Do what `make check EXERCISE=centered` does."""
        pytest_flags = ("-q", "--tb=short", "--maxfail=3", "-p", "no:cacheprovider")
        return self.run("pytest", *pytest_flags, "--exercise", "centered")


def add_the_exercise(course):
    """Follow the steps of "Add an exercise" up to the release."""
    lesson = "attention_lib/lessons/scaling.py"
    course.put(lesson, "", REFERENCE)
    course.put(lesson, '    "dot_product_scores",\n', '    "centered",\n')
    template = course.text("attention_lib/exercises/template.py")
    own_reference = re.search(r"^def centered\(.*?\n\n\n", template, re.M | re.S)[0]
    exercise = "attention_lib/exercises/scaling/centered.py"
    course.put(exercise, "", template.replace(own_reference, ""))
    course.put(exercise, "\nHINTS", IMPORT)
    course.put("attention_lib/exercises/scaling/__init__.py", '    "entropy"', '    "centered",\n')
    course.put("tests/answers/03_scaling.yaml", "", ANSWER)
    answers = course.text("tests/exercises/template.py")
    course.put("tests/exercises/scaling/centered.py", "", answers)
    course.must_run("benchmarks.explanations", "--update", "centered")
    course.put("solutions/03_scaling.md", "### Exercise: entropy", f"{TASK}\n")


@pytest.fixture(scope="module")
def course(tmp_path_factory):
    """Add the exercise, and a mistake to it."""
    course = Course(tmp_path_factory.mktemp("course"))
    add_the_exercise(course)
    mistake = textwrap.indent(MISTAKE, "    ")
    course.put("attention_lib/exercises/scaling/centered.py", '    "sum-subtracted', mistake)
    course.release()
    status, told = course.check()
    minutes = re.search(r'write "(about \d+ minutes)" in its first cell', told)
    assert status == 1, told
    assert "1 failed" in told, told
    lesson = course.folder / "solutions/03_scaling.md"
    stated = re.sub(r"about \d+ minutes", minutes[1], course.text(lesson), count=1)
    lesson.write_text(stated, encoding="utf-8")
    course.release()
    return course


def test_an_exercise_that_is_added_as_the_page_says_is_green(course):
    status, told = course.check()
    assert status == 0, told
    assert "centered-doubled" in course.text("attention_lib/exercises/ids.txt")
    course.must_run("pytest", "-q", "-n0", "-p", "no:cacheprovider", *OF_ALL_EXERCISES)


WRONG = {
    "its solution": (
        "solutions/03_scaling.md",
        TASK,
        "",
        'exercise="centered" in solutions/03_scaling.md',
    ),
    "its place": (
        "attention_lib/exercises/scaling/__init__.py",
        '    "centered",\n',
        "",
        "list that EXERCISE in attention_lib/exercises/scaling/__init__.py",
    ),
    "its patch": (
        "attention_lib/exercises/scaling/centered.py",
        "return result => return 2",
        "return it => return 2",
        "scaling/centered.py: doubled replaces 'return it', which occurs 0 times in plain",
    ),
}


@pytest.mark.parametrize("part", WRONG)
def test_an_exercise_whose_part_is_wrong_is_told_which(course, part):
    file, old, new, said = WRONG[part]
    whole = course.text(file)
    assert old in whole
    try:
        (course.folder / file).write_text(whole.replace(old, new), encoding="utf-8")
        status, told = course.check()
    finally:
        (course.folder / file).write_text(whole, encoding="utf-8")
    assert status != 0
    assert said in told, told
