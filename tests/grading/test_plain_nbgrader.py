"""nbgrader's own commands grade the notebooks in a folder without this course's settings, as docs say."""

import csv
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.grading.sample_class import LESSONS, ROOT, Classroom, cell_of, make_lean_course

LESSON = LESSONS[0]
WRONG = "def weighted_sum(weights, values):\n    return values"


@pytest.mark.slow
def test_commands_of_the_page_grade_and_write_feedback(tmp_path):
    section = (
        (ROOT / "docs" / "teaching.md").read_text("utf-8").partition("## With nbgrader alone\n")[2]
    )
    first, *commands = re.findall(r"^    (.*)$", section.partition("\n## ")[0], re.MULTILINE)
    assert first == f"make release LESSON={LESSON}"  # done here with a lesson without figures
    room = Classroom(make_lean_course(tmp_path, LESSON), LESSON)
    notebook = room.key()
    room.hand_in("ada", notebook)
    cell_of(notebook, "weighted_sum").source = WRONG
    room.hand_in("bo", notebook)
    room.hand_in("cy", room.blank())
    script = "\n".join(commands).replace(
        "# hand out", f"cp -r {tmp_path}/classroom/submitted submitted\n# hand out"
    )
    folder = Path(sys.executable).parent
    environment = {**os.environ, "HOME": str(tmp_path), "PATH": f"{folder}:{os.environ['PATH']}"}
    for line in [script, "cd ~/attention; nbgrader export"]:
        done = subprocess.run(
            ["bash", "-ec", line], cwd=tmp_path, env=environment, capture_output=True, text=True
        )
        assert done.returncode == 0, done.stderr
    course = tmp_path / "attention"
    with (course / "grades.csv").open() as file:
        scores = {row["student_id"]: float(row["score"]) for row in csv.DictReader(file)}
    assert scores == {"ada": room.full, "bo": room.full - 2, "cy": 0}
    page = (course / "feedback" / "bo" / LESSON / f"{LESSON}.html").read_text("utf-8")
    assert "weighted_sum: not right yet" in page
