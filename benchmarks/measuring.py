"""How things are timed and shown: in turn, by their medians, in one plain table."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from statistics import median


def timed_in_turn(
    functions: dict[str, Callable[[], object]], repeats: dict[str, int]
) -> dict[str, list[float]]:
    """Return the seconds that each function took, called in turn, once untimed and once timed.

    Whatever else the machine does then strikes all of them alike. The untimed call leaves behind
    the function's own data in the cache, and no other library's threads still spinning. A
    function that is to be repeated less often than the others sits out the later rounds; once
    means that it was called before and needs no untimed call.
    """
    seconds: dict[str, list[float]] = {name: [] for name in functions}
    for turn in range(max(repeats.values())):
        for name, function in functions.items():
            if turn < repeats[name]:
                if repeats[name] > 1:
                    function()
                start = time.perf_counter()
                function()
                seconds[name].append(time.perf_counter() - start)
    return seconds


def median_ratio(ours: Sequence[float], theirs: Sequence[float]) -> float:
    """Return the median of the ratios of what was timed in the same turn."""
    return median(a / b for a, b in zip(ours, theirs, strict=False))


def print_table(title: str, header: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """Print rows under their header: the first column to the left, numbers to the right."""
    widths = [max(map(len, column)) for column in zip(header, *rows, strict=True)]
    print(title, end="\n\n")
    for row in (header, ["-" * width for width in widths], *rows):
        first, *others = (
            cell.rjust(width) if i else cell.ljust(width)
            for i, (cell, width) in enumerate(zip(row, widths, strict=True))
        )
        print("  ".join((first, *others)).rstrip())
    print(flush=True)
