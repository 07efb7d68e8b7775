"""Known mistakes that give a wrong answer's numbers in some calls, or in some of its results.

Of two faults, a call may show one alone. A known mistake is named for the calls that show it by
itself, if their numbers are many, and no other known mistake gives them.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from attention_lib.checks.calls.case import Case
from attention_lib.checks.comparing import Comparison, alike
from attention_lib.checks.exercise import Exercise, Mistake
from attention_lib.checks.hypotheses import (
    Evidence,
    Hypothesis,
    contradict,
    explains,
    is_right_too,
    leaves,
    quiet,
    wrong_numbers,
)
from attention_lib.checks.recognizing import FIRST_CALLS, by_chance, wrong_parts, wrong_parts_of
from attention_lib.checks.sizes import sizes

ENOUGH_NUMBERS = 4  # different ones, that a mistake gives
ENOUGH_CALLS = 2  # with axes of different lengths, that show it
LEAST_SHARE = 0.5  # of the wrong calls, that show one mistake
ENOUGH_WITH_NAN = 4  # calls, where NaN is all that a mistake gives
ENOUGH_OF_ARRAYS = 10  # different numbers, where a call has several, that a mistake alone gives
TRIVIAL = {"1", "-1"}  # come out of many a mistake
NEARLY_0 = 1e-8  # and so does what is nearer to 0


@dataclass(frozen=True)
class Shown:
    """A known mistake, the wrong calls that show it, and the others."""

    sentence: str
    explained: tuple[Comparison, ...]
    others: tuple[Comparison, ...]
    second: str = ""  # the sentence of the mistake that the others show
    both: int = 0  # wrong calls that show two mistakes together
    results: tuple[int, ...] = ()  # in which it shows, of several, counted from 0
    results_left: tuple[int, ...] = ()  # which are wrong in another way


@dataclass(frozen=True)
class _Candidate:
    hypothesis: Hypothesis
    places: frozenset[int]  # among the wrong calls, where it gives the learner's numbers

    @property
    def sentence(self) -> str:
        return self.hypothesis.sentences[0]


def shows(mistake: Mistake, evidence: Evidence, comparison: Comparison) -> bool:
    """Tell whether what a mistake's sentence says can be seen in a call.

    If one of its variants is right there, it cannot: without a cache, nothing is wrong with what is
    done to the cached keys, though another variant is wrong there for a reason besides.
    """
    with quiet():
        return not any(
            is_right_too(one, comparison) for one in evidence.known if one.mistake is mistake
        )


def two_by_calls(evidence: Evidence) -> Shown | None:
    """Find the only two known mistakes of which each wrong call shows one alone, or both."""
    wrong = evidence.wrong
    if len(wrong) < 3:
        return None
    with quiet():
        candidates = _candidates(evidence, wrong[:FIRST_CALLS])
        if evidence.exercise.run is None:  # more calls of kernels would take too long
            candidates += _behind(candidates, evidence)
        pairs: dict[frozenset[str], tuple[_Candidate, _Candidate]] = {}
        for one, other in itertools.combinations(candidates, 2):
            alone = one.places - other.places, other.places - one.places
            if not all(alone) or not _account_for_all(one, other, evidence):
                continue
            if contradict(one.sentence, other.sentence) and not one.places & other.places:
                continue  # one fault, perhaps, which is neither
            if all(_is_told(places, wrong) for places in (one.places, other.places)) and any(
                _has_numbers(places, wrong) for places in alone
            ):
                pairs[frozenset((one.sentence, other.sentence))] = one, other
        if len(pairs) != 1:
            return None
        ((one, other),) = pairs.values()
        first, second = sorted(
            (one, other), key=lambda each: (not _shows_first(each, evidence), -len(each.places))
        )
    explained = _calls(first.places, wrong)
    others = _calls(second.places - first.places, wrong)
    both = len(wrong) - len(explained) - len(others)
    return Shown(first.sentence, explained, others, second.sentence, both)


def _behind(candidates: Sequence[_Candidate], evidence: Evidence) -> list[_Candidate]:
    """Return the known mistakes that are shown where the first ones are not."""
    wrong = evidence.wrong
    calls = {
        next((place for place in range(len(wrong)) if place not in one.places), 0)
        for one in candidates
    }
    sentences = {one.sentence for one in candidates}
    found = _candidates(evidence, _calls(calls, wrong))
    return [one for one in found if one.sentence not in sentences]


def _account_for_all(one: _Candidate, other: _Candidate, evidence: Evidence) -> bool:
    """Tell whether half of the wrong calls or more show one of two mistakes, and the rest both.

    One call in ten may show neither: a result that depends on what lies beyond an array differs.
    """
    together, wrong = one.places | other.places, evidence.wrong
    unaccounted = [
        call
        for place, call in enumerate(wrong)
        if place not in together
        and any(is_right_too(each.hypothesis, call) for each in (one, other))
    ]
    return 2 * len(together) >= len(wrong) and 10 * len(unaccounted) < len(wrong)


def one_by_calls(evidence: Evidence) -> Shown | None:
    """Find the only known mistake that some wrong calls show, with many numbers in each."""
    wrong = evidence.wrong
    with quiet():
        candidates = _candidates(evidence, wrong[:FIRST_CALLS])
        shown = [one for one in candidates if _is_shown(one, evidence)]
        if not shown:
            return None
        best = max(shown, key=lambda one: len(one.places))
        if any(one.places & best.places for one in shown if one is not best):
            return None
        calls = _calls(best.places, wrong)
        if any(all(explains(one, call) for call in calls) for one in evidence.changed):
            return None  # it may be that argument
    left = frozenset(range(len(wrong))) - best.places
    explained, rest = _calls(best.places, wrong), _calls(left, wrong)
    if not rest or by_chance(evidence.exercise, explained, rest):
        return None
    if _sizes_are_related(evidence.exercise, explained, rest):
        return None
    return Shown(best.sentence, explained, rest)


def _sizes_are_related(
    exercise: Exercise, explained: Sequence[Comparison], others: Sequence[Comparison]
) -> bool:
    """Tell whether two sizes are as far apart in these calls, by 1 at most, and in no others.

    Where a table has one row more than there are words, its last rows are those from row 1 on.
    """
    in_all = set.intersection(*(_neighbors(exercise, one) for one in explained))
    return bool(in_all - set().union(*(_neighbors(exercise, one) for one in others)))


def _neighbors(exercise: Exercise, comparison: Comparison) -> set[tuple[str, str, float]]:
    case = comparison.trial.case
    arguments = dict(zip(exercise.parameters, case.args, strict=False)) | case.kwargs
    named = {one.text: one.value for one in sizes(arguments) if "root" not in one.text}
    return {
        (one, other, named[one] - named[other])
        for one, other in itertools.combinations(named, 2)
        if abs(named[one] - named[other]) <= 1
    }


def one_by_results(evidence: Evidence) -> Shown | None:
    """Find the known mistake that some results of several show, in every wrong call.

    It must give most of the results that it makes wrong.
    """
    wrong = evidence.wrong
    if len(wrong) < ENOUGH_CALLS or not all(isinstance(one.trial.expected, tuple) for one in wrong):
        return None
    with quiet():
        of_learner = [wrong_parts(one, one.seen.value) for one in wrong]
        if None in of_learner:
            return None
        parts = [places or set() for places in of_learner]
        found: list[tuple[set[int], Hypothesis]] = []
        for hypothesis in evidence.known:
            shared = _results_shared(hypothesis, wrong, parts)
            if shared and _is_right_everywhere(hypothesis, evidence):
                found.append((shared, hypothesis))
    if not found:
        return None
    most = max(len(shared) for shared, _ in found)
    sentences = {one.sentences[0] for shared, one in found if len(shared) == most}
    if len(sentences) != 1:
        return None
    shared = next(shared for shared, _ in found if len(shared) == most)
    left = set().union(*parts) - shared
    if not left:
        return None
    return Shown(
        sentences.pop(), tuple(wrong), (), results=_sorted(shared), results_left=_sorted(left)
    )


def _results_shared(
    hypothesis: Hypothesis, wrong: Sequence[Comparison], parts: Sequence[set[int]]
) -> set[int]:
    """Return the results that are a mistake's own in every call that it makes wrong."""
    shared: set[int] = set()
    excluded: set[int] = set()
    numbers: set[str] = set()
    its_own: set[int] = set()
    for comparison, places in zip(wrong, parts, strict=True):
        its = wrong_parts_of(hypothesis, comparison) or set()
        value = hypothesis.predict(comparison.trial.case).value
        if not isinstance(value, (tuple, list)) or not its <= places:
            return set()
        its_own |= its
        trial = comparison.trial
        for place in its | places:
            same = place in its and alike(
                comparison.seen.value[place], value[place], trial.allowed[place], trial.precision
            )
            (shared if same else excluded).add(place)
            if same and _has_different_axes(hypothesis.exercise, trial.case):
                numbers |= _texts([np.asarray(value[place], np.float64)])
    shared -= excluded
    many = len(numbers) >= ENOUGH_NUMBERS and 2 * len(shared) > len(its_own)
    return shared if many else set()


def _candidates(evidence: Evidence, calls: Sequence[Comparison]) -> list[_Candidate]:
    """Return the known mistakes that one of these calls shows, the best variant of each.

    They are right where the answer is.
    """
    best: dict[str, _Candidate] = {}
    for hypothesis in evidence.known:
        if not any(explains(hypothesis, one) for one in calls):
            continue
        places = _explained(hypothesis, evidence.wrong)
        if not _is_right_everywhere(hypothesis, evidence):
            continue
        sentence = hypothesis.sentences[0]
        if sentence not in best or len(places) > len(best[sentence].places):
            best[sentence] = _Candidate(hypothesis, places)
    return list(best.values())


def _explained(hypothesis: Hypothesis, wrong: Sequence[Comparison]) -> frozenset[int]:
    return frozenset(place for place, one in enumerate(wrong) if explains(hypothesis, one))


def _is_right_everywhere(hypothesis: Hypothesis, evidence: Evidence) -> bool:
    return all(is_right_too(hypothesis, one) for one in evidence.right)


def _is_told(places: frozenset[int], wrong: Sequence[Comparison]) -> bool:
    """Tell whether numbers show a mistake or, where all are NaN, their places in many calls."""
    if _has_numbers(places, wrong):
        return True
    calls = _calls(places, wrong)
    in_part = [one for one in calls if _is_nan_in_part(one)]
    return (
        len(calls) >= ENOUGH_WITH_NAN
        and 2 * len(calls) > len(wrong)
        and len(in_part) >= ENOUGH_CALLS
    )


def _is_nan_in_part(comparison: Comparison) -> bool:
    missing = [np.isnan(np.asarray(one, np.float64)) for one in leaves(comparison.seen.value)]
    return any(one.any() and not one.all() for one in missing)


def _has_numbers(
    places: Iterable[int], wrong: Sequence[Comparison], enough: int = ENOUGH_NUMBERS
) -> bool:
    numbers: set[str] = set()
    for one in _calls(places, wrong):
        numbers |= _texts(wrong_numbers(one))
    return len(numbers) >= enough


def _texts(arrays: Iterable[np.ndarray]) -> set[str]:
    return {
        f"{number:.6g}"
        for array in arrays
        for number in array[np.isfinite(array) & (np.abs(array) > NEARLY_0)].ravel()[:50]
    } - TRIVIAL


def _is_shown(candidate: _Candidate, evidence: Evidence) -> bool:
    """Tell whether enough calls show a mistake, in which each size has a number of its own."""
    wrong = evidence.wrong
    if len(candidate.places) < LEAST_SHARE * len(wrong):
        return False
    if any(np.asarray(value).dtype == bool for value in leaves(wrong[0].seen.value)):
        return False  # two values alone: many a fault gives them in some calls
    telling = [
        place
        for place in candidate.places
        if _has_different_axes(evidence.exercise, wrong[place].trial.case)
        and candidate.hypothesis.mistake is not None
        and shows(candidate.hypothesis.mistake, evidence, wrong[place])
    ]
    of_arrays = any(
        np.size(value) > 1 for place in telling for value in leaves(wrong[place].seen.value)
    )
    enough = ENOUGH_OF_ARRAYS if of_arrays else ENOUGH_NUMBERS
    return len(telling) >= ENOUGH_CALLS and _has_numbers(telling, wrong, enough)


def _has_different_axes(exercise: Exercise, case: Case) -> bool:
    """Tell whether no array of a call has two axes of the same length, or one of length 1.

    The matrices that a layer learns are square in most layers.
    """
    arguments = dict(zip(exercise.parameters, case.args, strict=False)) | case.kwargs
    shapes = [
        np.shape(value)
        for name, argument in arguments.items()
        if not name.startswith("w_")
        for value in leaves(argument)
    ]
    return all(len(set(shape)) == len(shape) and 1 not in shape for shape in shapes)


def _shows_first(candidate: _Candidate, evidence: Evidence) -> bool:
    mistake = candidate.hypothesis.mistake
    return (
        0 in candidate.places
        and mistake is not None
        and shows(mistake, evidence, evidence.wrong[0])
    )


def _calls(places: Iterable[int], wrong: Sequence[Comparison]) -> tuple[Comparison, ...]:
    return tuple(wrong[place] for place in sorted(places))


def _sorted(places: set[int]) -> tuple[int, ...]:
    return tuple(sorted(places))
