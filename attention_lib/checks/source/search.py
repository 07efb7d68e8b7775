"""Search for small edits of an answer's source that make wrong results right.

Each edit is tried: the edited answer is called on the cases.
"""

from __future__ import annotations

import ast
import contextlib
import copy
import dataclasses
import functools
import gc
import itertools
import threading
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from attention_lib.checks.calls.case import Answer, Case
from attention_lib.checks.calls.failing_line import is_kernel
from attention_lib.checks.calls.measuring import peak_bytes, thread_time
from attention_lib.checks.calls.observation import Observation
from attention_lib.checks.calls.timeouts import OutOfTime, time_limit
from attention_lib.checks.comparing import Comparison
from attention_lib.checks.exercise import Exercise
from attention_lib.checks.source.cell import Source, source_of
from attention_lib.checks.source.edits import (
    Edit,
    Edits,
    Fault,
    edits_of,
    faults_of,
    rank_of,
    sentence_of,
)

MOST_TRIALS = 450  # of edits of one answer
BUDGET_SECONDS = 0.25  # of CPU time, for all trials
WALL_SECONDS = 2.0  # of real time, for all trials
TRIAL_SECONDS = 0.2  # for the calls of one edited answer
LEAST_TRIAL_SECONDS = 0.02  # the same for a quick answer
MOST_BYTES = 1 << 17  # of an answer whose arrays may get one more axis, which may square them
MUCH_SLOWER = 5  # an edited answer may take this many times as long
MOST_RANK = 4  # of an edit that does not mend everything
MOST_PROMISING = 4  # edits that are combined with every other one
MOST_WHOLES = 4  # mends of all results, of which the first without other problems is named
MOST_EDITS = 3  # in a pair, of which one may be made in two places


@dataclass(frozen=True)
class Mend:
    """An edit that makes results right: what to write, and the edited answer."""

    words: str
    faults: tuple[Fault, ...]
    answer: Answer
    lines: frozenset[int]  # that it changes


Tried = dict[
    tuple[Edits, Comparison], bool
]  # whether a call is right after edits, for all searches of one answer


def search(
    exercise: Exercise, answer: Any, comparisons: Sequence[Comparison], tried: Tried
) -> Search | None:
    """Start a search; None if there is no source, or no time limit in this thread."""
    source = source_of(answer)
    if source is None or is_kernel(source.function):  # a kernel runs too long
        return None
    if threading.current_thread() is not threading.main_thread():
        return None
    return Search(exercise, source, comparisons, tried)


class _BudgetSpent(Exception):
    """Raised when the budget for trials is spent."""


class Search:
    """A search among small edits, within a budget of time."""

    def __init__(
        self, exercise: Exercise, source: Source, comparisons: Sequence[Comparison], tried: Tried
    ) -> None:
        self._exercise, self._source, self._tried = exercise, source, tried
        failing = [one for one in comparisons if one.failed]
        passing = [one for one in comparisons if not one.failed]
        # The first failing call rules out most edits.
        self._calls = [*failing[:1], *passing, *failing[1:]]
        self._kept = 1 + len(passing)  # the first ones, which must all be right after an edit
        self._until = thread_time() + BUDGET_SECONDS
        self._trials = 0
        self._until_by_the_clock = time.monotonic() + WALL_SECONDS
        self._helpful: list[tuple[int, Edits]] = []  # with the number of calls that are right then

    def wholes(self) -> Iterator[Mend]:
        """Yield mends of every result, by one edit or by two."""
        with contextlib.suppress(_BudgetSpent):
            for edits in itertools.islice(self._wholes(), MOST_WHOLES):
                if mend := self._mend(edits):
                    yield mend

    def _wholes(self) -> Iterator[Edits]:
        every = edits_of(self._source.functions, self._exercise.accelerated)
        if self._is_large:
            every = [edits for edits in every if not any(map(_adds_an_axis, edits))]
        for edits in every:
            right = self._calls_right(edits)
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

    def in_part(self) -> Mend | None:
        """Return the mend that makes most results right, among them that of the first failing call."""
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
        return self._mend(edits)

    def _mend(self, edits: Edits) -> Mend | None:
        answer = self._edited(edits)
        if answer is None:
            return None
        lines = self._source.lines
        numbers = frozenset(getattr(edit.place, "lineno", 0) for edit in edits)
        return Mend(sentence_of(edits, lines), faults_of(edits, lines), answer, numbers)

    def _edited(self, edits: Edits) -> Answer | None:
        with contextlib.ExitStack() as stack:
            for edit in edits:
                stack.enter_context(edit.applied())
            return self._source.made({edit.enclosing[-1] for edit in edits})

    def _calls_right(self, edits: Edits) -> int:
        """Count the calls that pass after an edit.

        Counting ends if the first failing call, or one that passed before, fails.
        """
        self._trials += 1
        if self._trials > MOST_TRIALS:
            raise _BudgetSpent
        if thread_time() > self._until or time.monotonic() > self._until_by_the_clock:
            raise _BudgetSpent
        with _garbage_left_alone():
            limit = time_limit(self._seconds_of_a_trial)
            with contextlib.suppress(OutOfTime), limit:
                return self._counted(edits)
        return 0

    def _counted(self, edits: Edits) -> int:
        """Count as `_calls_right` does, without a limit."""
        answer, count = None, 0
        for number, one in enumerate(self._calls):
            if (edits, one) not in self._tried:
                answer = answer or self._edited(edits)
                if answer is None:
                    return 0
                seen = _called(self._exercise.on_cases(answer), one.trial.case)
                self._tried[edits, one] = _is_right(dataclasses.replace(one, seen=seen))
            if self._tried[edits, one]:
                count += 1
            elif number < self._kept:
                break
        return count

    @functools.cached_property
    def _is_large(self) -> bool:
        """Whether the first call of the original holds large arrays."""
        answer, case = self._edited(()), self._calls[0].trial.case
        args, kwargs = copy.deepcopy((case.args, case.kwargs))
        with contextlib.suppress(Exception, SystemExit, OutOfTime), time_limit(TRIAL_SECONDS):
            return peak_bytes(self._exercise.on_cases(answer), *args, **kwargs) > MOST_BYTES
        return False

    @functools.cached_property
    def _seconds_of_a_trial(self) -> float:
        """The time limit of an edited answer's calls, from the time that the original needs for them."""
        answer = self._edited(())
        begin = thread_time()
        if answer is not None:
            with contextlib.suppress(OutOfTime), time_limit(TRIAL_SECONDS):
                for one in self._calls:
                    _called(self._exercise.on_cases(answer), one.trial.case)
        seconds = max(LEAST_TRIAL_SECONDS, MUCH_SLOWER * (thread_time() - begin))
        return min(seconds, BUDGET_SECONDS)


@contextlib.contextmanager
def _garbage_left_alone() -> Iterator[None]:
    """Collect no garbage in the body: that can take longer than a trial may."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()


def _adds_an_axis(edit: Edit) -> bool:
    if isinstance(edit.new, list):  # statements
        return False
    return ast.unparse(edit.new).count("None") > ast.unparse(edit.old).count("None")


def _is_right(one: Comparison) -> bool:
    try:
        return not one.failed
    except Exception:  # a result that cannot be compared
        return False


def _called(function: Answer, case: Case) -> Observation:
    """Call a function like `observe`, for its value or error alone."""
    args, kwargs = copy.deepcopy((case.args, case.kwargs))
    try:
        return Observation(value=function(*args, **kwargs))
    except (KeyboardInterrupt, OutOfTime):
        raise
    except BaseException as error:  # SystemExit among them
        return Observation(error=error)


def _likeliest_pairs(every: Sequence[Edits]) -> Iterator[tuple[Edits, Edits]]:
    """Yield pairs of edits, those with the lowest sum of ranks first."""
    by_rank = {rank: list(group) for rank, group in itertools.groupby(every, rank_of)}
    for total in range(2, 2 * max(by_rank, default=0) + 1):
        for rank in by_rank:
            if rank < total - rank:
                yield from itertools.product(by_rank[rank], by_rank.get(total - rank, ()))
            elif rank == total - rank:
                yield from itertools.combinations(by_rank[rank], 2)
