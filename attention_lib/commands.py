"""The commands for notebooks: `check` an answer, get a `hint`, see a `solution` or one's `progress`."""

from __future__ import annotations

import html
import importlib
import inspect
import os
import secrets
import textwrap
from dataclasses import replace
from typing import Any

from attention_lib import edition, record, standing
from attention_lib.checks.exercise import Exercise
from attention_lib.checks.judging import judge
from attention_lib.checks.restoring import restored
from attention_lib.checks.show.panel import (
    COLORS,
    CheckFailed,
    as_html,
    as_text,
    headline,
    panel,
    present,
    with_code,
)
from attention_lib.checks.verdict import Report
from attention_lib.exercises import find
from attention_lib.exercises.model_answers import model_answer
from attention_lib.lessons import LESSONS
from attention_lib.older import explain_undefined_names, why_not_attempted, why_older
from attention_lib.outdated import NotUnderstood, nearest
from attention_lib.with_ours import right_with_ours

__all__ = ["CheckFailed", "check", "hint", "progress", "solution"]

SEED_VARIABLE = "ATTENTION_LIB_SEED"
_hints_given: dict[str, int] = {}
_checked: list[str] = []  # the names of checked exercises, the latest last
explain_undefined_names()


def check(name: str = "", answer: Any = ..., *, seed: int | None = 0) -> None:
    """Check an answer, and show what is right or wrong with it.

    Parameters
    ----------
    name : str
        The exercise's name.
    answer : function or value
        What you wrote for it.
    seed : int or None, default 0
        The seed of the random cases. None takes the grader's seed (the environment variable
        ATTENTION_LIB_SEED) or, if it is not set, draws a new one.

    Raises
    ------
    CheckFailed
        If the answer is wrong, raises an error, or does not exist yet.
    ValueError
        If there is no exercise with that name.
    ImportError
        If the exercise needs PyTorch, and there is none.

    Examples
    --------
    >>> from attention_lib import check
    >>> try:  # the error keeps Jupyter from running the cells below
    ...     check("study_weights", [0.106, 0.787, 0.106])  # doctest: +ELLIPSIS
    ... except AssertionError:
    ...     pass
    study_weights: not right yet. These are the published numbers, ...
    """
    if name == "":
        raise NotUnderstood('Name the exercise and give your answer: check("softmax", softmax).')
    exercise = find(name)
    if answer is ...:
        raise NotUnderstood(f'Give your answer too: check("{name}", {name}).')
    if exercise.accelerated:
        importlib.import_module("attention_lib.lessons.gpu")  # says how to get PyTorch
    _checked.append(name)
    if exercise.kind == "written":
        text = f"{name} is answered in words and read by a person: there is nothing to run."
        present(text, {"text/html": f"<p>{html.escape(text)}</p>"})
        return
    if seed is None:
        seed = int(os.environ.get(SEED_VARIABLE) or secrets.randbits(32))
    if older := why_older(name, answer):
        report = Report(exercise, "error", older)
    else:
        with restored():
            report = judge(exercise, answer, seed)
            if (
                report.outcome in ("wrong", "error")
                and exercise.built_on
                and (elsewhere := right_with_ours(exercise, answer, seed))
            ):
                report = replace(report, sentence=elsewhere, parts=(), mistake="", edit="")
    if (
        report.outcome == "unattempted"
        and not report.awaits
        and (misnamed := why_not_attempted(name))
    ):
        report = replace(report, sentence=misnamed)
    damage = ""
    if report.outcome != "unattempted":
        damage = record.note(record.Check(name, report.outcome == "right", report.mistake))
    metadata = {"attention_lib": {"exercise": name, "outcome": report.outcome}}
    present(as_text(report), {"text/html": as_html(report)}, metadata)
    if damage:
        present(damage, {"text/markdown": damage})
    if report.outcome != "right":
        raise CheckFailed(headline(report))


def hint(name: str = "") -> None:
    """Show the next hint for an exercise, by default the last one checked; then the first again."""
    exercise = _exercise_or_last(name, "hint")
    name = exercise.name
    if not exercise.hints:
        text = f"There is no hint for {name}."
    else:
        number = _hints_given.get(name, 0) % len(exercise.hints)
        _hints_given[name] = number + 1
        text = f"Hint {number + 1} of {len(exercise.hints)}: {exercise.hints[number]}"
        if number + 1 == len(exercise.hints):
            text += f' This is the last hint: solution("{name}") shows a model answer.'
    shown = panel(with_code(text), COLORS["unattempted"], 'class="attention-hint"')
    present(text, {"text/html": shown})


def _exercise_or_last(name: str, command: str) -> Exercise:
    """Return the exercise with that name or, without a name, the last one checked."""
    if name == "" and not _checked:
        raise NotUnderstood(f'Name the exercise in quotes: {command}("softmax").')
    return find(_checked[-1] if name == "" else name)


def solution(name: str = "", *, library: bool = False) -> None:
    """Show the lesson's model answer to an exercise.

    Parameters
    ----------
    name : str, optional
        The exercise's name; by default the last one checked.
    library : bool, default False
        Show the library's version instead, with its docstring. It also rejects bad input.

    Raises
    ------
    ValueError
        If there is no exercise with that name.

    Examples
    --------
    >>> from attention_lib import solution
    >>> solution("study_weights")  # doctest: +ELLIPSIS
    study_weights = ...
    >>> solution("study_weights", library=True)  # doctest: +ELLIPSIS
    study_weights = [...]
    """
    exercise = _exercise_or_last(name, "solution")
    name = exercise.name
    if later := edition.when_shown(exercise, library):
        present(later, {"text/markdown": later})
        return
    answer = None if library else model_answer(exercise)
    markdown = f"solutions/{exercise.lesson}.md"
    if exercise.kind == "written":
        words = answer or f"{name} is answered in words; a model answer is in {markdown}."
        present(words, {"text/markdown": words})
        return
    if answer is None and not library:
        missing = f"{markdown} is not here, so this is the library's version."
        present(missing, {"text/markdown": missing})
    code = answer or _library_version(exercise)
    present(code, {"text/markdown": f"```python\n{code}\n```"})


def progress(lesson: str | None = None) -> None:
    """Show your progress: exercises solved, points, what is next, and what is still wrong.

    The results of `check` are saved in ``learn/.progress.json``, next to your own copies of the
    lessons, and nowhere else. Delete that file to start from zero.

    Parameters
    ----------
    lesson : str, optional
        The lesson to show in detail. By default the one of your last check.

    Raises
    ------
    ValueError
        If there is no lesson with that name.

    Examples
    --------
    >>> from attention_lib import progress
    >>> progress("01_softmax")  # doctest: +ELLIPSIS
    Lesson 01_softmax: ... exercises solved, ... points; ...
    """
    if lesson is not None and lesson not in LESSONS:
        meant = nearest(str(lesson), LESSONS) or f"There are: {', '.join(LESSONS)}."
        raise NotUnderstood(f'There is no lesson "{lesson}". {meant}')
    folder = record.learner_folder()
    if damage := record.set_aside(folder):
        present(damage, {"text/markdown": damage})
    checks = record.read(folder)
    shown = lesson or standing.lesson_of_last_check(checks)
    where = (
        f"Kept in {folder.name}/{record.FILE}, on this machine only."
        if folder
        else "This notebook is not in the course's folder learn/, so your progress is kept only "
        "until its kernel stops."
    )
    rich = {"text/html": standing.as_html(checks, shown, where)}
    present(standing.as_text(checks, shown, where), rich)


def _library_version(exercise: Exercise) -> str:
    if exercise.kind == "value":
        return f"{exercise.name} = {[round(float(number), 4) for number in exercise.reference]}"
    return textwrap.dedent(inspect.getsource(exercise.reference)).rstrip()
