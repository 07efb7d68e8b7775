"""Recognizing the mistake that gives the same numbers as a wrong answer, on all calls or on some."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from attention_lib.checks.comparing import Comparison, alike, differ_in_numbers
from attention_lib.checks.exercise import Exercise, Mistake
from attention_lib.checks.hypotheses import (
    Evidence,
    Hypothesis,
    best_of,
    contradict,
    explained_by_any,
    quiet,
)
from attention_lib.checks.repairs import repairs_of
from attention_lib.checks.sizes import sizes

FIRST_CALLS = 3  # of the wrong calls: on one of them a mistake must show by itself


def recognize(evidence: Evidence) -> Mistake | None:
    """Find the known mistake whose numbers are the learner's own, on every case.

    One that stops with the same words comes before one that stops with others.
    """
    nearest = None
    with quiet():
        for hypothesis in evidence.known:
            agreement = _agreement(hypothesis, evidence.comparisons)
            if agreement == "whole":
                return hypothesis.mistake
            if agreement and nearest is None:
                nearest = hypothesis.mistake
    return nearest


def _agreement(
    hypothesis: Hypothesis, comparisons: Sequence[Comparison]
) -> Literal["whole", "but for words"] | None:
    """Tell whether a mistake does what the answer did on every case, errors included.

    An error alone proves little, and its words depend on how the answer is written; nor does
    a dtype prove anything. One wrong number at least must be shared.
    """
    shared_a_wrong_number, same_words = False, True
    for comparison in comparisons:
        trial, seen = comparison.trial, comparison.seen
        other = hypothesis.predict(trial.case)
        asked_for = trial.case.raises or ()  # in words of the learner's own
        if isinstance(other.error, asked_for) and isinstance(seen.error, asked_for):
            continue
        if other.out_of_time or _kind(other.error) != _kind(seen.error):
            return None
        same_words &= repr(other.error) == repr(seen.error)
        if other.error is None:
            if not alike(seen.value, other.value, trial.allowed, trial.precision):
                return None
            shared_a_wrong_number |= comparison.wrong_in_numbers
    if not shared_a_wrong_number:
        return None
    return "whole" if same_words else "but for words"


def _kind(error: BaseException | None) -> str:
    return type(error).__name__  # a class of the same name, where it came from another process


@dataclass(frozen=True)
class Recognized:
    """What gives an answer's numbers on some of its wrong calls."""

    sentence: str
    explained: tuple[Comparison, ...]
    others: tuple[Comparison, ...] = ()  # the wrong calls on which it does not
    mistake: str = ""  # the id of the known mistake that gives all of them
    by_chance: bool = False  # perhaps: a size is the same in these calls, and in none of the others
    second: str = ""  # the sentence of the known mistake that gives them on all the others
    of: Mistake | None = None  # that it gives some of them


def known_in_all(evidence: Evidence) -> Recognized | None:
    """Find the known mistake that gives all wrong numbers; other calls may have ended in errors."""
    return _recognized_in_all(evidence, evidence.known)


def changed_call(evidence: Evidence) -> Recognized | None:
    """Find the change of arguments for which all wrong numbers would be right."""
    return _recognized_in_all(evidence, evidence.changed)


def two_faults(evidence: Evidence) -> Recognized | None:
    """Find two faults that give all wrong numbers together.

    One is a known mistake; the other a change of arguments, or of the result.
    """
    if len(evidence.wrong) < evidence.enough:
        return None
    found = faults_of_results(evidence) or _recognized_in_all(
        evidence, evidence.changed_and_known()
    )
    if found:
        return found
    unexplained: set[bytes] = set()  # what repairs make of the first call: many sizes are equal
    for sentence, repaired in repairs_of(evidence.exercise, evidence.wrong[0]):
        first = repaired(evidence.wrong[0])
        numbers = _as_bytes(first.seen.value)
        if numbers in unexplained:
            continue
        if first.wrong_in_numbers and not explained_by_any(evidence.known, first):
            unexplained.add(numbers)
            continue
        rest = Evidence(evidence.exercise, tuple(map(repaired, [*evidence.wrong, *evidence.right])))
        best = (
            best_of(evidence.known, rest.wrong[0], rest.wrong, rest.right) if rest.wrong else None
        )
        if best and len(best.explained) == len(rest.wrong):
            if contradict(sentence, best.hypothesis.sentences[0]):
                continue
            sentences = (best.hypothesis.sentences[0], sentence)
            return Recognized(_joined(sentences), tuple(evidence.wrong))
    return None


def _as_bytes(value: Any) -> bytes:
    """Return a result as bytes that are the same for the same numbers."""
    if isinstance(value, (tuple, list)):
        return b"".join(map(_as_bytes, value))
    return repr(np.shape(value)).encode() + np.asarray(value).tobytes()


def faults_of_results(evidence: Evidence) -> Recognized | None:
    """Find two known mistakes, each of which makes results of its own of several wrong.

    A result is right where neither mistake shows, and has the numbers of the one that does.
    """
    wrong, right = evidence.wrong, evidence.right
    if len(wrong) < max(2, evidence.enough):
        return None
    if not all(isinstance(one.trial.expected, tuple) for one in wrong):
        return None
    with quiet():
        parts = [wrong_parts(one, one.seen.value) for one in wrong]
        everywhere = set().union(*(places or () for places in parts))
        if None in parts or len(everywhere) < 2:
            return None
        partial: list[tuple[set[int], Hypothesis]] = []
        for hypothesis in evidence.known:
            places = _places_explained(hypothesis, wrong, parts)
            if places and not any(wrong_parts_of(hypothesis, one) for one in right):
                partial.append((places, hypothesis))
    for number, (first, one) in enumerate(partial):
        for second, other in partial[number + 1 :]:
            if (
                first | second == everywhere
                and not first & second
                and _all_explained((one, other), wrong, parts)
            ):
                sentences = one.sentences[0], other.sentences[0]
                if one.mistake is not other.mistake and not contradict(*sentences):
                    return Recognized(_joined(sentences), tuple(wrong))
    for first, one in partial:
        for clause, repaired in TURNED:
            others = sorted(everywhere - first)
            if others and all(_is_right(repaired, others, call) for call in [*wrong, *right]):
                which = " and ".join(f"result {place + 1}" for place in others)
                sentences = one.sentences[0], f"In {which}, {clause}."
                return Recognized(_joined(sentences), tuple(wrong))
    return None


# What may be wrong with one result of several, and what takes it away.
TURNED: tuple[tuple[str, Callable[[Any], Any]], ...] = (
    ("every number has the wrong sign", np.negative),
    (
        "the last two axes are exchanged: np.swapaxes(result, -1, -2) puts them right",
        lambda value: np.swapaxes(value, -1, -2),
    ),
)


def _is_right(repaired: Callable[[Any], Any], places: Iterable[int], call: Comparison) -> bool:
    expected, allowed = call.trial.expected, call.trial.allowed
    if call.trial.case.raises:
        return True
    return all(
        np.ndim(call.seen.value[place]) > 1
        and not differ_in_numbers(repaired(call.seen.value[place]), expected[place], allowed[place])
        for place in places
    )


def _all_explained(
    pair: Sequence[Hypothesis], wrong: Sequence[Comparison], parts: Sequence[set[int] | None]
) -> bool:
    """Tell whether every wrong result of every call is one that a mistake of the pair makes wrong."""
    return all(
        places == set().union(*(wrong_parts_of(hypothesis, one) or () for hypothesis in pair))
        for one, places in zip(wrong, parts, strict=True)
    )


def wrong_parts(comparison: Comparison, value: Any) -> set[int] | None:
    """Return which of several results are wrong; None if there are not as many, or there is a pair."""
    expected, allowed = comparison.trial.expected, comparison.trial.allowed
    if not isinstance(value, (tuple, list)) or len(value) != len(expected):
        return None
    if any(isinstance(one, tuple) for one in expected):
        return None
    return {
        place
        for place, part in enumerate(zip(value, expected, allowed, strict=True))
        if differ_in_numbers(*part)
    }


def wrong_parts_of(hypothesis: Hypothesis, comparison: Comparison) -> set[int] | None:
    """The same for what a mistake leads to; all are wrong where it stops."""
    expected, raises = comparison.trial.expected, comparison.trial.case.raises
    predicted = hypothesis.predict(comparison.trial.case)
    if raises:
        return set() if isinstance(predicted.error, raises) else {0}
    places = None
    if predicted.error is None and not predicted.out_of_time:
        places = wrong_parts(comparison, predicted.value)
    return set(range(len(expected))) if places is None else places


def _places_explained(
    hypothesis: Hypothesis,
    wrong: Sequence[Comparison],
    parts: Sequence[set[int] | None],
) -> set[int]:
    """Return which results a mistake makes wrong, if all of them are the learner's own."""
    places: set[int] = set()
    for one, places_here in zip(wrong, parts, strict=True):
        its = wrong_parts_of(hypothesis, one)
        value, other = one.seen.value, hypothesis.predict(one.trial.case).value
        stops = not isinstance(other, (tuple, list))
        if stops or its is None or not its <= (places_here or set()):
            return set()
        for place in its:
            allowed = one.trial.allowed[place]
            if not alike(value[place], other[place], allowed, one.trial.precision):
                return set()
        places |= its
    return places


def known_in_part(evidence: Evidence) -> Recognized | None:
    """Find the known mistake that gives the learner's numbers on most wrong calls.

    It shows by itself on one of the first. If another mistake gives them on all the rest, that
    one is found too.
    """
    wrong, right, known = evidence.wrong, evidence.right, evidence.known
    for first in wrong[:FIRST_CALLS]:
        best = best_of(known, first, wrong, right)
        if not best or len(best.explained) < evidence.enough:
            continue
        others = tuple(one for one in wrong if not any(one is other for other in best.explained))
        rest = best_of(known, others[0], others, right) if others else None
        chance = bool(others) and by_chance(evidence.exercise, best.explained, others)
        second = ""
        if rest and len(rest.explained) == len(others):
            second = rest.hypothesis.sentences[0]
        return Recognized(
            best.hypothesis.sentences[0],
            best.explained,
            others,
            by_chance=chance,
            second=second,
            of=best.hypothesis.mistake,
        )
    return None


def _recognized_in_all(evidence: Evidence, hypotheses: Iterable[Hypothesis]) -> Recognized | None:
    wrong = evidence.wrong
    if len(wrong) < evidence.enough:
        return None
    best = best_of(hypotheses, wrong[0], wrong, evidence.right)
    if not best or len(best.explained) < len(wrong):
        return None
    known = best.hypothesis.mistake
    return Recognized(
        _joined(best.hypothesis.sentences), best.explained, mistake=known.id if known else ""
    )


def by_chance(
    exercise: Exercise, explained: Sequence[Comparison], others: Sequence[Comparison]
) -> bool:
    """Tell whether the explained calls have a size in common that none of the others has.

    Where d_k is 4, √d_k and 2 are the same: such calls show neither.
    """
    common = set.intersection(*(_sizes_in(exercise, one) for one in explained))
    return bool(common - set().union(*(_sizes_in(exercise, one) for one in others)))


def _sizes_in(exercise: Exercise, comparison: Comparison) -> set[tuple[str, float]]:
    case = comparison.trial.case
    arguments = dict(zip(exercise.parameters, case.args, strict=False)) | case.kwargs
    return {(named.text, named.value) for named in sizes(arguments)}


def _joined(sentences: Sequence[str]) -> str:
    if len(sentences) == 1:
        return sentences[0]
    first, second = sentences
    return f"Two faults together give your numbers. {first} Besides: {second}"
