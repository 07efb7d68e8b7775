"""Searching the small changes of an answer's source for those that make wrong results right.

What is said of a change is true by trial: the changed answer has been called on the cases.
"""

from __future__ import annotations

import contextlib
import copy
import dataclasses
import functools
import itertools
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from attention_lib.checks.calls.case import Answer, Case
from attention_lib.checks.calls.failing_line import is_kernel
from attention_lib.checks.calls.measuring import thread_time
from attention_lib.checks.calls.observation import Observation
from attention_lib.checks.calls.timeouts import OutOfTime, time_limit
from attention_lib.checks.comparing import Comparison
from attention_lib.checks.exercise import Exercise
from attention_lib.checks.source.cell import Source, source_of
from attention_lib.checks.source.edits import Edits, edits_of, faults_of, rank_of, sentence_of

MOST_TRIALS = 600  # of edits, for one answer; the same on every machine
BUDGET_SECONDS = 0.25  # of the processor's time, for all of them
WALL_SECONDS = 2.0  # the same on a busy machine
CALL_SECONDS = 0.1  # for one call of an edited answer
LEAST_CALL_SECONDS = 0.01  # the same for an answer that is quick
MUCH_SLOWER = 5  # than before: an edited answer that may never end
MOST_RANK = 4  # of an edit that is named though it does not mend everything
MOST_PROMISING = 4  # edits that a second one is tried with
MOST_WHOLES = 4  # mends of all results, of which the first that the probes accept is named
MOST_PLACES = 2  # that an edit is made in, where another fault is named too
MOST_EDITS = 3  # in two changes, of which one may be made in two places


@dataclass(frozen=True)
class Mend:
    """An edit that makes results right: what to write, and the edited answer."""

    words: str
    faults: tuple[str, ...]  # that it repairs
    answer: Answer
    helps: bool  # it makes the first failing call right, and none wrong


def search(exercise: Exercise, answer: Any, comparisons: Sequence[Comparison]) -> Search | None:
    """Start a search; None if there is no source to read, or nothing ends a loop that never ends."""
    source = source_of(answer)
    if source is None or is_kernel(source.function):  # one run of it takes too long for this
        return None
    if threading.current_thread() is not threading.main_thread():
        return None
    return Search(exercise, source, comparisons)


class _BudgetSpent(Exception):
    """Raised when the time for trials is over."""


class Search:
    """A search among small changes, within a budget of time."""

    def __init__(
        self, exercise: Exercise, source: Source, comparisons: Sequence[Comparison]
    ) -> None:
        self._exercise, self._source = exercise, source
        failing = [one for one in comparisons if one.failed]
        passing = [one for one in comparisons if not one.failed]
        # The first call that fails tells soonest that an edit is no good.
        self._calls = [*failing[:1], *passing, *failing[1:]]
        self._kept = 1 + len(passing)  # of these, all must be right after an edit
        self._until = thread_time() + BUDGET_SECONDS
        self._trials = 0
        self._until_by_the_clock = time.monotonic() + WALL_SECONDS
        self._helpful: list[tuple[int, Edits]] = []  # and how many calls are right then
        self._others: list[tuple[Edits, Any]] = []  # and the first call's result, wrong still

    def wholes(self) -> Iterator[Mend]:
        """Yield what makes every result right, of one edit or of two."""
        with contextlib.suppress(_BudgetSpent):
            for edits in itertools.islice(self._wholes(), MOST_WHOLES):
                if mend := self._mend(edits):
                    yield mend

    def _wholes(self) -> Iterator[Edits]:
        every = edits_of(self._source.functions, self._exercise.accelerated)
        for edits in every:
            right = self._calls_right(edits, is_first=True)
            if right == len(self._calls):
                yield edits
            elif right:
                self._helpful.append((right, edits))
        self._helpful.sort(key=lambda pair: (-pair[0], rank_of(pair[1])))
        promising = [edits for _, edits in self._helpful[:MOST_PROMISING]]
        pairs = itertools.chain(itertools.product(promising, every), _likeliest_pairs(every))
        for first, second in pairs:
            both = first + second
            if len(both) <= MOST_EDITS and self._calls_right(both) == len(self._calls):
                yield both

    def firsts_of_two(self, may_be_left: Callable[[Any], bool]) -> Iterator[Mend]:
        """Yield mends that may leave one fault more, the likeliest first.

        They make the first failing call right, and none wrong; or give a result on it that may be
        that of a known fault.
        """
        helpful = [edits for right, edits in self._helpful if right >= self._kept]
        known = [  # without statements: moving one often looks like a fault that is known
            edits
            for edits, value in self._others
            if not isinstance(edits[0].old, list) and may_be_left(value)
        ]
        for edits in sorted(helpful + known, key=rank_of):
            is_likely = rank_of(edits) <= MOST_RANK and len(edits) <= MOST_PLACES
            if is_likely and (mend := self._mend(edits, edits in helpful)):
                yield mend

    def in_part(self) -> Mend | None:
        """Return what makes most results right, the first one that fails among them."""
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
            return None  # it may be right by chance
        return self._mend(edits)

    def after(self, mend: Mend) -> Iterator[Comparison]:
        """Call an edited answer on every case."""
        function = self._exercise.on_cases(mend.answer)
        for one in self._calls:
            seen = _called(function, one.trial.case, CALL_SECONDS)
            yield dataclasses.replace(one, seen=seen)

    def _mend(self, edits: Edits, helps: bool = True) -> Mend | None:
        answer = self._edited(edits)
        if answer is None:
            return None
        lines = self._source.lines
        return Mend(sentence_of(edits, lines), faults_of(edits, lines), answer, helps)

    def _edited(self, edits: Edits) -> Answer | None:
        with contextlib.ExitStack() as stack:
            for edit in edits:
                stack.enter_context(edit.applied())
            return self._source.made({edit.enclosing[-1] for edit in edits})

    def _calls_right(self, edits: Edits, is_first: bool = False) -> int:
        """Count the calls that pass after an edit, up to the first that does not.

        Those that passed before come first, and after them all are counted. What the first call
        returns is noted, for it may show a known fault.
        """
        self._trials += 1
        if self._trials > MOST_TRIALS:
            raise _BudgetSpent
        answer = self._edited(edits)
        if answer is None:
            return 0
        function, count = self._exercise.on_cases(answer), 0
        for number, one in enumerate(self._calls):
            seconds = min(self._call_seconds, self._seconds_left())
            seen = _called(function, one.trial.case, seconds)
            if not seen.out_of_time and _is_right(dataclasses.replace(one, seen=seen)):
                count += 1
            elif number < self._kept or seen.out_of_time:
                if is_first and not number:
                    self._others.append((edits, seen.value))
                return count
        return count

    @functools.cached_property
    def _call_seconds(self) -> float:
        """How long one call of an edited answer may take, going by the answer as it is."""
        answer = self._edited(())
        begin = thread_time()
        if answer is not None:
            _called(self._exercise.on_cases(answer), self._calls[0].trial.case, CALL_SECONDS)
        return max(LEAST_CALL_SECONDS, MUCH_SLOWER * (thread_time() - begin))

    def _seconds_left(self) -> float:
        """Return what is left of the time for trials; at its end, raise."""
        left = self._until - thread_time()
        if left <= 0 or time.monotonic() > self._until_by_the_clock:
            raise _BudgetSpent
        return left


def _is_right(one: Comparison) -> bool:
    try:
        return not one.failed
    except Exception:  # a result so strange that it cannot be compared
        return False


def _called(function: Answer, case: Case, seconds: float) -> Observation:
    """Call a function as `observe` does, in less time: only the value or the error is of interest."""
    args, kwargs = copy.deepcopy((case.args, case.kwargs))
    seen = Observation()
    try:
        with time_limit(min(CALL_SECONDS, seconds)):
            seen.value = function(*args, **kwargs)
    except OutOfTime:
        seen.out_of_time = True
    except KeyboardInterrupt:
        raise
    except BaseException as error:  # SystemExit among them
        seen.error = error
    return seen


def _likeliest_pairs(every: Sequence[Edits]) -> Iterator[tuple[Edits, Edits]]:
    """Yield pairs of edits, those of the lowest ranks first."""
    by_rank = {rank: list(group) for rank, group in itertools.groupby(every, rank_of)}
    for total in range(2, 2 * max(by_rank, default=0) + 1):
        for rank in by_rank:
            if rank < total - rank:
                yield from itertools.product(by_rank[rank], by_rank.get(total - rank, ()))
            elif rank == total - rank:
                yield from itertools.combinations(by_rank[rank], 2)
