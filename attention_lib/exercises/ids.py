"""Map former ids of known mistakes to present ones, so that reports of several terms can be compared.

`ids.txt` lists every id that was ever published, as `softmax-last-axis-only`, and behind it those that
the same mistake had before.
"""

from __future__ import annotations

import functools
from pathlib import Path

from attention_lib.exercises import EXERCISES

FILE = Path(__file__).with_name("ids.txt")


def current_id(id: str) -> str:
    """Return the present id of a mistake, as `softmax-last-axis-only`, for one that it had once."""
    return id if id in present_ids() else _renamed().get(id, id)


@functools.cache
def present_ids() -> frozenset[str]:
    """Return the ids of all known mistakes of the course."""
    return frozenset(
        f"{exercise.name}-{mistake.id}"
        for exercise in EXERCISES.values()
        for mistake in exercise.mistakes
    )


def published_ids() -> dict[str, list[str]]:
    """Read the list: each id with its former ones."""
    lines = map(str.split, FILE.read_text(encoding="utf-8").splitlines())
    return {id: former for id, *former in lines}


def write() -> None:
    """Add the ids of new mistakes to the list."""
    listed = {id: list[str]() for id in present_ids()} | published_ids()
    lines = [" ".join([id, *listed[id]]) + "\n" for id in sorted(listed)]
    FILE.write_text("".join(lines), encoding="utf-8")


@functools.cache
def _renamed() -> dict[str, str]:
    """Return the present id by each former one."""
    return {
        f"{id.partition('-')[0]}-{one}": id
        for id, former in published_ids().items()
        for one in former
    }
