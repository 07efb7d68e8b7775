"""`check` and `solution` in a students' edition: own functions are remembered, answers come later."""

from __future__ import annotations

import functools
import json
from typing import Any

from attention_lib import commands
from attention_lib.checks.panel import present
from attention_lib.edition import calls
from attention_lib.exercises import find

__all__ = ["check", "solution"]


@functools.wraps(commands.check)
def check(name: str, answer: Any, *, seed: int | None = 0) -> None:
    commands.check(name, answer, seed=seed)
    if find(name).kind == "function":
        sentence = calls.remember(name, answer)
        if sentence:
            present(sentence, {"text/markdown": sentence})


@functools.wraps(commands.solution)
def solution(name: str, *, library: bool = False) -> None:
    graded = json.loads((calls.RECORDS / "graded.json").read_text(encoding="utf-8"))
    lesson = find(name).lesson
    if lesson not in graded:
        commands.solution(name, library=library)
        return
    when = f"from {graded[lesson]} on" if graded[lesson] else f"when lesson {lesson} is over"
    text = f"The model answer to {name} will show {when}, in the edition that you are given then."
    present(text, {"text/markdown": text})
