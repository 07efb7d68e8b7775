"""Render a verdict: as an HTML panel in a notebook, as plain text elsewhere."""

from __future__ import annotations

import html
import os
import re
import reprlib
import sys
from collections.abc import Iterator
from typing import Any

import numpy as np

from attention_lib.checks.calls.case import Case, Observation
from attention_lib.checks.calls.tensors import as_numbers, is_tensor, short_dtype
from attention_lib.checks.compare.comparing import Comparison, Part, is_wider, parts_of
from attention_lib.checks.exercise import Exercise
from attention_lib.checks.show.places import Maps, maps_of, places
from attention_lib.checks.verdict import BESIDES, Report
from attention_lib.checks.wording import digits_apart

TITLES = {
    "right": "Right",
    "wrong": "Not right yet",
    "error": "Your code raised an error",
    "unattempted": "Not attempted yet",
}
# Okabe–Ito colors, which color-blind readers can distinguish on light and dark pages.
COLORS = {"right": "#009E73", "wrong": "#D55E00", "error": "#CC79A7", "unattempted": "#56B4E9"}
EDIT = "The line to change"  # the heading of the edit, folded in a notebook
MORE = "More that is wrong"  # the heading of folded findings
MOST_SENTENCES = 3  # shown at once
END_OF_SENTENCE = re.compile(r"(?<=[.?!]) +(?=[A-Z`])")
REMARK = "A remark:"  # starts each line of advice below a right verdict
Detail = tuple[str, Any, Any]  # label, text or array or maps, which entries to mark
MOST_CELLS = 8  # a larger array is abbreviated
MOST_AXES = 5  # an array with more is flattened, as each axis may show four entries
MOST_PAIRS = 50  # pairs of numbers that should differ in their digits
MOST_LINES = 30  # lines of an array's text, which may have two hundred


class CheckFailed(AssertionError):
    """An answer is not right; the text is the headline."""

    def _render_traceback_(self) -> list[str]:
        """Replace Jupyter's traceback by one line, because the panel shows the rest.

        nbgrader's Validate shows no panel: there, the line is the headline.
        """
        validating = "NBGRADER_VALIDATING" in os.environ
        return [f"CheckFailed: {self if validating else 'see above.'}"]


def as_text(report: Report) -> str:
    """Write a report as plain text."""
    lines = [headline(report), *(f"  {REMARK} {sentence}" for sentence in report.advice)]
    for label, value, _ in _details(report):
        value = value.text if isinstance(value, Maps) else value
        body = value if isinstance(value, str) else _array_text(value)
        lines.append(f"  {label}:")
        lines.extend(f"    {line}" for line in body.splitlines())
    for heading, folded in _folded(report).items():
        lines += [f"  {heading}:", f"    {folded}"]
    return "\n".join(lines)


def headline(report: Report) -> str:
    """Summarize a report in one line: ``softmax: right. All 11 cases, 3 points.``"""
    return f"{_title(report)}. {_message(report)}"


def _title(report: Report) -> str:
    return f"{report.exercise.name}: {TITLES[report.outcome].lower()}"


def _message(report: Report) -> str:
    """Return the text below the title."""
    if report.outcome != "right":
        return _shown_and_folded(report)[0]
    points = f"{report.exercise.points} point{'s' * (report.exercise.points != 1)}"
    return f"All {report.case_count} cases, {points}." if report.case_count > 1 else f"{points}."


def _shown_and_folded(report: Report) -> tuple[str, str]:
    """Return the text to show at once, and the text to fold.

    Each finding is either shown whole or folded whole; only the first one is split if it is too
    long.
    """
    first, *others = report.parts or (report.sentence,)
    pieces = END_OF_SENTENCE.split(first)
    shown, folded = pieces[:MOST_SENTENCES], pieces[MOST_SENTENCES:]
    for part in others:
        pieces = END_OF_SENTENCE.split(part)
        is_short = not folded and len(shown) + len(pieces) <= MOST_SENTENCES
        (shown if is_short else folded).extend(pieces)
    return " ".join(shown), " ".join(folded).removeprefix(BESIDES)


def _folded(report: Report) -> dict[str, str]:
    """Return the folded texts, by heading."""
    return {
        heading: text
        for heading, text in ((MORE, _shown_and_folded(report)[1]), (EDIT, report.edit))
        if text
    }


def as_html(report: Report, pictures: bool = True) -> str:
    """Render a report as an HTML panel in the text color of the page, light or dark.

    Feedback pages show no SVG: `pictures=False` leaves it out, and words say the same.
    """
    color = COLORS[report.outcome]
    details = "".join(
        (NEW_LINE if label.startswith("you returned") else "") + _detail(label, value, marked)
        for label, value, marked in _details(report)
        if pictures or not isinstance(value, Maps)
    )
    advice = "".join(f"<div>{REMARK} {with_code(sentence)}</div>" for sentence in report.advice)
    if details:
        details = (
            f'<div style="display:flex;flex-wrap:wrap;gap:4px 28px;margin-top:6px">{details}</div>'
        )
    folded = "".join(
        f"<details><summary>{heading}</summary>{with_code(text)}</details>"
        for heading, text in _folded(report).items()
    )
    return panel(
        f"<strong>{html.escape(_title(report))}.</strong> {with_code(_message(report))}{advice}{folded}{details}",
        color,
        f'class="attention-check" data-outcome="{report.outcome}" role="status"',
    )


def with_code(sentence: str) -> str:
    """Render a sentence as HTML, with code between backticks as `<code>`."""
    return re.sub(r"`([^`]+)`", r"<code>\1</code>", html.escape(sentence))


NEW_LINE = '<div style="flex-basis:100%"></div>'


def panel(content: str, color: str, attributes: str) -> str:
    """Frame HTML with a colored edge and tint, in the text color of the page."""
    return (
        f'<div {attributes} style="border-left:4px solid {color};background:{color}1A;'
        "padding:8px 14px;margin:4px 0;border-radius:2px;max-width:52em;font-size:14px;"
        f'line-height:1.5;white-space:normal">{content}</div>'
    )


def _detail(label: str, value: Any, marked: Any) -> str:
    if (
        isinstance(value, np.ndarray)
        and value.ndim <= 2
        and max(value.shape, default=0) <= MOST_CELLS
    ):
        body = _table(value, marked)
    elif isinstance(value, Maps):
        body = value.svg
    else:
        text = value if isinstance(value, str) else _array_text(value)
        body = (
            '<pre style="margin:0;font-size:12px;line-height:1.35;background:transparent;'
            "font-family:monospace;white-space:pre-wrap;"
            f'color:inherit">{html.escape(text)}</pre>'
        )
    return f'<div><div style="font-size:12px;opacity:.75">{html.escape(label)}</div>{body}</div>'


def present(text: str, rich: dict[str, str], metadata: dict[str, Any] | None = None) -> None:
    """Show the rich form (MIME type to content) in a notebook, and the text anywhere else."""
    if in_notebook():
        from IPython.display import display

        display({"text/plain": text, **rich}, raw=True, metadata=metadata or {})
    else:
        print(text)


def in_notebook() -> bool:
    """Tell whether this code runs in a Jupyter kernel."""
    ipython = sys.modules.get("IPython")
    shell = ipython.get_ipython() if ipython else None
    return shell is not None and hasattr(shell, "kernel")


def _details(report: Report) -> list[Detail]:
    """List the evidence for a verdict: label, text or array, entries to mark."""
    if report.comparison is None:
        return []
    trial, seen = report.comparison.trial, report.comparison.seen
    case, details = trial.case, list[Detail]()
    if seen.error is not None and not seen.refused_call:
        details.append(("where", _traceback_text(seen), None))
    if case.args or case.kwargs:
        details.append(("the call", _call_text(report.exercise, case), None))
        details.extend(
            (_label_of(name, value), as_numbers(value), None)
            for name, value in report.exercise.arguments_of(case).items()
            if _is_array(value)
        )
    if seen.error is None and report.outcome == "wrong" and trial.expected is not None:
        details.extend(_results(report.comparison))
    return details


def _results(one: Comparison) -> Iterator[Detail]:
    """Yield each wrong result with the right one, and the names of the right results."""
    trial, unmarked = one.trial, list[str]()
    # With too few or too many results, show only what is right.
    parts = one.parts or parts_of(_nones_like(trial.expected), trial) or ()
    for part in parts:
        which = f", {part.name}" if part.name else ""
        if part.name and one.parts and _is_right(part):
            unmarked.append(part.name)
            continue
        numbers, right = part.numbers, part.expected
        if numbers is not None:
            # The label of a tensor names its own dtype.
            shown = numbers if numbers.ndim == 0 else part.value
            label = _label_of(f"you returned{which}", shown)
            yield label, _with_enough_digits(numbers, right.values, part.off), part.off
        elif part.value is not None:
            yield f"you returned{which}", _Repr().repr(part.value)[:200], None
        values = right.values if right.device else right.values.astype(right.dtype)
        label = _label_of(f"right is{which}", values, right.dtype)
        yield label, _with_enough_digits(values, numbers, part.off), None
        if numbers is not None and numbers.shape != right.values.shape:
            shapes = f"the shape: {numbers.shape}, where {right.values.shape} is right"
            yield f"wrong{which}", shapes, None
        if numbers is not None and part.off is not None and (wrong := places(part.off)):
            yield f"wrong{which}", wrong, None
            if maps := maps_of(numbers, right.values, part.off):
                yield f"yours and right{which}", maps, None
    if unmarked:
        yield "right", ", ".join(unmarked), None


def _with_enough_digits(one: Any, other: Any, off: Any) -> Any:
    """Return numbers as text with more than four digits if two arrays otherwise look the same."""
    if off is None or not off.any() or one.dtype.kind != "f":
        return one
    pairs = list(zip(one[off][:MOST_PAIRS], other[off][:MOST_PAIRS], strict=True))
    digits = max(digits_apart(*pair) for pair in pairs)
    if digits == 4 and not any(f"{mine:.4f}" == f"{its:.4f}" for mine, its in pairs):
        return one
    return np.vectorize(lambda number: f"{number:.{digits}g}", otypes=[str])(one)


def _nones_like(expected: Any) -> Any:
    return tuple(map(_nones_like, expected)) if isinstance(expected, tuple) else None


def _is_right(part: Part) -> bool:
    numbers, right = part.numbers, part.expected
    return (
        numbers is not None
        and not part.is_wrong
        and (
            right.scalar
            or getattr(part.value, "dtype", None) == right.dtype
            or (right.may_be_wider and is_wider(part.value, right))
        )
    )


def _call_text(exercise: Exercise, case: Case) -> str:
    args = [
        name if _is_array(value) else _short_text(value)
        for name, value in zip(exercise.parameters, case.args, strict=False)
    ]
    keywords = [
        f"{key}={key if _is_array(value) else _short_text(value)}"
        for key, value in case.kwargs.items()
    ]
    return f"{exercise.name_on_cases}({', '.join(args + keywords)})"


def _is_array(value: Any) -> bool:
    return isinstance(value, np.ndarray) or is_tensor(value)


def _short_text(value: Any) -> str:
    if name := getattr(value, "__name__", None):
        return str(name)
    if isinstance(value, np.ndarray):
        return np.array2string(value, precision=4, separator=", ", threshold=12)
    if isinstance(value, (tuple, list)):
        return f"({', '.join(map(_short_text, value))})"
    if isinstance(value, dict):  # of a model's weights, which would fill the page
        return f"{{{', '.join(f'{key!r}: ...' for key in value)}}}"
    return repr(value)


def _label_of(name: str, array: Any, dtype: Any = None) -> str:
    if array.ndim == 0:
        return name
    return f"{name}, shape {tuple(array.shape)}, {short_dtype(dtype or array.dtype)}"


class _Repr(reprlib.Repr):
    """A `repr` of an answer's result that writes no more than is shown."""

    def __init__(self) -> None:
        super().__init__()
        self.maxlevel, self.maxlist, self.maxtuple, self.maxdict = 3, 20, 20, 20
        self.maxstring = self.maxother = self.maxlong = 200

    def repr_ndarray(self, array: np.ndarray, _level: int) -> str:
        return f"array({_array_text(array)})"


def _array_text(array: np.ndarray) -> str:
    array = array.ravel() if array.ndim > MOST_AXES else array
    as_written: Any = {"numpystr": str}  # numbers that are already text
    text = np.array2string(
        array, precision=4, separator=", ", threshold=60, edgeitems=2, formatter=as_written
    )
    lines = text.splitlines()
    if len(lines) <= MOST_LINES:
        return text
    shown = MOST_LINES - 1  # the last line counts the rest
    return "\n".join([*lines[:shown], f"... and {len(lines) - shown} more lines"])


def _table(array: np.ndarray, marked: Any) -> str:
    """Render a small array as an HTML table, with the marked entries outlined."""
    rows = np.atleast_2d(array)
    marks = np.zeros(rows.shape, bool) if marked is None else np.atleast_2d(marked)
    cells = []
    for row, row_marks in zip(rows, marks, strict=True):
        cells.append("<tr>")
        for entry, mark in zip(row, row_marks, strict=True):
            text = f"{entry:.4g}" if array.dtype.kind == "f" else str(entry)
            outline = f"outline:2px solid {COLORS['wrong']};" if mark else ""
            cells.append(
                f'<td style="padding:1px 7px;text-align:right;border:none;{outline}">{text}</td>'
            )
        cells.append("</tr>")
    return (
        '<table style="font-family:monospace;font-size:12px;margin:2px 0;border-collapse:separate;'
        f'border-spacing:2px">{"".join(cells)}</table>'
    )


def _traceback_text(seen: Observation) -> str:
    lines = []
    for frame in seen.frames[-6:]:
        lines.append(f"line {frame.lineno}, in {frame.name}")
        if frame.line:
            lines.append(f"    {frame.line}")
    return "\n".join([*lines, f"{type(seen.error).__name__}: {seen.error}"])
