"""A submission put back together on the released notebook: the student's text, our notebook."""

from __future__ import annotations

import functools
import itertools
import re
from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from nbformat import NotebookNode, from_dict
from nbformat.v4 import new_code_cell, new_markdown_cell

from attention_lib.grading.lesson.cell_ids import id_of

START = -1  # the place of cells that stand before the first cell of the lesson

# What is taken of one notebook at most: enough for any work, and little enough to show again.
LONGEST = {"code": 200_000, "markdown": 20_000}  # characters of a cell
MOST_CELLS = 10_000
MOST_ADDED = 500  # cells of the student's own
MOST_TEXT = 1_000_000  # characters of these together


class ForeignNotebook(ValueError):
    """The submitted notebook is not one of the lesson's; the text says why not."""


@dataclass
class Cell:
    """What is taken from one submitted cell."""

    position: int
    kind: str
    text: str
    cell_id: str | None
    marks: Mapping[str, Any]  # nbgrader's metadata
    tags: list[Any]
    pictures: dict[str, dict[str, str]]
    too_long: bool = False  # if so, its text was not kept
    home: int | None = None  # the released cell that this is, or was made from
    is_earlier: bool = False  # a cell of the lesson, as it was before it was changed

    @property
    def name(self) -> object:
        return self.marks.get("grade_id")

    @functools.cached_property
    def plain(self) -> str:
        return _plain(self.text)

    def is_as_given_out(self, own: NotebookNode) -> bool:
        return self.plain == _plain_released(own.source)


def rebuild(
    released: NotebookNode, submitted: Mapping[str, Any], lesson: str = ""
) -> tuple[NotebookNode, list[str]]:
    """Put what a student wrote into the released notebook.

    Layout, metadata, points and check cells are those of the release. From the submission come
    the text of the answer cells and every other cell with text of its own, as a plain cell
    where it stood: cells that were added, and the student's version of cells of the lesson,
    after the lesson's own.

    Parameters
    ----------
    released
        The notebook that was given out.
    submitted
        A notebook as read from a file in nbformat 3 or 4, of any state. It is not changed.
    lesson
        The lesson's name, by which cells of its earlier versions are known. Of these the text
        is left out, and the code stays: a student's may rest on it.

    Returns
    -------
    notebook, changes
        The notebook to run, and in plain words what was put right in it.

    Raises
    ------
    ForeignNotebook
        If there is none of the release's answer cells in the submission, or more cells than
        anyone writes.
    """
    cells = list(itertools.islice(_read_cells(submitted), MOST_CELLS + 1))
    if len(cells) > MOST_CELLS:
        raise ForeignNotebook(f"it has more than {MOST_CELLS:,} cells")
    _find_homes(released.cells, cells)
    for cell in cells:
        cell.is_earlier = cell.home is None and _is_of_the_lesson(cell, lesson)
    taken, changes = _take(released.cells, cells)
    added, left_out = _added(released.cells, cells, taken)
    notebook = from_dict({**released, "cells": []})
    count = 0
    for place in range(START, len(released.cells)):
        if place != START:
            answer = taken.get(place) if _is_answer(released.cells[place]) else None
            notebook.cells.append(_released_cell(released.cells[place], answer))
        for cell in added.get(place, []):
            count += 1
            whose = "earlier" if cell.is_earlier else "added"
            notebook.cells.append(_plain_cell(cell, f"{whose}-{count}"))
    return notebook, changes + left_out


def _read_cells(submitted: Mapping[str, Any]) -> Iterator[Cell]:
    """Read the cells that can be read, whatever else there is."""
    for position, raw in enumerate(_raw_cells(submitted)):
        if not isinstance(raw, Mapping):
            continue
        metadata = raw.get("metadata")
        metadata = metadata if isinstance(metadata, Mapping) else {}
        marks, tags, cell_id = metadata.get("nbgrader"), metadata.get("tags"), raw.get("id")
        kind = "code" if raw.get("cell_type") == "code" else "markdown"
        text = _text(raw)
        too_long = len(text) > LONGEST[kind]
        yield Cell(
            position=position,
            kind=kind,
            text="" if too_long else text,
            too_long=too_long,
            cell_id=cell_id if isinstance(cell_id, str) else None,
            marks=marks if isinstance(marks, Mapping) else {},
            tags=tags if isinstance(tags, list) else [],
            pictures=_pictures(raw.get("attachments")),
        )


def _raw_cells(submitted: Mapping[str, Any]) -> Iterator[Any]:
    """Return the cells where nbformat 4 has them, or 3, which sorts them into worksheets."""
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
    text = _writable(source)
    if raw.get("cell_type") == "heading" and raw.get("level") in range(1, 7):
        return f"{'#' * raw['level']} {text}"
    return text


def _writable(text: str) -> str:
    """Replace lone surrogates, which JSON can hold and no file can, and NUL, which ends texts."""
    return text.encode("utf-8", "replace").decode().replace("\0", "\ufffd")


def _pictures(attachments: object) -> dict[str, dict[str, str]]:
    """Keep the pictures that a student pasted into a Markdown cell."""
    if not isinstance(attachments, Mapping):
        return {}
    kept = {
        name: {
            mime: data
            for mime, data in bundle.items()
            if mime in ("image/png", "image/jpeg", "image/gif")
            and isinstance(data, str)
            and re.fullmatch(r"[A-Za-z0-9+/=\s]*", data, re.ASCII)
        }
        for name, bundle in attachments.items()
        if isinstance(bundle, Mapping) and name == _writable(name)
    }
    return {name: bundle for name, bundle in kept.items() if bundle}


def _find_homes(released: list[NotebookNode], cells: list[Cell]) -> None:
    """Find for each submitted cell the released one it is: by name, then id, then text."""
    by_name = {_grade_id(cell): i for i, cell in enumerate(released) if _grade_id(cell)}
    by_id = {cell.get("id"): i for i, cell in enumerate(released)}
    for cell in cells:
        if isinstance(cell.name, str) and cell.name in by_name:
            cell.home = by_name[cell.name]
        elif cell.cell_id is not None:
            cell.home = by_id.get(cell.cell_id)
    homes = {cell.home for cell in cells}
    free = defaultdict(list)
    for place, own in enumerate(released):
        if place not in homes:
            free[_plain_released(own.source)].append(place)
    for cell in cells:
        if cell.home is None and free.get(cell.plain):
            cell.home = free[cell.plain].pop(0)
    for place in sorted(place for places in free.values() for place in places):
        if _is_answer(released[place]) and released[place].cell_type == "code":
            _adopt(released[place], place, cells)
        elif _is_answer(released[place]) and any(
            cell.home is not None and _is_answer(released[cell.home]) for cell in cells
        ):
            _adopt_words(place, cells)


def _is_of_the_lesson(cell: Cell, lesson: str) -> bool:
    """Tell whether a cell was given out just so: its id is the one that its text has."""
    made = (cell.cell_id or "").partition("-")[0]
    return made == id_of(lesson, cell.kind, cell.text.replace("\r\n", "\n"))


def _adopt(answer: NotebookNode, place: int, cells: list[Cell]) -> None:
    """Take cells that define what a missing answer cell should have for copies of it."""
    name = re.escape(_grade_id(answer))
    definition = re.compile(rf"^(def\s+{name}\b|{name}\s*=(?!=))", re.MULTILINE)
    for cell in cells:
        if cell.home is None and cell.kind == "code" and definition.search(cell.text):
            cell.home = place


def _adopt_words(place: int, cells: list[Cell]) -> None:
    """Take text that stands where a missing answer in words should be for that answer."""
    before = [cell.position for cell in cells if cell.home is not None and cell.home < place]
    after = [cell.position for cell in cells if cell.home is not None and cell.home > place]
    start, stop = max(before, default=-1), min(after, default=len(cells))
    for cell in cells:
        if cell.home is None and cell.kind == "markdown" and start < cell.position < stop:
            cell.home = place
            return


def _take(released: list[NotebookNode], cells: list[Cell]) -> tuple[dict[int, Cell], list[str]]:
    """Choose the submitted cell that stands for each released one, and list what was amiss."""
    taken, changes, missing, edited = {}, [], 0, 0
    check_positions = {
        _exercise(released[cell.home]): cell.position
        for cell in reversed(cells)
        if cell.home is not None and _is_check(released[cell.home])
    }
    all_copies = defaultdict(list)
    for cell in cells:
        all_copies[cell.home].append(cell)
    for place, own in enumerate(released):
        copies = all_copies[place]
        if copies:
            before = check_positions.get(_exercise(own), len(cells))
            taken[place] = _choose(own, copies, before)
        if _exercise(own):
            changes += _remarks(own, copies, taken.get(place))
        elif not copies:
            missing += 1
        elif not taken[place].is_as_given_out(own):
            edited += 1
    if not any(_is_answer(released[place]) for place in taken):
        raise ForeignNotebook("it has none of this lesson's answer cells")
    earlier = sum(cell.is_earlier for cell in cells)
    if earlier:
        changes.append(f"Cells of an earlier version of the lesson ({earlier}) were replaced.")
    missing -= min(missing, earlier)
    if missing:
        changes.append(f"Missing cells of the lesson ({missing}) were put back.")
    if edited:
        changes.append(
            f"Changed cells of the lesson ({edited}): the lesson's own was run, then yours."
        )
    return taken, changes


def _choose(own: NotebookNode, copies: list[Cell], check_position: int) -> Cell:
    """Choose among copies of a cell; of an answer, the one that its check cell would have met."""
    if not _is_answer(own):
        return copies[0]
    whole = [cell for cell in copies if not cell.too_long] or copies
    written = [cell for cell in whole if not cell.is_as_given_out(own)] or whole
    return ([cell for cell in written if cell.position < check_position] or written)[-1]


def _added(
    released: list[NotebookNode], cells: list[Cell], taken: Mapping[int, Cell]
) -> tuple[dict[int, list[Cell]], list[str]]:
    """Sort the cells of the student's own by the released cell that they stand below.

    Say as well in plain words what was left out, being too much.
    """
    used = {cell.position for cell in taken.values()}
    added: dict[int, list[Cell]] = defaultdict(list)
    place, count, characters, too_many, too_long = START, 0, 0, 0, 0
    for cell in cells:
        own = None if cell.home is None else released[cell.home]
        if own is not None and cell.position in used:
            place = cell.home
            if _is_answer(own):
                continue
        too_long += cell.too_long
        if not cell.text.strip() or (own is not None and cell.is_as_given_out(own)):
            continue
        if cell.is_earlier and cell.kind == "markdown":
            continue
        if count == MOST_ADDED or characters + len(cell.text) > MOST_TEXT:
            too_many += 1
            continue
        added[place].append(cell)
        count, characters = count + 1, characters + len(cell.text)
    left_out = []
    if too_long:
        left_out.append(f"Cells of more than {_limits()} ({too_long}) were left out.")
    if too_many:
        left_out.append(
            f"Of cells of your own, {MOST_ADDED} with {MOST_TEXT:,} characters are taken "
            f"at most; {too_many} were left out."
        )
    return added, left_out


def _limits() -> str:
    return f"{LONGEST['code']:,} characters of code or {LONGEST['markdown']:,} of text"


def _remarks(own: NotebookNode, copies: list[Cell], chosen: Cell | None) -> list[str]:
    """Say in plain words what was put right in an answer or check cell."""
    what = f"The {'check' if _is_check(own) else 'answer'} cell of {_exercise(own)}"
    if chosen is None:
        return [f"{what} was missing and was put back."]
    remarks = []
    if chosen.too_long:
        remarks.append(f"{what} held more than {_limits()}; what it held was not taken.")
    if len(copies) > 1:
        rest = "the first stands" if _is_check(own) else "the last one before its check is graded"
        remarks.append(f"{what} was there {len(copies)} times; {rest}, the others count nothing.")
    if _is_check(own) and not chosen.is_as_given_out(own):
        remarks.append(f"{what} had been changed; the lesson's own decides.")
    if chosen.kind != own.cell_type:
        remarks.append(f"{what} had been turned into another type of cell; it was turned back.")
    settings = ("grade", "grade_id", "points", "solution")
    ours = own.metadata.nbgrader
    if chosen.tags or any(chosen.marks.get(key) != ours.get(key) for key in settings):
        remarks.append(f"{what} had lost or changed its settings; they were put back.")
    return remarks


def _released_cell(own: NotebookNode, answer: Cell | None) -> NotebookNode:
    cell = from_dict(own)
    if answer is not None and not answer.too_long:
        cell.source = answer.text
        if answer.pictures and cell.cell_type == "markdown":
            cell.attachments = from_dict(answer.pictures)
    return cell


def _plain_cell(cell: Cell, cell_id: str) -> NotebookNode:
    if cell.kind == "code":
        return new_code_cell(cell.text, id=cell_id)
    pictures = {"attachments": from_dict(cell.pictures)} if cell.pictures else {}
    return new_markdown_cell(cell.text, id=cell_id, **pictures)


def _grade_id(cell: NotebookNode) -> str | None:
    return cell.metadata.get("nbgrader", {}).get("grade_id")


def _is_answer(cell: NotebookNode) -> bool:
    return bool(cell.metadata.get("nbgrader", {}).get("solution"))


def _is_check(cell: NotebookNode) -> bool:
    return bool(_grade_id(cell)) and not _is_answer(cell)


def _exercise(cell: NotebookNode) -> str:
    """Return the name of the exercise that a cell belongs to, or nothing."""
    return (_grade_id(cell) or "").removeprefix("check_")


def _plain(text: str) -> str:
    """Return a text as all editors keep it: line ends and blanks at line ends may differ."""
    return "\n".join(line.rstrip() for line in text.strip().splitlines())


_plain_released = functools.lru_cache(maxsize=1024)(_plain)  # the same few for every submission
