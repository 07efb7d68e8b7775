"""The judges of wrong numbers: each has one way to explain them, where no known mistake gives all.

They speak when numbers are the first thing wrong: an error has a judge of its own.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import numpy as np

from attention_lib.checks.comparing import Comparison
from attention_lib.checks.contrasts import GIVEN, SIZES, contrast, contrast_of
from attention_lib.checks.covering import Shown, one_by_calls, one_by_results, shows, two_by_calls
from attention_lib.checks.hypotheses import Evidence
from attention_lib.checks.judges import Attempt
from attention_lib.checks.recognizing import (
    Recognized,
    changed_call,
    known_in_all,
    known_in_part,
    two_faults,
)
from attention_lib.checks.relations import Related, related, related_here
from attention_lib.checks.verdict import Report


def known_mistakes_beside_errors(attempt: Attempt) -> Iterator[Report]:
    """Report the known mistake that gives all wrong numbers of an answer that also stops."""
    yield from _recognized(attempt, known_in_all)


def changed_calls(attempt: Attempt) -> Iterator[Report]:
    """Report the changed arguments for which all the wrong numbers would be right."""
    yield from _recognized(attempt, changed_call)


def pairs_of_faults(attempt: Attempt) -> Iterator[Report]:
    """Report two faults that give all wrong numbers together."""
    yield from _recognized(attempt, two_faults)


def relations(attempt: Attempt) -> Iterator[Report]:
    """Report how all wrong numbers come from the right ones, if that says what to change."""
    relation = _relation(attempt)
    if relation and not relation.tells_where:
        yield from _reports(attempt, relation, GIVEN)


def known_mistakes_in_part(attempt: Attempt) -> Iterator[Report]:
    """Report the known mistake that gives most wrong numbers, and in which calls."""
    if _first_wrong(attempt) is None:
        return
    recognized = known_in_part(attempt.evidence)
    if recognized is None:
        return
    explained, others = recognized.explained, recognized.others
    mistake = recognized.of
    seen = [one for one in explained if mistake and shows(mistake, attempt.evidence, one)]
    count = len(explained) + len(others)
    if len(explained) <= (0.5 if _has_arrays(explained[0]) else 0.75) * count:
        return
    sentence = (
        f"{recognized.sentence} These are your numbers in {len(explained)} of the {count} wrong "
        "calls"
    )
    right = [one for one in attempt.comparisons if not one.failed]
    words = contrast_of(attempt.exercise, [*explained, *others, *right], others)
    if recognized.second:
        sentence += f"; in the others, those of another mistake. {recognized.second}"
    elif words:
        sentence += f", and not in the {len(others)} {words}: look there next."
    elif recognized.by_chance:
        return
    else:
        sentence += ", the one below among them."
    yield Report(attempt.exercise, "wrong", sentence, (seen or explained)[0])


def two_known_mistakes_by_calls(attempt: Attempt) -> Iterator[Report]:
    """Report two known mistakes, of which each wrong call shows one."""
    yield from _shown(attempt, two_by_calls)


def known_mistakes_by_results(attempt: Attempt) -> Iterator[Report]:
    """Report the known mistake that some results of several show, in every call."""
    yield from _shown(attempt, one_by_results)


def known_mistakes_by_calls(attempt: Attempt) -> Iterator[Report]:
    """Report the only known mistake that some wrong calls show, and which they are."""
    yield from _shown(attempt, one_by_calls)


def _shown(attempt: Attempt, find: Callable[[Evidence], Shown | None]) -> Iterator[Report]:
    if _first_wrong(attempt) is None:
        return
    shown = find(attempt.evidence)
    if shown is None:
        return
    explained, others = shown.explained, shown.others
    sentence = f"{shown.sentence} These are your numbers in "
    if shown.results:
        sentence += (
            f"{_results(shown.results)}; in {_results(shown.results_left)} something else is wrong "
            "as well."
        )
        yield Report(attempt.exercise, "wrong", sentence, explained[0])
        return
    count = len(explained) + len(others) + shown.both
    right = [one for one in attempt.comparisons if not one.failed]
    words = contrast_of(attempt.exercise, [*explained, *others, *right], others)
    in_calls = f"{len(explained)} of the {count} wrong calls"
    if shown.second:
        which = f"{len(others)} others" if shown.both else "the others"
        sentence += f"{in_calls}; in {which}, those of another mistake. {shown.second}"
    elif words:
        sentence += f"{in_calls}, and not in the {len(others)} {words}: look there next."
    else:
        sentence = (
            f"In {in_calls}, the one below among them, your numbers are those of this mistake, and "
            f"the others may show another: {shown.sentence}"
        )
    yield Report(attempt.exercise, "wrong", sentence, explained[0])


def _results(places: Sequence[int]) -> str:
    *first, last = (str(place + 1) for place in places)
    return f"results {', '.join(first)} and {last}" if first else f"result {last}"


def _has_arrays(comparison: Comparison) -> bool:
    """Tell whether a result has arrays: a single number agrees more easily by chance."""
    value = comparison.seen.value
    parts = value if isinstance(value, (tuple, list)) else (value,)
    return any(np.size(part) > 1 for part in parts)


def regions_and_contrasts(attempt: Attempt) -> Iterator[Report]:
    """Report where the results are wrong, and what the wrong calls have that the others lack."""
    yield from _reports(attempt, _relation(attempt), SIZES)


def _reports(attempt: Attempt, relation: Related | None, plainest: int) -> Iterator[Report]:
    """Join the difference on the first wrong call, a relation, and a contrast up to a rank."""
    first = _first_wrong(attempt)
    if first is None or not first.problem:
        return
    explained = [
        relation.sentence if relation else related_here(attempt.exercise, first),
        contrast(attempt.exercise, attempt.comparisons, plainest)
        or _contrast_of_numbers(attempt, plainest),
    ]
    if any(explained):
        sentence = " ".join(filter(None, (first.problem, *explained)))
        yield Report(attempt.exercise, "wrong", sentence, first)


def _contrast_of_numbers(attempt: Attempt, plainest: int) -> str:
    """Say which calls are wrong in their numbers, where others are wrong in their dtype alone."""
    in_dtype = [
        one
        for one in attempt.comparisons
        if one.failed and not one.stopped and not one.wrong_in_numbers
    ]
    others = [one for one in attempt.comparisons if not any(one is each for each in in_dtype)]
    sentence = contrast(attempt.exercise, others, plainest) if in_dtype else ""
    if not sentence:
        return ""
    calls = "1 more call" if len(in_dtype) == 1 else f"{len(in_dtype)} more calls"
    return f"{sentence} In {calls} the type or dtype alone is wrong."


def _relation(attempt: Attempt) -> Related | None:
    if _first_wrong(attempt) is None:
        return None
    return related(attempt.exercise, attempt.evidence.wrong)


def _recognized(
    attempt: Attempt, find: Callable[[Evidence], Recognized | None]
) -> Iterator[Report]:
    if _first_wrong(attempt) is None:
        return
    recognized = find(attempt.evidence)
    if recognized:
        first = recognized.explained[0]
        yield Report(
            attempt.exercise, "wrong", recognized.sentence, first, mistake=recognized.mistake
        )


def _first_wrong(attempt: Attempt) -> Comparison | None:
    """Return the first call that failed, if its numbers are wrong."""
    failing = next((one for one in attempt.comparisons if one.failed), None)
    wrong = attempt.evidence.wrong if failing else []
    return failing if wrong and failing is wrong[0] else None
