"""Find answers, in code or possibly in words, outside their own cells."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from nbformat import NotebookNode

from attention_lib.grading.intake.bindings import parse_cell, without_placeholder
from attention_lib.grading.intake.cells import (
    BEFORE_FIRST,
    Cell,
    definition_of,
    exercise_of,
    grade_id,
    is_answer,
    is_check,
)
from attention_lib.grading.intake.words import has_sentence, is_blank_answer, own_words

ELSEWHERE = "elsewhere in this notebook"  # marks a text that replaces an answer
_BINDS_BY_TEXT = re.compile(r"\b(exec|globals|locals|vars|setattr|user_ns)\b")


@dataclass(frozen=True)
class Place:
    """A student's cell in the rebuilt notebook."""

    index: int  # of the released cell that it replaces or follows
    cell: Cell
    words: str  # the place in words
    is_run: bool  # as code
    is_answer: bool = False


@dataclass
class Elsewhere:
    """Answers found outside their own cells."""

    sources: dict[int, str] = field(default_factory=dict)  # of answer cells, by index
    answered: dict[str, list[str]] = field(default_factory=dict)  # exercises by place
    notes: list[str] = field(default_factory=list)

    @property
    def exercises(self) -> set[str]:
        """Return the exercises whose answers were found in other cells."""
        return {name for names in self.answered.values() for name in names}

    @property
    def sentences(self) -> list[str]:
        """Return sentences on what was found, and where."""
        found = [
            f"{', '.join(names)}: answered in {place}." for place, names in self.answered.items()
        ]
        return found + self.notes


def find_elsewhere(
    released: list[NotebookNode], chosen: Mapping[int, Cell], added: Mapping[int, list[Cell]]
) -> Elsewhere:
    """Find answers, in code or possibly in words, in cells other than their own."""
    found = Elsewhere()
    places = list(_places(released, chosen, added))
    for index, answer in enumerate(released):
        if not is_answer(answer):
            continue
        if answer.cell_type == "code":
            _find_code(answer, index, chosen.get(index), places, found)
        elif not _is_written(answer, chosen.get(index)):
            _find_words(released, index, places, found)
    return found


def _places(
    released: list[NotebookNode], chosen: Mapping[int, Cell], added: Mapping[int, list[Cell]]
) -> Iterator[Place]:
    """Yield the student's cells in the order in which they will run, with their places in words."""
    exercises = [exercise_of(cell) for cell in released]
    first = next(filter(None, exercises), "")
    nearest = ""
    for index in range(BEFORE_FIRST, len(released)):
        if index != BEFORE_FIRST:
            nearest = exercises[index] or nearest
            if is_answer(released[index]) and index in chosen:
                is_run = released[index].cell_type == "code"
                yield Place(index, chosen[index], f"the answer cell of {nearest}", is_run, True)
        for cell in added.get(index, []):
            if cell.is_earlier:
                continue
            words = f"a cell below {nearest}" if nearest else f"a cell above {first}"
            if any(map(is_answer, released[index + 1 : index + 2])):
                words = f"a cell above {exercises[index + 1]}"
            if cell.released_index is not None and is_check(released[cell.released_index]):
                words = f"the check cell of {exercises[cell.released_index]}"
            yield Place(index, cell, words, cell.kind == "code")


def _find_code(
    answer: NotebookNode, index: int, cell: Cell | None, places: list[Place], found: Elsewhere
) -> None:
    """Find the last cell that defines an answer, if its own does not, and remove the placeholder."""
    name = str(grade_id(answer))
    if cell is not None and cell.binds(name):
        return
    where = [place.words for place in places if place.is_run and place.cell.binds(name)]
    if not where:
        definition = definition_of(answer)
        for place in [place for place in places if place.cell is not cell]:
            text = place.cell.text
            runs = place.is_run and parse_cell(text) is not None
            if not runs and definition.search(text):
                found.notes.append(
                    f"{name}: what looks like an answer in {place.words} does not run."
                )
            elif runs and name in text and _BINDS_BY_TEXT.search(text):
                found.notes.append(
                    f"{name}: {place.words} may define it by exec or globals(), which is not followed."
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
    """Report words that may be the answer to a blank question in words, for a human to read.

    Words below the question replace the blank answer by a pointer. Sentences elsewhere are only
    noted.
    """
    name = str(grade_id(released[index]))
    question = max((i for i in range(index) if exercise_of(released[i])), default=BEFORE_FIRST)
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
