"""Read the cells of a submitted notebook, which may hold anything."""

from __future__ import annotations

import functools
import itertools
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from nbformat import NotebookNode

from attention_lib.exercises import EXERCISES
from attention_lib.grading import limits
from attention_lib.grading.inside.outputs import BASE64, PICTURE_TYPES
from attention_lib.grading.intake.bindings import bound_names

DEFINITION = re.compile(r"^def\s+(\w+)", re.MULTILINE)
BEFORE_FIRST = -1  # the index under which cells above the first released cell are added


@dataclass
class Cell:
    """One submitted cell: the parts that are used."""

    position: int
    kind: str
    text: str
    cell_id: str | None
    settings: Mapping[str, Any]  # nbgrader's metadata
    tags: list[Any]
    pictures: dict[str, dict[str, str]]
    too_long: bool = False  # if so, its text is left out
    released_index: int | None = None  # of the released cell that it is a copy of
    is_earlier: bool = False  # a cell of an earlier version of the lesson, unchanged

    @property
    def name(self) -> object:
        """Return the cell's grade_id, which may be anything."""
        return self.settings.get("grade_id")

    @functools.cached_property
    def normalized(self) -> str:
        """Return the text normalized for comparison."""
        return normalized(self.text)

    def is_unchanged(self, released_cell: NotebookNode) -> bool:
        """Return whether the text is that of a released cell."""
        return self.normalized == normalized_released(released_cell.source)

    @functools.cached_property
    def _bound_names(self) -> frozenset[str]:
        return bound_names(self.text)

    def binds(self, name: str) -> bool:
        """Return whether its code binds a name to a value other than a placeholder."""
        may_bind = name in self.text or not self.text.isascii()  # Python normalizes names
        return may_bind and name in self._bound_names


def read_cells(submitted: Mapping[str, Any]) -> Iterator[Cell]:
    """Yield the notebook's valid cells."""
    for position, raw in enumerate(_raw_cells(submitted)):
        if not isinstance(raw, Mapping):
            continue
        metadata = raw.get("metadata")
        metadata = metadata if isinstance(metadata, Mapping) else {}
        settings, tags, cell_id = metadata.get("nbgrader"), metadata.get("tags"), raw.get("id")
        kind = "code" if raw.get("cell_type") == "code" else "markdown"
        text = _text(raw)
        too_long = len(text) > _most_characters(kind)
        yield Cell(
            position=position,
            kind=kind,
            text="" if too_long else text,
            too_long=too_long,
            cell_id=cell_id if isinstance(cell_id, str) else None,
            settings=settings if isinstance(settings, Mapping) else {},
            tags=tags if isinstance(tags, list) else [],
            pictures=_pictures(raw.get("attachments")),
        )


def _raw_cells(submitted: Mapping[str, Any]) -> Iterator[Any]:
    """Yield the cells of nbformat 4, or of 3, which groups them in worksheets."""
    sheets = [submitted]
    if "cells" not in submitted and isinstance(submitted.get("worksheets"), list):
        sheets = [sheet for sheet in submitted["worksheets"] if isinstance(sheet, Mapping)]
    for sheet in sheets:
        cells = sheet.get("cells")
        yield from cells if isinstance(cells, list) else []


def _text(raw: Mapping[str, Any]) -> str:
    source = raw.get("source", raw.get("input"))  # code is called input in nbformat 3
    if isinstance(source, list):
        source = "".join(line for line in source if isinstance(line, str))
    if not isinstance(source, str):
        return ""
    text = _encodable(source)
    level = raw.get("level")
    if raw.get("cell_type") == "heading" and isinstance(level, int | float) and 1 <= level <= 6:
        return f"{'#' * int(level)} {text}"
    return text


def _encodable(text: str) -> str:
    """Replace lone surrogates, which JSON can hold but files cannot, and NUL, which ends texts."""
    return text.encode("utf-8", "replace").decode().replace("\0", "\ufffd")


def _pictures(attachments: object) -> dict[str, dict[str, str]]:
    """Read the first pictures pasted into a Markdown cell, and no other attachments."""
    if not isinstance(attachments, Mapping):
        return {}
    pictures = {
        name: {
            mime: data
            for mime, data in bundle.items()
            if mime in PICTURE_TYPES and isinstance(data, str) and BASE64.fullmatch(data)
        }
        for name, bundle in itertools.islice(attachments.items(), 50)
        if isinstance(bundle, Mapping) and name == _encodable(name)
    }
    return {name: bundle for name, bundle in pictures.items() if bundle}


def _most_characters(kind: str) -> int:
    code = kind == "code"
    return limits.CODE_CELL_CHARACTERS if code else limits.MARKDOWN_CELL_CHARACTERS


def lessons_of(cells: Sequence[Cell]) -> Counter[str]:
    """Count the exercises of each lesson that cells are for, by their nbgrader metadata.

    If no cell has this metadata, count by the names of the functions that they define.
    """
    names = {str(cell.name).removeprefix("check_") for cell in cells}
    if not names & EXERCISES.keys():
        names = {name for cell in cells for name in DEFINITION.findall(cell.text)}
    return Counter(EXERCISES[name].lesson for name in names & EXERCISES.keys())


def grade_id(cell: NotebookNode) -> str | None:
    return cell.metadata.get("nbgrader", {}).get("grade_id")


def is_answer(cell: NotebookNode) -> bool:
    return bool(cell.metadata.get("nbgrader", {}).get("solution"))


def is_check(cell: NotebookNode) -> bool:
    return bool(grade_id(cell)) and not is_answer(cell)


def exercise_of(cell: NotebookNode) -> str:
    """Return the name of the exercise that a cell belongs to, or an empty string."""
    return (grade_id(cell) or "").removeprefix("check_")


def definition_of(answer: NotebookNode) -> re.Pattern[str]:
    name = re.escape(str(grade_id(answer)))
    return re.compile(rf"^(def\s+{name}\b|{name}\s*=(?!=))", re.MULTILINE)


def normalized(text: str) -> str:
    """Return a text without differences that editors make: line ends, and spaces at the ends of lines."""
    return "\n".join(line.rstrip() for line in text.strip().splitlines())


normalized_released = functools.lru_cache(maxsize=1024)(normalized)  # the same for all students
