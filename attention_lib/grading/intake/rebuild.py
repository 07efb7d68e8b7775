"""Rebuild a submission: the student's text in a copy of the released notebook."""

from __future__ import annotations

import functools
import itertools
import re
from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from nbformat import NotebookNode, from_dict
from nbformat.v4 import new_code_cell, new_markdown_cell

from attention_lib.grading import limits
from attention_lib.grading.inside.outputs import BASE64, PICTURE_TYPES
from attention_lib.grading.intake.bindings import bound_names, parse_cell, without_placeholder
from attention_lib.grading.intake.words import (
    has_sentence,
    is_blank_answer,
    own_words,
    with_comments_shown,
)
from attention_lib.grading.lesson.cell_ids import id_of

BEFORE_FIRST = -1  # the index below which cells above the first released cell are added
ADDED = "added-"  # how the ids of cells of a student's own begin
ELSEWHERE = "elsewhere in this notebook"  # in what is written where an answer was expected


class ForeignNotebook(ValueError):
    """The submitted notebook is not one of the lesson's; the text says why not."""


@dataclass
class Cell:
    """What is used of one submitted cell."""

    position: int
    kind: str
    text: str
    cell_id: str | None
    settings: Mapping[str, Any]  # nbgrader's metadata
    tags: list[Any]
    pictures: dict[str, dict[str, str]]
    too_long: bool = False  # if so, its text is left out
    released_index: int | None = None  # of the released cell that this is a copy of
    is_earlier: bool = False  # a cell of an earlier version of the lesson, unchanged

    @property
    def name(self) -> object:
        """Return the cell's grade_id, which may be anything."""
        return self.settings.get("grade_id")

    @functools.cached_property
    def normalized(self) -> str:
        """Return the text in the form in which texts are compared."""
        return _normalized(self.text)

    def is_unchanged(self, released_cell: NotebookNode) -> bool:
        """Return whether the text is that of a released cell."""
        return self.normalized == _normalized_released(released_cell.source)

    @functools.cached_property
    def _bound(self) -> frozenset[str]:
        return bound_names(self.text)

    def binds(self, name: str) -> bool:
        """Return whether its code gives a name a value that is no placeholder."""
        return name in self.text and name in self._bound


class Rebuilt(NamedTuple):
    """A notebook to run, and whole sentences about what was put right in it."""

    notebook: NotebookNode
    changes: list[str]
    told: list[str]  # those of the changes that an instructor should know


@dataclass(frozen=True)
class Place:
    """A cell of the student's in the rebuilt notebook."""

    index: int  # of the released cell that it replaces, or that is above it
    cell: Cell
    words: str  # where that is
    is_run: bool  # as code
    is_answer: bool = False


@dataclass
class Elsewhere:
    """What was found outside the cells that were to hold it."""

    sources: dict[int, str] = field(default_factory=dict)  # of answer cells, by index
    answered: dict[str, list[str]] = field(default_factory=dict)  # exercises by place
    notes: list[str] = field(default_factory=list)

    @property
    def exercises(self) -> set[str]:
        """Return the exercises whose answers were found in other cells."""
        return {name for names in self.answered.values() for name in names}

    @property
    def sentences(self) -> list[str]:
        """Say what was found where."""
        found = [
            f"{', '.join(names)}: answered in {place}." for place, names in self.answered.items()
        ]
        return found + self.notes


def rebuild(released: NotebookNode, submitted: Mapping[str, Any], lesson: str = "") -> Rebuilt:
    """Put what a student wrote into a copy of the released notebook.

    Layout, metadata, points and check cells are those of the release. From the submission come
    the text of the answer cells and every other cell with text of its own, as a plain cell
    where it stood: cells that were added, and the student's version of cells of the lesson,
    after the lesson's own. An answer counts in whichever of these cells it is: what was given
    out in its place is left out then, and the answer cell says where the answer is.

    Cells of earlier versions of the `lesson` are recognized by its name. Of these, Markdown is left
    out, and code stays: the student's code may need it.

    Raises
    ------
    ForeignNotebook
        If the submission has none of the released answer cells, or too many cells.
    """
    cells = list(itertools.islice(_read_cells(submitted), limits.NOTEBOOK_CELLS + 1))
    if len(cells) > limits.NOTEBOOK_CELLS:
        raise ForeignNotebook(f"it has more than {limits.NOTEBOOK_CELLS:,} cells")
    _match_cells(released.cells, cells)
    for cell in cells:
        cell.is_earlier = cell.released_index is None and _is_of_an_earlier_version(cell, lesson)
    chosen, copies = _choose_all(released.cells, cells)
    added, left_out = _added(released.cells, cells, chosen)
    elsewhere = _find_elsewhere(released.cells, chosen, added)
    if not elsewhere.answered and not any(_is_answer(released.cells[index]) for index in chosen):
        raise ForeignNotebook("it has none of this lesson's answer cells")
    changes = _changes(released.cells, cells, copies, chosen, elsewhere.exercises)
    notebook = from_dict({**released, "cells": []})
    count = 0
    for index in range(BEFORE_FIRST, len(released.cells)):
        if index != BEFORE_FIRST:
            answer = chosen.get(index) if _is_answer(released.cells[index]) else None
            source = elsewhere.sources.get(index)
            notebook.cells.append(_released_cell(released.cells[index], answer, source))
        for cell in added.get(index, []):
            count += 1
            origin = "earlier-" if cell.is_earlier else ADDED
            notebook.cells.append(_plain_cell(cell, f"{origin}{count}"))
    return Rebuilt(notebook, changes + left_out + elsewhere.sentences, elsewhere.sentences)


def is_blank(released: NotebookNode, submitted: Mapping[str, Any], lesson: str = "") -> bool:
    """Tell whether a notebook answers nothing, whatever notes a student has written in it."""
    given_out = {"", *(_normalized_released(cell.source) for cell in released.cells)}
    if all(cell.normalized in given_out for cell in _read_cells(submitted)):
        return True
    try:
        rebuilt = rebuild(released, submitted, lesson).notebook
    except ForeignNotebook:
        return False
    return all(_normalized(cell.source) in given_out for cell in rebuilt.cells if _is_answer(cell))


def _read_cells(submitted: Mapping[str, Any]) -> Iterator[Cell]:
    """Read the cells of a notebook, and leave out what is none."""
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
    text = _encodable(source)
    level = raw.get("level")
    if raw.get("cell_type") == "heading" and isinstance(level, int | float) and 1 <= level <= 6:
        return f"{'#' * int(level)} {text}"
    return text


def _encodable(text: str) -> str:
    """Replace lone surrogates, which JSON can hold and no file can, and NUL, which ends texts."""
    return text.encode("utf-8", "replace").decode().replace("\0", "\ufffd")


def _pictures(attachments: object) -> dict[str, dict[str, str]]:
    """Read the first pictures that a student pasted into a Markdown cell, and no other attachments."""
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


def _match_cells(released: list[NotebookNode], cells: list[Cell]) -> None:
    """Match submitted cells with released ones: by name, then by id, then by text."""
    by_name = {_grade_id(cell): i for i, cell in enumerate(released) if _grade_id(cell)}
    by_id = {cell.get("id"): i for i, cell in enumerate(released)}
    for cell in cells:
        if isinstance(cell.name, str) and cell.name in by_name:
            cell.released_index = by_name[cell.name]
        elif cell.cell_id is not None:
            cell.released_index = by_id.get(cell.cell_id)
    matched = {cell.released_index for cell in cells}
    unmatched = defaultdict(list)
    for index, released_cell in enumerate(released):
        if index not in matched:
            unmatched[_normalized_released(released_cell.source)].append(index)
    for cell in cells:
        named = isinstance(cell.name, str)  # after another lesson's exercise, not after one here
        if cell.released_index is None and not named and unmatched.get(cell.normalized):
            cell.released_index = unmatched[cell.normalized].pop(0)
    for index in sorted(index for indices in unmatched.values() for index in indices):
        answer = released[index]
        if _is_answer(answer) and answer.cell_type == "code":
            _match_by_position(index, cells, _definition_of(answer))
        elif _is_answer(answer) and any(_is_answer(cell) for cell in _matches(released, cells)):
            _match_by_position(index, cells)


def _matches(released: list[NotebookNode], cells: list[Cell]) -> Iterator[NotebookNode]:
    """Return the released cells that submitted ones are matched with."""
    for cell in cells:
        if cell.released_index is not None:
            yield released[cell.released_index]


def _is_of_an_earlier_version(cell: Cell, lesson: str) -> bool:
    """Return whether a cell was released as it is: its id is made from its text."""
    digest = (cell.cell_id or "").partition("-")[0]
    return digest == id_of(lesson, cell.kind, cell.text.replace("\r\n", "\n"))


def _definition_of(answer: NotebookNode) -> re.Pattern[str]:
    name = re.escape(str(_grade_id(answer)))
    return re.compile(rf"^(def\s+{name}\b|{name}\s*=(?!=))", re.MULTILINE)


def _match_by_position(
    index: int, cells: list[Cell], definition: re.Pattern[str] | None = None
) -> None:
    """Match a missing answer with cells between its neighbors: those that define it, or with text."""
    matched = [(c.released_index, c.position) for c in cells if c.released_index is not None]
    before = [position for other, position in matched if other < index]
    after = [position for other, position in matched if other > index]
    start, stop = max(before, default=-1), min(after, default=len(cells))
    for cell in cells:
        if cell.released_index is not None or not start < cell.position < stop:
            continue
        if definition and cell.kind == "code" and definition.search(cell.text):
            cell.released_index = index
        elif not definition and cell.kind == "markdown":
            cell.released_index = index
            return


def _choose_all(
    released: list[NotebookNode], cells: list[Cell]
) -> tuple[dict[int, Cell], Mapping[int | None, list[Cell]]]:
    """Choose one submitted cell for each released one; return as well all copies of each."""
    chosen: dict[int, Cell] = {}
    check_positions = {
        _exercise(released[cell.released_index]): cell.position
        for cell in reversed(cells)
        if cell.released_index is not None and _is_check(released[cell.released_index])
    }
    copies = defaultdict(list)
    for cell in cells:
        copies[cell.released_index].append(cell)
    for index, released_cell in enumerate(released):
        if copies[index]:
            check_position = check_positions.get(_exercise(released_cell), len(cells))
            chosen[index] = _choose(released_cell, copies[index], check_position)
    return chosen, copies


def _changes(
    released: list[NotebookNode],
    cells: list[Cell],
    copies: Mapping[int | None, list[Cell]],
    chosen: Mapping[int, Cell],
    answered_elsewhere: set[str],
) -> list[str]:
    """Say what was put right."""
    changes: list[str] = []
    missing, edited = 0, 0
    for index, released_cell in enumerate(released):
        cell = chosen.get(index)
        if _exercise(released_cell):
            if (
                cell
                or _is_check(released_cell)
                or _grade_id(released_cell) not in answered_elsewhere
            ):
                changes += _remarks(released_cell, copies[index], cell)
        elif cell is None:
            missing += 1
        elif not cell.is_unchanged(released_cell):
            edited += 1
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
    return changes


def _choose(released_cell: NotebookNode, copies: list[Cell], check_position: int) -> Cell:
    """Choose among copies of a cell; of an answer, the last one above its check cell.

    Copies with the answer's name come first: an answer may be split into several cells.
    """
    if not _is_answer(released_cell):
        return copies[0]
    complete = [cell for cell in copies if not cell.too_long] or copies
    written = [cell for cell in complete if not cell.is_unchanged(released_cell)] or complete
    if released_cell.cell_type == "code":
        written = [cell for cell in written if cell.binds(_exercise(released_cell))] or written
    return ([cell for cell in written if cell.position < check_position] or written)[-1]


def _added(
    released: list[NotebookNode], cells: list[Cell], chosen: Mapping[int, Cell]
) -> tuple[dict[int, list[Cell]], list[str]]:
    """Group the student's own cells by the index of the released cell above them.

    Return as well sentences about what was left out because it is too much.
    """
    used = {cell.position for cell in chosen.values()}
    added: dict[int, list[Cell]] = defaultdict(list)
    above, count, characters, too_many, too_long = BEFORE_FIRST, 0, 0, 0, 0
    for cell in cells:
        index = cell.released_index
        if index is not None and cell.position in used:
            above = index
            if _is_answer(released[index]):
                continue
        too_long += cell.too_long
        if not cell.text.strip() or (index is not None and cell.is_unchanged(released[index])):
            continue
        if cell.is_earlier and cell.kind == "markdown":
            continue
        if count == limits.ADDED_CELLS or characters + len(cell.text) > limits.ADDED_CHARACTERS:
            too_many += 1
            continue
        added[above].append(cell)
        count, characters = count + 1, characters + len(cell.text)
    left_out = []
    if too_long:
        left_out.append(f"Cells of {too_many_characters()} ({too_long}) were left out.")
    if too_many:
        left_out.append(
            f"Of cells of your own, {limits.ADDED_CELLS} with {limits.ADDED_CHARACTERS:,} "
            f"characters are taken at most; {too_many} were left out."
        )
    return added, left_out


def _find_elsewhere(
    released: list[NotebookNode], chosen: Mapping[int, Cell], added: Mapping[int, list[Cell]]
) -> Elsewhere:
    """Find answers, and words that may be, in other cells than the ones for them."""
    found = Elsewhere()
    places = list(_places(released, chosen, added))
    for index, answer in enumerate(released):
        if not _is_answer(answer):
            continue
        if answer.cell_type == "code":
            _find_code(answer, index, chosen.get(index), places, found)
        elif not _is_written(answer, chosen.get(index)):
            _find_words(released, index, places, found)
    return found


def _places(
    released: list[NotebookNode], chosen: Mapping[int, Cell], added: Mapping[int, list[Cell]]
) -> Iterator[Place]:
    """Return the student's cells in the order in which they will be run, with words for the place."""
    exercises = [_exercise(cell) for cell in released]
    first = next(filter(None, exercises), "")
    nearest = ""
    for index in range(BEFORE_FIRST, len(released)):
        if index != BEFORE_FIRST:
            nearest = exercises[index] or nearest
            if _is_answer(released[index]) and index in chosen:
                is_run = released[index].cell_type == "code"
                yield Place(index, chosen[index], f"the answer cell of {nearest}", is_run, True)
        for cell in added.get(index, []):
            if cell.is_earlier:
                continue
            words = f"a cell below {nearest}" if nearest else f"a cell above {first}"
            if cell.released_index is not None and _is_check(released[cell.released_index]):
                words = f"the check cell of {exercises[cell.released_index]}"
            yield Place(index, cell, words, cell.kind == "code")


def _find_code(
    answer: NotebookNode, index: int, cell: Cell | None, places: list[Place], found: Elsewhere
) -> None:
    """Find the last cell that defines an answer, if its own does not, and take the placeholder out."""
    name = str(_grade_id(answer))
    if cell is not None and cell.binds(name):
        return
    where = [place.words for place in places if place.is_run and place.cell.binds(name)]
    if not where:
        definition = _definition_of(answer)
        for place in places:
            text = place.cell.text
            runs = place.is_run and parse_cell(text) is not None
            if place.cell is not cell and not runs and definition.search(text):
                found.notes.append(
                    f"{name}: what looks like an answer in {place.words} does not run."
                )
        return
    found.answered.setdefault(where[-1], []).append(name)
    own = "" if cell is None or cell.is_unchanged(answer) else without_placeholder(cell.text, name)
    found.sources[index] = f"# {name} is answered {ELSEWHERE}: in {where[-1]}.\n{own}".rstrip()


def _is_written(answer: NotebookNode, cell: Cell | None) -> bool:
    if cell is None or cell.too_long:
        return False
    return bool(cell.pictures) or not is_blank_answer(cell.text, answer.source)


def _find_words(
    released: list[NotebookNode], index: int, places: list[Place], found: Elsewhere
) -> None:
    """Have a person look for a blank answer in words: from its question on, or told of words above."""
    name = str(_grade_id(released[index]))
    question = max((i for i in range(index) if _exercise(released[i])), default=BEFORE_FIRST)
    given = [cell.source for cell in released]
    others = [place for place in places if place.is_run or not place.is_answer]
    worded = [(place, own_words(place.cell.text, place.cell.kind, given)) for place in others]
    near = [p for p, words in worded if words and p.index >= question and not p.is_answer]
    others = [place for place, words in worded if has_sentence(words)]
    where = ", ".join(dict.fromkeys(place.words for place in near or others))
    if near:
        found.sources[index] = (
            f"*Nothing was written here. Words {ELSEWHERE} may be the answer: in {where}.*"
        )
        found.notes.append(f"{name}: words in {where} may be the answer.")
    else:
        found.sources[index] = released[index].source
        if others:
            found.notes.append(f"{name}: nothing was written, but there are words in {where}.")


def _most_characters(kind: str) -> int:
    code = kind == "code"
    return limits.CODE_CELL_CHARACTERS if code else limits.MARKDOWN_CELL_CHARACTERS


def too_many_characters() -> str:
    """Say what a cell that is not taken holds; a note with these words tells of one."""
    code, text = limits.CODE_CELL_CHARACTERS, limits.MARKDOWN_CELL_CHARACTERS
    return f"more than {code:,} characters of code or {text:,} of text"


def _remarks(released_cell: NotebookNode, copies: list[Cell], chosen: Cell | None) -> list[str]:
    """Return sentences about what was put right in an answer or check cell."""
    what = f"The {'check' if _is_check(released_cell) else 'answer'} cell of {_exercise(released_cell)}"
    if chosen is None:
        return [f"{what} was missing and was put back."]
    remarks = []
    if chosen.too_long:
        remarks.append(f"{what} held {too_many_characters()}; what it held was not taken.")
    if len(copies) > 1:
        rest = (
            "the first is used, the others count nothing"
            if _is_check(released_cell)
            else "the last one before its check is graded, and one below it if that is not right"
        )
        remarks.append(f"{what} was there {len(copies)} times; {rest}.")
    if _is_check(released_cell) and not chosen.is_unchanged(released_cell):
        remarks.append(f"{what} had been changed; the lesson's own decides.")
    if chosen.kind != released_cell.cell_type:
        remarks.append(f"{what} had been turned into another type of cell; it was turned back.")
    names = ("grade", "grade_id", "points", "solution")
    settings = released_cell.metadata.nbgrader
    added_tags = [tag for tag in chosen.tags if tag not in released_cell.metadata.get("tags", [])]
    if added_tags or any(chosen.settings.get(name) != settings.get(name) for name in names):
        remarks.append(f"{what} had lost or changed its settings; they were put back.")
    return remarks


def _released_cell(
    released_cell: NotebookNode, answer: Cell | None, source: str | None = None
) -> NotebookNode:
    """Copy a released cell, with the text of the student's answer, or with what stands for it."""
    cell = from_dict(released_cell)
    if source is not None:
        cell.source = source
    elif answer is not None and not answer.too_long:
        is_text = cell.cell_type == "markdown"
        cell.source = with_comments_shown(answer.text) if is_text else answer.text
        if answer.pictures and is_text:
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
    """Return the name of the exercise that a cell belongs to, or an empty string."""
    return (_grade_id(cell) or "").removeprefix("check_")


def _normalized(text: str) -> str:
    """Return a text without what editors change: line ends, and blanks at the ends of lines."""
    return "\n".join(line.rstrip() for line in text.strip().splitlines())


_normalized_released = functools.lru_cache(maxsize=1024)(_normalized)  # the same for all students
