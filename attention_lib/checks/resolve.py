"""Rank findings, explain the calls that they leave unexplained, and join them into a report."""

from __future__ import annotations

import dataclasses
import functools
import logging
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import islice
from typing import Any

from attention_lib.checks.attempt import Attempt
from attention_lib.checks.compare.comparing import Comparison, in_own_dtype
from attention_lib.checks.edits.cell import silenced
from attention_lib.checks.findings.finding import Finding, way_of
from attention_lib.checks.findings.known import (
    comes_back,
    known_everywhere,
    known_where_numbers_are_wrong,
    only_known,
)
from attention_lib.checks.findings.measured import measured
from attention_lib.checks.findings.observed import (
    changed_inputs,
    forbidden_calls,
    results,
    second_readings,
    side_effects,
)
from attention_lib.checks.findings.pairs import two_in_one_answer
from attention_lib.checks.findings.sides import sides
from attention_lib.checks.findings.source import edits_in_part, edits_of_all, misleading_lines
from attention_lib.checks.hypotheses.table import is_finite_somewhere
from attention_lib.checks.verdict import BESIDES, Report, sentences

log = logging.getLogger(__name__)

Producer = Callable[[Attempt], Iterator[Finding]]

# One fault before two, all wrong numbers before some, what to change before where to look.
# Beside each producer is an answer that it is the first to explain.
EXPLAINING: tuple[Producer, ...] = (
    only_known,  # softmax_with_temperature: no shift, where no ValueError for -1 has been said
    edits_of_all,  # weighted_sum: np.squeeze(w @ v)
    known_everywhere,  # softmax: e / e.sum()
    known_where_numbers_are_wrong,  # entropy: w = weights[weights > 0]; w.sum(axis=axis) may stop
    comes_back,  # softmax: return scores
    two_in_one_answer,  # entropy: -np.sum(w * np.log2(w))
    edits_in_part,  # split_heads: d = x.shape[-1] / num_heads, below an assert
    misleading_lines,  # score_std: np.random.randn(1000, d_k)
)

# Begins what is said of an answer such as one of softmax with scores -= scores.max(axis, keepdims=True).
VALUES_ARE_RIGHT = "The values are right."


def resolve(attempt: Attempt, explains: bool, measures: bool) -> Report | None:
    """Return a report on what is wrong with an answer, or None if nothing is.

    `explains` and `measures` tell whether to look for a cause, and whether to run probes.
    """
    own = attempt.is_own
    besides = [*([side_effects] if own else []), *([measured] if measures else [])]
    forbidden = [forbidden_calls] if own else []
    if not attempt.failing:
        said = _first_findings(attempt, [*forbidden, *besides])
        return _report_of(attempt, said) if said else None
    results_first = [*forbidden, second_readings, *([changed_inputs] if own else [])]
    if not explains:
        return _report_of(attempt, _first_findings(attempt, [*results_first, results]))
    with silenced():
        said = _first_findings(attempt, [known_everywhere, *results_first, *EXPLAINING, results])
        said = _findings_of(_with_further_findings, attempt, said) or said
        said += _findings_of(sides, attempt, said) if own else []
    return _report_of(attempt, said)


def _first_findings(attempt: Attempt, producers: Sequence[Producer]) -> list[Finding]:
    """Return the first finding, with the further findings of its producer."""
    for produce in producers:
        explains = produce in EXPLAINING
        said = _findings_of(produce, attempt) if explains else [*islice(produce(attempt), 1)]
        if said:
            return said
    return []


def _findings_of(produce: Callable[..., Iterable[Finding]], *given: Any) -> list[Finding]:
    """Return the findings of a producer; if it fails, no findings, so that no verdict changes."""
    try:
        return list(produce(*given))
    except Exception:
        log.debug("an explanation failed", exc_info=True)  # the tests fail on this message
        return []


def _with_further_findings(attempt: Attempt, said: list[Finding]) -> list[Finding]:
    """Explain the failing calls that the first finding does not, and the first one itself if bare.

    For example, np.dot(query, key.T) stops in some calls, and has a wrong shape in others. If
    merge_heads joins x[:, h], the calls that remain are explained only without those with more axes.
    If normalize_by_sum fills np.zeros_like(scores) row by row, NaN is the first finding, and bare
    until the calls with a wrong dtype are explained.
    """
    first, *more = said
    if first.label == "forbidden":
        return [*said, *_first_findings(attempt, EXPLAINING)]
    if rest := _unexplained(attempt, first):
        calls = rest.comparisons
        axes = next((_axes(one) for one in calls if one.wrong_in_numbers), 0)
        plain = [one for one in calls if _axes(one) == axes and not one.stopped]
        found = _findings_on_rest(rest, first) or _findings_on_rest(
            attempt.of(plain, rest.known), first
        )
        if found and first.label == "result":
            better = _findings_without_others(attempt, first)
            if not any(one.lines & found[0].lines for one in better):
                said = [*better, *more]
        explained = found and found[0].label == "error" and found[0].text
        if explained and said[0].label == "result" and not is_finite_somewhere(attempt.failing[0]):
            return [*found, *said]  # NaN in every place tells little
        return [*said, *found]
    return said


def _unexplained(attempt: Attempt, first: Finding) -> Attempt | None:
    """Return an attempt on the calls that a finding does not explain, or None if none of these fails.

    For example, entropy along a wrong axis stops in calls with fewer axes. The NaN that
    np.diagonal(weights, -1).mean() also gives is left out, as its other numbers are wrong.
    """
    if first.evidence is None:
        return None
    calls, skipped = attempt.comparisons, {("raises", 0), way_of(in_own_dtype(first.evidence))}
    if first.label in ("result", "error", "raises", "line"):  # wrong numbers behind the dtype
        calls = [in_own_dtype(one) for one in calls]
    if first.label == "result":
        skipped.add(("spoiled", 0))  # next to wrong numbers, NaN in another call misleads
    rest = [
        one
        for one in calls
        if not one.failed or not (way_of(one) in skipped or first.explains(one))
    ]
    if not any(one.failed for one in rest):
        return None
    known = [one for one in attempt.comparisons if first.id and one not in rest]
    return attempt.of(rest, known)


def _findings_on_rest(rest: Attempt, first: Finding) -> list[Finding]:
    """Return findings on the calls left by a finding; empty if it is probably the same fault.

    For example, np.exp(left - both) * output of merge_attention lacks an axis: it stops in one call,
    and has wrong numbers in another, both in the same line.
    """
    if not rest.failing:
        return []
    found = _first_findings(rest, (*EXPLAINING, results))
    one, way = rest.failing[0], way_of(rest.failing[0])
    if found[0].label == "result":
        named = rest.table.variants_of(first.id)
        shapes = [_shape(each.predict(one.trial.case).value) for each in named]
        if way is None or way[0] != "shape" or _shape(one.seen.value) in shapes:
            return []  # only numbers, which add nothing
    if found[0].label == "error" and not found[0].text and not first.id:
        return []
    if found[0].lines & first.lines:
        return []
    return [dataclasses.replace(one, opening="") if one.label == "pair" else one for one in found]


def _findings_without_others(attempt: Attempt, first: Finding) -> list[Finding]:
    """Explain the calls that fail in the same way as a bare finding, without the others.

    For example, the NaN of normalize_by_sum that fills np.zeros_like(scores) row by row.
    """
    assert first.evidence is not None
    alike, axes = (None, way_of(first.evidence)), _axes(first.evidence)
    same = [one for one in attempt.comparisons if way_of(one) in alike]
    plain = [one for one in same if not one.failed or _axes(one) == axes]
    found = _first_findings(attempt.of(same), EXPLAINING) or _first_findings(
        attempt.of(plain), EXPLAINING
    )
    if not found:
        return [first]
    return [
        dataclasses.replace(one, opening=first.opening, explains=first.explains, id="", edit="")
        for one in found
    ]


def _shape(value: object) -> tuple[int, ...] | None:
    return getattr(value, "shape", None)


def _axes(one: Comparison) -> int:
    """Count the axes of a call's first array."""
    return next((value.ndim for value in one.trial.case.args if hasattr(value, "ndim")), 0)


def _report_of(attempt: Attempt, said: Sequence[Finding]) -> Report:
    """Join findings into a report: the only place where their texts are combined."""
    first, parts, opened = said[0], dict[str, str](), set[str]()
    for one in said:
        opening = "" if one.opening in opened else one.opening
        opened |= {one.opening}
        own = sentences(opening, one.text)
        parts.setdefault(one.text or own, f"{BESIDES}{own}" if parts else own)
    if first.label in ("changed", "warns", "measured") and not any(
        one.stopped or one.wrong_in_numbers for one in attempt.comparisons
    ):
        parts[first.text] = f"{VALUES_ARE_RIGHT} {first.text}"
    return Report(
        attempt.exercise,
        first.outcome,
        functools.reduce(sentences, parts.values()),
        first.evidence,
        mistake=first.id,
        edit=first.edit,
        parts=tuple(parts.values()),
        kind="; ".join(map(_kind_of, said)),
        errors=tuple(sorted(_errors_of(attempt))),
        lines=tuple(sorted(frozenset[int]().union(*(one.lines for one in said)) - {0})),
    )


def _kind_of(one: Finding) -> str:
    """Return a key for a finding, the same for all answers with this fault."""
    way = way_of(one.evidence) if one.evidence and one.label in ("result", "error") else None
    error = one.evidence.seen.error if one.evidence else None
    ended = type(error).__name__ if way and error is not None else ""
    words = (one.label, one.id, ended or (way[0] if way else ""), *sorted(one.topics))
    return " ".join(filter(None, words))


def _errors_of(attempt: Attempt) -> set[str]:
    return {type(one.seen.error).__name__ for one in attempt.failing if one.stopped}
