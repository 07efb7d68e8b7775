"""Mutate notebooks for a fuzzer: keys deleted, doubled, of another type; numbers, depth, surrogates."""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from copy import deepcopy
from typing import Any

from tests.grading.intake.released import ANSWER, CHECK, RELEASED, marks

CELL = {
    "cell_type": "code",
    "id": "double",
    "metadata": {**marks("double", solution=True), "tags": ["setup"], "collapsed": False},
    "execution_count": 1,
    "outputs": [{"output_type": "stream", "name": "stdout", "text": ["4\n"]}],
    "source": ANSWER.splitlines(keepends=True),
}
PICTURE = {"cell_type": "markdown", "id": "why", "metadata": marks("why", grade=True, points=3)}
PICTURE |= {"source": "![](attachment:p)", "attachments": {"p": {"image/png": "iVBORw0KGgo="}}}
NEW = {"nbformat": 4, "nbformat_minor": 5, "metadata": dict(RELEASED.metadata)}
NEW |= {"cells": [*map(dict, RELEASED.cells[:2]), CELL, dict(RELEASED.cells[3]), PICTURE]}
OLD_CELLS = [
    {"cell_type": "heading", "level": 1, "metadata": {}, "source": ["Lesson"]},
    {"cell_type": "code", "input": [ANSWER], "language": "python", "outputs": []},
    {"cell_type": "code", "input": CHECK, "metadata": marks("check_double", grade=True)},
]
OLD = {"nbformat": 3, "nbformat_minor": 0, "metadata": {"name": ""}}
OLD |= {"worksheets": [{"cells": OLD_CELLS, "metadata": {}}]}
ODD_VALUES: tuple[Any, ...] = (
    *(None, True, False, 0, 1, -1, 3, 4, 5, 1.0, 4.0, -0.5, 1e308, 10**300, 2**63),
    *(float("nan"), float("inf"), float("-inf"), "", "x", "\0", "\ud800", "\udfff x", "\u202e"),
    *("code", "markdown", "heading", "raw", "double", "check_double", "4", "a" * 250_000),
    *("\n" * 50_000, "x = 1\n" * 50_000, [], {}, [[]], [{}], [None], [1, 2.5], [["x"]], {"": ""}),
    *({"a": {"b": []}}, ["text", 7, None], {"\ud800": "x"}, {"cells": []}, {"image/png": ["x"]}),
)
ODD_NAMES = ("nbformat", "cells", "worksheets", "cell_type", "source", "input", "level", "id")
ODD_NAMES += ("metadata", "nbgrader", "grade_id", "tags", "attachments", "outputs", "\ud800", "")


class Mutator:
    """Makes mutants from a seed, each from its number alone."""

    def __init__(self, seed: int) -> None:
        self._seed = seed

    def mutant(self, number: int) -> bytes:
        """Return the bytes of one mutant."""
        choose = random.Random(f"{self._seed}-{number}")
        notebook: Any = deepcopy(choose.choice((NEW, NEW, OLD)))
        for _ in range(choose.choice((1, 1, 2, 3, 6))):
            notebook = _change(notebook, choose)
        text = json.dumps(notebook, ensure_ascii=choose.random() < 0.8)
        content = text.encode("utf-8", "surrogatepass")
        return _change_bytes(content, choose) if choose.random() < 0.1 else content


def _places(value: Any) -> list[tuple[Any, Any]]:
    """Return every container of a value with every key or index in it."""
    items = value.items() if isinstance(value, dict) else enumerate(value)
    found = [(value, key) for key, _ in items]
    for _, inner in list(found):
        child = value[inner]
        if isinstance(child, dict | list):
            found += _places(child)
    return found


def _change(notebook: Any, choose: random.Random) -> Any:
    places = _places(notebook) if isinstance(notebook, dict | list) else []
    if not places:
        return choose.choice(ODD_VALUES)
    container, key = choose.choice(places)
    choose.choice(CHANGES)(container, key, choose)
    return notebook


def _delete(container: Any, key: Any, _choose: random.Random) -> None:
    del container[key]


def _replace(container: Any, key: Any, choose: random.Random) -> None:
    container[key] = deepcopy(choose.choice(ODD_VALUES))


def _double(container: Any, key: Any, choose: random.Random) -> None:
    times = choose.choice((2, 2, 3, 50))
    try:
        deepcopy(container[key])
    except RecursionError:  # earlier changes nested it too deep to be copied
        return
    if isinstance(container, list):
        container[key:key] = [deepcopy(container[key]) for _ in range(times)]
    else:
        container[choose.choice(ODD_NAMES)] = deepcopy(container[key])


def _wrap(container: Any, key: Any, choose: random.Random) -> None:
    depth = choose.choice((1, 1, 2, 30, 300))
    for _ in range(depth):
        container[key] = choose.choice(([container[key]], {"source": container[key]}))


def _swap(container: Any, key: Any, choose: random.Random) -> None:
    other = choose.choice(list(container) if isinstance(container, dict) else range(len(container)))
    container[key], container[other] = container[other], container[key]


def _add(container: Any, _key: Any, choose: random.Random) -> None:
    value = deepcopy(choose.choice(ODD_VALUES))
    if isinstance(container, list):
        container.insert(choose.randint(0, len(container)), value)
    else:
        container[choose.choice(ODD_NAMES)] = value


CHANGES: tuple[Callable[[Any, Any, random.Random], None], ...] = (
    *(_replace, _replace, _replace, _delete, _double, _wrap, _swap, _add),
)


def _change_bytes(content: bytes, choose: random.Random) -> bytes:
    """Change the text of a notebook: cut it, or write what JSON does not allow or seldom holds."""
    place = choose.randrange(len(content) + 1)
    return choose.choice(
        (
            content[:place],
            content[:place] + bytes([choose.randrange(256)]) + content[place + 1 :],
            content[:place] + b'"nbformat": 4, ' + content[place:],
            content.replace(
                b": 4,", b": " + choose.choice((b"9" * 5_000, b"4e0", b"-0", b"4.")), 1
            ),
            content.replace(b": 1", b": 1e99999"),
            b"\xef\xbb\xbf" + content,
            content.decode("utf-8", "replace").encode("utf-16"),
            b"[" * choose.choice((10, 900, 100_000)) + content,
            content.replace(b'"', b'"\\u0000\\ud834', choose.randrange(9)),
        )
    )
