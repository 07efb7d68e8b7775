"""What a learner calls from a notebook: `check` an answer, ask for a `hint`, see the `solution`."""

from __future__ import annotations

import html
import inspect
import os
import secrets
import textwrap
from typing import Any

from attention_lib.checks.judging import judge
from attention_lib.checks.panel import (
    COLORS,
    CheckFailed,
    as_html,
    as_text,
    headline,
    panel,
    present,
)
from attention_lib.exercises import find

__all__ = ["CheckFailed", "check", "hint", "solution"]

SEED_VARIABLE = "ATTENTION_LIB_SEED"
_hints_given: dict[str, int] = {}


def check(name: str, answer: Any, *, seed: int | None = 0) -> None:
    """Check an answer, and show what is right or wrong with it.

    Parameters
    ----------
    name : str
        The exercise's name.
    answer : function or value
        What you wrote for it.
    seed : int or None, default 0
        What the random cases are drawn from. None draws them from the grader's seed (the
        environment variable ATTENTION_LIB_SEED), or anew where there is none.

    Raises
    ------
    CheckFailed
        If the answer is wrong, raises an error, or is not there yet.
    ValueError
        If there is no exercise of that name.

    Examples
    --------
    >>> import numpy as np
    >>> from attention_lib import check
    >>> def weighted_sum(weights, values):
    ...     return np.einsum("...ls,...sv->...lv", weights, values)
    >>> check("weighted_sum", weighted_sum)
    weighted_sum: right. All 8 cases, 2 points.
    """
    exercise = find(name)
    if exercise.kind == "written":
        text = f"{name} is answered in words and read by a person: there is nothing to run."
        present(text, {"text/html": f"<p>{html.escape(text)}</p>"})
        return
    if seed is None:
        seed = int(os.environ.get(SEED_VARIABLE) or secrets.randbits(32))
    report = judge(exercise, answer, seed)
    metadata = {"attention_lib": {"exercise": name, "outcome": report.outcome}}
    present(as_text(report), {"text/html": as_html(report)}, metadata)
    if report.outcome != "right":
        raise CheckFailed(headline(report))


def hint(name: str) -> None:
    """Show the next hint for an exercise; after the last one they start again."""
    exercise = find(name)
    if not exercise.hints:
        text = f"There is no hint for {name}."
    else:
        number = _hints_given.get(name, 0) % len(exercise.hints)
        _hints_given[name] = number + 1
        text = f"Hint {number + 1} of {len(exercise.hints)}: {exercise.hints[number]}"
    shown = panel(html.escape(text), COLORS["unattempted"], 'class="attention-hint"')
    present(text, {"text/html": shown})


def solution(name: str) -> None:
    """Show the library's own version of an exercise, docstring and all."""
    exercise = find(name)
    if exercise.kind == "function":
        sources = map(inspect.getsource, (exercise.reference, *exercise.shown))
        text = "\n\n".join(textwrap.dedent(source).rstrip() for source in sources)
    elif exercise.kind == "value":
        text = f"{name} = {[round(number, 4) for number in exercise.reference]}"
    else:
        text = f"{name} is answered in words; a model answer is in solutions/{exercise.lesson}.md."
    present(text, {"text/markdown": f"```python\n{text}\n```"})
