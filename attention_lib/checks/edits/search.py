"""Search for small edits of an answer's source that make wrong results right.

Each edit is tried: the edited answer is called on the cases.
"""

from __future__ import annotations

import ast
import contextlib
import copy
import dataclasses
import itertools
import sys
import threading
import types
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from attention_lib.checks.calls.case import Answer, Observation
from attention_lib.checks.calls.timeouts import OutOfTime, time_limit
from attention_lib.checks.compare.comparing import Comparison
from attention_lib.checks.edits.cell import EDITED, Source, source_of
from attention_lib.checks.edits.edits import (
    Edits,
    Fault,
    edits_of,
    faults_of,
    rank_of,
    sentence_of,
)
from attention_lib.checks.errors.line import is_kernel
from attention_lib.checks.exercise import Exercise

MOST_TRIALS = 360  # of edits of one answer
MOST_CALLS = 1500  # in all of them
MOST_LINES = 60_000  # of an answer with loops, in all of them
ENDLESS_SECONDS = 1.0  # of CPU time, for a call that runs no lines; others take milliseconds
FEWEST_LINES = 100  # that a call of an edited answer may run, even if the original runs fewer
MUCH_LONGER = 5  # a call of an edited answer may run this many times as many lines
MOST_RANK = 4  # of an edit that corrects only some results
MOST_PROMISING = 4  # edits that are combined with every other one
MOST_WHOLES = 4  # corrections of all results; the first without other problems is named
MOST_EDITS = 3  # in a pair, one of which may be made in two places


@dataclass(frozen=True)
class Fix:
    """An edit that makes results right: what to write, and the edited answer."""

    words: str
    faults: tuple[Fault, ...]
    answer: Answer
    lines: frozenset[int]  # of the places that it changes


Tried = dict[
    tuple[Edits, Comparison], bool
]  # whether a call is right after edits, for all searches of one answer


def search(
    exercise: Exercise, answer: Any, comparisons: Sequence[Comparison], tried: Tried
) -> Search | None:
    """Start a search, or return None if there is no source, or no time limit in this thread."""
    source = source_of(answer)
    if source is None or is_kernel(source.function):  # a kernel runs too long
        return None
    if threading.current_thread() is not threading.main_thread():
        return None
    return Search(exercise, source, comparisons, tried)


class _BudgetSpent(Exception):
    """The budget for trials is spent."""


class _TooLong(BaseException):
    """A call of an edited answer runs too many lines."""


class Search:
    """A search among small edits, within a budget of trials, calls and lines.

    No decision depends on a clock: a time limit only ends a call that runs none of the answer's
    lines.
    """

    def __init__(
        self, exercise: Exercise, source: Source, comparisons: Sequence[Comparison], tried: Tried
    ) -> None:
        self._exercise, self._source, self._tried = exercise, source, tried
        failing = [one for one in comparisons if one.failed]
        passing = [one for one in comparisons if not one.failed]
        # The first failing call rules out most edits.
        self._calls = [*failing[:1], *passing, *failing[1:]]
        self._kept = 1 + len(passing)  # of the first calls, which must all be right after an edit
        self._trials = self._called = self._lines = 0
        self._has_loops = any(isinstance(n, LOOPS) for f in source.functions for n in ast.walk(f))
        self._original: dict[Comparison, int] = {}  # lines run by each of its calls
        self._helpful: list[tuple[int, Edits]] = []  # with the number of calls that are then right

    def wholes(self) -> Iterator[Fix]:
        """Yield corrections of every result, by one edit or by two."""
        with contextlib.suppress(_BudgetSpent):
            for edits in itertools.islice(self._wholes(), MOST_WHOLES):
                if fix := self._fix(edits):
                    yield fix

    def _wholes(self) -> Iterator[Edits]:
        every = edits_of(self._source.functions, self._exercise.accelerated)
        wholes = set[Edits]()
        for edits in every:
            right = self._calls_right(edits)
            if right == len(self._calls):
                wholes.add(edits)
                yield edits
            elif right:
                self._helpful.append((right, edits))
        self._helpful.sort(key=lambda pair: (-pair[0], rank_of(pair[1])))
        promising = [edits for _, edits in self._helpful[:MOST_PROMISING]]
        pairs = itertools.chain(itertools.product(promising, every), _likeliest_pairs(every))
        for first, second in pairs:
            both = first + second
            if len(both) > MOST_EDITS or {first, second} & wholes:
                continue
            if self._calls_right(both) == len(self._calls) and self._adds_up(first, second):
                yield both

    def _adds_up(self, first: Edits, second: Edits) -> bool:
        """Tell whether each of two edits changes code that the other one does not."""
        return self._text_after(first + second) not in map(self._text_after, (first, second))

    def _text_after(self, edits: Edits) -> str:
        with contextlib.ExitStack() as stack:
            for edit in edits:
                stack.enter_context(edit.applied())
            return "".join(map(ast.unparse, self._source.functions))

    def in_part(self) -> Fix | None:
        """Return the correction of most results, the first failing call's included, or None."""
        helpful = [
            (right, edits)
            for right, edits in self._helpful
            if right >= self._kept and rank_of(edits) <= MOST_RANK
        ]
        if not helpful:
            return None
        right, edits = max(helpful, key=lambda pair: (pair[0], -rank_of(pair[1])))
        others = len(self._calls) - self._kept
        if others and 3 * (right - self._kept) < others:
            return None  # the first result may be right by chance
        return self._fix(edits)

    def _fix(self, edits: Edits) -> Fix | None:
        answer = self._edited_answer(edits)
        if answer is None:
            return None
        lines = self._source.lines
        numbers = frozenset(getattr(edit.place, "lineno", 0) for edit in edits)
        faults = faults_of(edits, lines, self._source.namespace)
        return Fix(sentence_of(edits, lines), faults, answer, numbers)

    def _edited_answer(self, edits: Edits) -> Answer | None:
        with contextlib.ExitStack() as stack:
            for edit in edits:
                stack.enter_context(edit.applied())
            return self._source.made({edit.enclosing[-1] for edit in edits})

    def _calls_right(self, edits: Edits) -> int:
        """Count the calls that pass after an edit.

        Counting stops if the first failing call, or one that passed before, fails.
        """
        self._trials += 1
        if self._trials > MOST_TRIALS or self._called > MOST_CALLS or self._lines > MOST_LINES:
            raise _BudgetSpent
        try:
            return self._count_right(edits)
        except OutOfTime:  # an answer that does not end, in code whose lines are not counted
            raise _BudgetSpent from None

    def _count_right(self, edits: Edits) -> int:
        """Count the calls that pass, as `_calls_right` does, within the budget."""
        answer, count = None, 0
        for number, one in enumerate(self._calls):
            if (edits, one) not in self._tried:
                answer = answer or self._edited_answer(edits)
                if answer is None:
                    return 0
                self._tried[edits, one] = False  # in case it never ends
                seen = self._call(answer, one, MUCH_LONGER * self._lines_of(one) + FEWEST_LINES)
                self._tried[edits, one] = _is_right(dataclasses.replace(one, seen=seen))
            if self._tried[edits, one]:
                count += 1
            elif number < self._kept:
                break
        return count

    def _lines_of(self, one: Comparison) -> int:
        """Count the original's lines that a call runs; return 0 if it has no loops."""
        if self._has_loops and one not in self._original:
            before = self._lines
            self._call(self._edited_answer(()), one, MOST_LINES)
            self._original[one] = self._lines - before
        return self._original.get(one, 0)

    def _call(self, answer: Any, one: Comparison, most: int) -> Observation:
        """Call an edited answer like `observe`, but only for its value or error."""
        self._called += 1
        args, kwargs = copy.deepcopy((one.trial.case.args, one.trial.case.kwargs))
        try:
            with time_limit(ENDLESS_SECONDS), self._counting(most):
                return Observation(value=self._exercise.on_cases(answer)(*args, **kwargs))
        except (KeyboardInterrupt, OutOfTime):
            raise
        except BaseException as error:  # also SystemExit
            return Observation(error=error)

    @contextlib.contextmanager
    def _counting(self, most: int) -> Iterator[None]:
        """Count the lines of the answer that the body runs, and stop it after `most`."""
        if not self._has_loops:
            yield
            return
        last = self._lines + most

        def trace(frame: types.FrameType, event: str, _: object) -> Any:
            if frame.f_code.co_filename != EDITED:
                return None
            if event == "line":
                self._lines += 1
                if self._lines > last:
                    raise _TooLong
            return trace

        previous = sys.gettrace()
        sys.settrace(trace)
        try:
            yield
        finally:
            sys.settrace(previous)


LOOPS = (ast.For, ast.While, ast.comprehension)


def _is_right(one: Comparison) -> bool:
    try:
        return not one.failed
    except Exception:  # a result that cannot be compared
        return False


def _likeliest_pairs(every: Sequence[Edits]) -> Iterator[tuple[Edits, Edits]]:
    """Yield pairs of edits, those with the lowest sum of ranks first."""
    by_rank = {rank: list(group) for rank, group in itertools.groupby(every, rank_of)}
    for total in range(2, 2 * max(by_rank, default=0) + 1):
        for rank in by_rank:
            if rank < total - rank:
                yield from itertools.product(by_rank[rank], by_rank.get(total - rank, ()))
            elif rank == total - rank:
                yield from itertools.combinations(by_rank[rank], 2)
