"""Read and write the corpus of answers, `tests/answers/`: right and wrong ones, a file a lesson."""

from __future__ import annotations

import dataclasses
import linecache
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import yaml

from attention_lib.exercises import find

CORPUS = Path(__file__).parents[1] / "tests" / "answers"
RATINGS = ("told", "partly", "bare", "misleads")
LISTS = ("labels", "lines")


@dataclass(frozen=True)
class Answer:
    """An answer as a learner writes it, and what the check must find in it."""

    lesson: str
    name: str
    exercise: str
    text: str
    right: bool = False
    labels: tuple[str, ...] = ()  # what the check finds: a label, then an id or topics
    lines: tuple[int, ...] = ()  # of the text, that the findings name
    faults: int = 1
    writer: str = ""  # who saw no check; the fields below are of such answers alone
    half: str = ""
    teacher: str = ""  # the sentence that a teacher would say
    said: str = ""  # what the check said when it was rated
    rating: str = ""

    def is_named(self, name: str) -> bool:
        return name in (self.lesson, self.exercise, self.name, self.writer)


def answers(corpus: Path = CORPUS, lesson: str = "[0-9][0-9]_*") -> list[Answer]:
    """Return all answers, or those of a lesson, in the order of the files."""
    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)  # ten times faster
    read = []
    for file in sorted(corpus.glob(f"{lesson}.yaml")):
        try:
            rows = yaml.load(file.read_text(encoding="utf-8"), loader)
            read += [_answer(file.stem, row) for row in rows]
        except (ValueError, yaml.YAMLError) as problem:
            told = " ".join(str(problem).split())
            raise ValueError(f"tests/answers/{file.name}: {told}") from None
    return read


def _answer(lesson: str, row: dict[str, Any]) -> Answer:
    """Read a row, or raise ValueError with what is wrong in it."""
    name = row.get("name", f"a row with {', '.join(row)}")
    fields = {field.name for field in dataclasses.fields(Answer)}
    for key in ("name", "exercise", "text"):
        if key not in row:
            raise ValueError(f"{name} has no {key}.")
    for key in row.keys() - fields:
        raise ValueError(f"{name} has a field {key}; an answer has {', '.join(sorted(fields))}.")
    try:
        exercise = find(row["exercise"])
    except ValueError as problem:
        raise ValueError(f"{name}: {problem}") from None
    if (exercise.lesson, exercise.kind) != (lesson, "function"):
        raise ValueError(f"{name} answers {exercise.name}, which is no function of {lesson}.")
    if f"def {exercise.name}(" not in row["text"]:
        raise ValueError(f"{name} has a text without `def {exercise.name}(`.")
    return Answer(lesson, **{**row, **{key: tuple(row.get(key, ())) for key in LISTS}})


def write_answers(changed: Iterable[Answer], corpus: Path = CORPUS) -> None:
    """Write the files anew, fields that have their default left out."""
    defaults = {field.name: field.default for field in dataclasses.fields(Answer)}
    lessons: dict[str, list[dict[str, Any]]] = {}
    for answer in changed:
        fields = dataclasses.asdict(answer).items()
        row = {key: value for key, value in fields if value != defaults[key]}
        lessons.setdefault(row.pop("lesson"), []).append(row)
    for lesson, rows in lessons.items():
        parts = [yaml.dump([row], Dumper=_Dumper, **FORMAT) for row in rows]
        (corpus / f"{lesson}.yaml").write_text("\n".join(parts), encoding="utf-8")


FORMAT: dict[str, Any] = {"sort_keys": False, "allow_unicode": True, "width": 100}


class _Dumper(yaml.SafeDumper):
    """Writes texts of several lines as they are, and labels in one line."""


def _text(dumper: yaml.SafeDumper, text: str) -> yaml.Node:
    style = "|" if "\n" in text else None
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style)


def _list(dumper: yaml.SafeDumper, items: tuple[object, ...]) -> yaml.Node:
    return dumper.represent_sequence("tag:yaml.org,2002:seq", items, flow_style=True)


_Dumper.add_representer(str, _text)
_Dumper.add_representer(tuple, _list)


def defined(exercise: str, text: str) -> Any:
    """Run a cell's text and return its answer, or raise what the cell does."""
    file = f"<cell of {exercise} {hash(text)}>"
    lines = text.splitlines(keepends=True)
    linecache.cache[file] = (len(text), None, lines, file)  # for tracebacks and Triton
    names: dict[str, Any] = {"__name__": "__main__", "np": np}
    exec(compile(text, file, "exec", dont_inherit=True), names)
    return names[exercise]
