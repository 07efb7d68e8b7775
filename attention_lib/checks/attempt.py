"""Hold an answer to an exercise, what its calls did, and results computed from them on demand."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Sequence
from dataclasses import dataclass

from attention_lib.checks.calls.calling import observe
from attention_lib.checks.calls.case import Answer
from attention_lib.checks.compare.comparing import Comparison, alike
from attention_lib.checks.edits.search import Search, Tried, search
from attention_lib.checks.exercise import Exercise
from attention_lib.checks.hypotheses.table import Table


@dataclass(frozen=True)
class Attempt:
    """An answer to an exercise, and its comparison with the reference on each case."""

    exercise: Exercise
    answer: Answer
    comparisons: Sequence[Comparison]
    seed: int = 0  # of the probes
    is_cut: bool = False  # too slow and wrong, so not called on all cases
    is_own: bool = False  # the answer runs in this process: its source and side effects are known
    is_rest: bool = False  # without the calls whose fault is already explained
    known: Sequence[Comparison] = ()  # those of them that a known mistake explains
    # Shared with attempts on a part of the calls.
    tried: Tried = dataclasses.field(default_factory=dict)

    @functools.cached_property
    def table(self) -> Table:
        """The hypotheses, compared with the answer's results."""
        return Table(self.exercise, self.comparisons)

    @functools.cached_property
    def search(self) -> Search | None:
        """The search for small changes of the answer's source."""
        return search(self.exercise, self.answer, self.comparisons, self.tried)

    @functools.cached_property
    def failing(self) -> list[Comparison]:
        """The calls that are wrong in any way."""
        return [one for one in self.comparisons if one.failed]

    @property
    def begins_with_numbers(self) -> bool:
        """Whether the first call that fails returns wrong numbers."""
        return bool(self.table.wrong) and self.failing[0] is self.table.wrong[0]

    def of(self, calls: Sequence[Comparison], known: Sequence[Comparison] = ()) -> Attempt:
        """Return an attempt on a part of the calls."""
        return dataclasses.replace(self, comparisons=calls, is_rest=True, known=known)

    def leaves_known(self, edited: Answer) -> bool:
        """Tell whether an edit keeps the wrong numbers that a known mistake explains."""
        function = self.exercise.on_cases(edited)
        return all(
            alike(
                one.seen.value, observe(function, trial.case).value, trial.allowed, trial.precision
            )
            for one in self.known
            if (trial := one.trial) and one.wrong_in_numbers
        )
