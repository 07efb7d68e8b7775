"""Read a lesson's model answers from its Markdown, where the course's own folder is at hand."""

from __future__ import annotations

import re
from pathlib import Path

import attention_lib
from attention_lib.checks.exercise import Exercise

SOLUTIONS = Path(attention_lib.__file__).parent.parent / "solutions"
CODE = r'^```python exercise="{name}"[^\n]*\n(.*?)^```$'
WORDS = r'^<!-- #region written="{name}"[^\n]*-->\n(.*?)^<!-- #endregion -->$'
MARK = re.compile(r"^[ \t]*### (?:BEGIN|END) SOLUTION[ \t]*\n", re.MULTILINE)


def model_answer(exercise: Exercise) -> str | None:
    """Return the model answer of an exercise: a function, a value's line, or words as Markdown.

    None where the lesson's Markdown is not there: the library is installed, not cloned.
    """
    path = SOLUTIONS / f"{exercise.lesson}.md"
    if not path.is_file():
        return None
    pattern = (WORDS if exercise.kind == "written" else CODE).format(name=exercise.name)
    cell = re.search(pattern, path.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)
    if cell is None:
        return None
    before, *answer = MARK.split(cell[1])
    # A function's first line stands before the mark; what a value starts as is no part of it.
    return "".join(answer if exercise.kind == "value" else [before, *answer]).strip()
