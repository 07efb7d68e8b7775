"""Keep marks given by hand from being flagged again while the marked answer has not changed.

nbgrader keeps such marks, but flags all of them for another look at every autograding.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

from attention_lib.grading.classroom.gradebook import Standing
from attention_lib.grading.intake.elsewhere import ELSEWHERE
from attention_lib.grading.intake.rebuild import ADDED

if TYPE_CHECKING:
    from nbgrader.api import Gradebook


def read_answers(autograded: Path) -> dict[str, str]:
    """Return the answers in an autograded notebook, by exercise; empty if there is no notebook.

    For an answer that was found in other cells, return the text of all the student's cells.
    """
    if not autograded.is_file():
        return {}
    cells = json.loads(autograded.read_bytes())["cells"]
    sources = [(cell, "".join(cell["source"])) for cell in cells]
    own = "\n".join(source for cell, source in sources if cell.get("id", "").startswith(ADDED))
    answers = [
        (cell["metadata"]["nbgrader"]["grade_id"], source)
        for cell, source in sources
        if cell["metadata"].get("nbgrader", {}).get("solution")
    ]
    everything = "\n".join([own, *(source for _, source in answers)])
    return {name: everything if ELSEWHERE in source else source for name, source in answers}


def still_settled(
    before: Standing, after: Standing, old: dict[str, str], new: dict[str, str]
) -> list[str]:
    """Return the grades that a human settled and whose answers and scores have not changed since.

    A mark above the points is not one of them: the points have changed.

    `before` and `after` are what the gradebook held before this grading, and holds now. `old` and
    `new` are the answers at these times. A teacher's own tests may depend on any answer.
    """

    def same(name: str) -> bool:
        exercise = name.removeprefix("check_")
        return (
            bool(old)
            and old.get(exercise, old) == new.get(exercise, new)
            and before.automatic.get(name) == after.automatic.get(name)
        )

    return [name for name in before.settled if same(name) and name not in after.above]


def settle(gradebook: Gradebook, lesson: str, student: str, names: list[str]) -> None:
    """Mark these grades as needing no further look by a human."""
    for name in names:
        gradebook.find_grade(name, lesson, lesson, student).needs_manual_grade = False
    gradebook.db.commit()
