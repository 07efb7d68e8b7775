"""docs/colab.md gives every lesson an address in Colab, and the cell that brings the course there."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from attention_lib.lessons import LESSONS
from website.colab import CELL, how_to_open, with_repository

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "colab.md").read_text(encoding="utf-8")
FORK = "https://github.com/ada/course"


@pytest.mark.parametrize("lesson", LESSONS)
def test_lesson_is_opened_at_its_own_address_in_the_fork(lesson):
    text = how_to_open(lesson, FORK)
    address = "https://colab.research.google.com/github/ada/course/blob/main/"
    notebook = f"notebooks/{lesson}/{lesson}.ipynb"
    assert f"]({address}{notebook})" in text
    assert (ROOT / notebook).is_file()
    assert f"    !git clone --depth 1 {FORK} /content/attention-course" in text


@pytest.mark.parametrize("repository", ["", "https://example.org/course"])
def test_repository_that_is_not_on_github_is_not_made_up(repository):
    assert "colab.research" not in how_to_open(LESSONS[0], repository)
    assert with_repository(PAGE, repository) == PAGE


def test_cell_makes_the_course_importable_where_it_is_not_installed(tmp_path):
    if shutil.which("git") is None or not (ROOT / ".git").exists():
        pytest.skip("this copy of the course is not a clone")
    cell = CELL.search(PAGE)[1]
    cell = cell.replace("https://github.com/OWNER/NAME", ROOT.as_uri())
    cell = cell.replace("/content", tmp_path.as_posix())
    script = tmp_path / "lesson.ipy"
    script.write_text(
        f"{cell}import attention_lib\nprint(attention_lib.__file__)\n", encoding="utf-8"
    )
    result = subprocess.run(
        [sys.executable, "-m", "IPython", "--no-banner", script],
        cwd=tmp_path,
        env={**os.environ, "IPYTHONDIR": str(tmp_path / "ipython")},
        capture_output=True,
        text=True,
        check=True,
    )
    imported = Path(result.stdout.splitlines()[-1])
    assert imported.samefile(tmp_path / "attention-course" / "attention_lib" / "__init__.py")
