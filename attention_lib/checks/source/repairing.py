"""Finding the small change of an answer's source that makes every result right.

What is said of it is true by trial: the changed answer has been called on the cases, and what else
the check looks at has been looked at.
"""

from __future__ import annotations

import contextlib
import copy
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
from attention_lib.checks.cases import Trial
from attention_lib.checks.comparing import Comparison
from attention_lib.checks.exercise import Exercise
from attention_lib.checks.leftovers import Leftovers
from attention_lib.checks.source.cell import Source, silenced, source_of
from attention_lib.checks.source.edits import Change, changes_of, rank_of, sentence_of

MOST_TRIALS = 600  # of changes, for one answer; the same on every machine
BUDGET_SECONDS = 0.25  # of the processor's time, for all of them
WALL_SECONDS = 2.0  # the same on a busy machine
CALL_SECONDS = 0.1  # for one call of a changed answer
LEAST_CALL_SECONDS = 0.01  # the same for an answer that is quick
MUCH_SLOWER = 5  # than before: a changed answer that may never end
MOST_RANK = 4  # of a change that is named though it does not mend everything
MOST_PROMISING = 4  # changes that a second one is tried with
MOST_WHOLES = 4  # changes that the rest of the check is run on
MOST_LEFTOVERS = 10  # changes after which a known mistake is looked for
MOST_PLACES = 2  # that a change is made in, where another fault is named too
MOST_EDITS = 3  # in two changes, of which one may be made in two places

# From a changed answer whose results are right, what the check says of it then: empty if nothing.
# None if that is no fault of the learner's, but of the change.
Next = Callable[[Answer], str | None]


@dataclass(frozen=True)
class Repair:
    """What to change in an answer, in a sentence, and whether that makes every result right."""

    sentence: str
    is_whole: bool
    leaves_a_known_fault: bool = False  # which the sentence names too


def repair(
    exercise: Exercise,
    answer: Any,
    comparisons: Sequence[Comparison],
    said_next: Next = lambda answer: "",
) -> Repair | None:
    """Find one or two small changes that make every result right or, if there is none, more of them.

    Parameters
    ----------
    exercise
        What the answer is for.
    answer
        The function that is wrong, of this process.
    comparisons
        What it did on each case.
    said_next
        What the check says of a changed answer whose results are right.

    Returns
    -------
    Repair or None
        None if none was found, or the source cannot be read.
    """
    source = source_of(answer)
    if source is not None and is_kernel(source.function):
        return None  # Triton's interpreter is too slow for many trials
    if source is None or threading.current_thread() is not threading.main_thread():
        return None  # off the main thread nothing ends a loop that never ends
    return _Search(exercise, source, comparisons, said_next).result()


class _BudgetSpent(Exception):
    """Raised when the time for trials is over."""


class _Search:
    """A search among small changes, within a budget of time."""

    def __init__(
        self,
        exercise: Exercise,
        source: Source,
        comparisons: Sequence[Comparison],
        said_next: Next,
    ) -> None:
        self._exercise, self._source, self._said_next = exercise, source, said_next
        self._wholes = 0  # changes after which every result was right
        self._next = ""  # what the check says after the change that was found
        failing = [one for one in comparisons if one.failed]
        passing = [one for one in comparisons if not one.failed]
        # The first case that fails tells soonest that a change is no good.
        self._cases = [*failing[:1], *passing, *failing[1:]]
        self._kept = 1 + len(passing)  # of these, all must be right after a change
        self._until = thread_time() + BUDGET_SECONDS
        self._trials = 0
        self._until_by_the_clock = time.monotonic() + WALL_SECONDS
        self._helpful: list[tuple[int, Change]] = []  # and how many cases are right then
        self._leftovers = Leftovers(exercise, failing, passing)
        self._firsts: list[tuple[Change, Any]] = []  # the first case's wrong results, by change

    def result(self) -> Repair | None:
        """Find what makes every result right or, if nothing was found that does, more of them."""
        try:
            with silenced():
                change = self._whole_repair()
        except _BudgetSpent:
            change = None
        if change:
            words = sentence_of(change, self._source.lines)
            after = f" Then: {self._next}" if self._next else ""
            return Repair(f"{words}, and every result is right.{after}", is_whole=True)
        with silenced():
            first_of_two = self._first_of_two()
        if first_of_two:
            return first_of_two
        helpful = [
            (right, change)
            for right, change in self._helpful
            if right >= self._kept and rank_of(change) <= MOST_RANK
        ]
        if not helpful:
            return None
        right, change = max(helpful, key=lambda pair: (pair[0], -rank_of(pair[1])))
        others = len(self._cases) - self._kept
        if others and 3 * (right - self._kept) < others:
            return None  # it may be right by chance
        words = sentence_of(change, self._source.lines)
        return Repair(f"{words}, and this result is right; then look at the next.", is_whole=False)

    def _whole_repair(self) -> Change | None:
        """Find one change, or two, after which no case fails."""
        changes = changes_of(self._source.functions, self._exercise.accelerated)
        for change in changes:
            right = self._cases_right(change, is_first=True)
            if right == len(self._cases):
                if self._passes(change):
                    return change
            elif right:
                self._helpful.append((right, change))
        self._helpful.sort(key=lambda pair: (-pair[0], rank_of(pair[1])))
        promising = [change for _, change in self._helpful[:MOST_PROMISING]]
        pairs = itertools.chain(itertools.product(promising, changes), _likeliest_pairs(changes))
        for first, second in pairs:
            both = first + second
            if len(both) > MOST_EDITS:
                continue
            if self._cases_right(both) == len(self._cases) and self._passes(both):
                return both
        return None

    def _first_of_two(self) -> Repair | None:
        """Find a change after which a known mistake gives the results that are still wrong."""
        helpful = [change for right, change in self._helpful if right >= self._kept]
        likely = [
            change
            for change in helpful
            + [change for change, value in self._firsts if self._leftovers.may_be(value)]
            if rank_of(change) <= MOST_RANK and len(change) <= MOST_PLACES
        ]
        for change in sorted(likely, key=rank_of)[:MOST_LEFTOVERS]:
            answer = self._changed(change)
            if answer is None:
                continue
            words = sentence_of(change, self._source.lines)
            observed = functools.partial(
                _called, self._exercise.on_cases(answer), seconds=CALL_SECONDS
            )
            left = self._leftovers.sentence(observed, words, change in helpful)
            if left:
                return Repair(
                    f"There are at least two faults. {words}. That leaves another: {left}",
                    is_whole=False,
                    leaves_a_known_fault=True,
                )
        return None

    def _passes(self, change: Change) -> bool:
        """Tell whether the rest of the check finds no fault that the change has brought in."""
        self._wholes += 1
        if self._wholes > MOST_WHOLES:
            raise _BudgetSpent
        answer = self._changed(change)
        said = self._said_next(answer) if answer else None
        self._next = said or ""
        return said is not None

    def _changed(self, change: Change) -> Answer | None:
        with contextlib.ExitStack() as stack:
            for edit in change:
                stack.enter_context(edit.applied())
            return self._source.made({edit.enclosing[-1] for edit in change})

    def _cases_right(self, change: Change, is_first: bool = False) -> int:
        """Count the cases that pass after a change, up to the first that does not.

        Those that passed before come first, and after them all are counted. The first change made
        is noted, for it may leave a known fault.
        """
        self._trials += 1
        if self._trials > MOST_TRIALS:
            raise _BudgetSpent
        answer = self._changed(change)
        if answer is None:
            return 0
        function, count = self._exercise.on_cases(answer), 0
        for number, comparison in enumerate(self._cases):
            trial = comparison.trial
            seen = _called(function, trial.case, min(self._call_seconds, self._seconds_left()))
            if not seen.out_of_time and self._is_right(trial, seen):
                count += 1
            elif number < self._kept or seen.out_of_time:
                if is_first and not number:
                    self._firsts.append((change, seen.value))
                return count
        return count

    @functools.cached_property
    def _call_seconds(self) -> float:
        """How long one call of a changed answer may take, going by the answer as it is."""
        answer = self._changed(())
        begin = thread_time()
        if answer is not None:
            _called(self._exercise.on_cases(answer), self._cases[0].trial.case, CALL_SECONDS)
        return max(LEAST_CALL_SECONDS, MUCH_SLOWER * (thread_time() - begin))

    def _seconds_left(self) -> float:
        """Return what is left of the time for trials; at its end, raise."""
        left = self._until - thread_time()
        if left <= 0 or time.monotonic() > self._until_by_the_clock:
            raise _BudgetSpent
        return left

    def _is_right(self, trial: Trial, seen: Observation) -> bool:
        try:
            return not Comparison(self._exercise.name, trial, seen).failed
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


def _likeliest_pairs(changes: Sequence[Change]) -> Iterator[tuple[Change, Change]]:
    """Yield pairs of changes, those of the lowest ranks first."""
    by_rank = {rank: list(group) for rank, group in itertools.groupby(changes, rank_of)}
    for total in range(2, 2 * max(by_rank, default=0) + 1):
        for rank in by_rank:
            if rank < total - rank:
                yield from itertools.product(by_rank[rank], by_rank.get(total - rank, ()))
            elif rank == total - rank:
                yield from itertools.combinations(by_rank[rank], 2)
