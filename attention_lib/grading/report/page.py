"""Write a class's report as one self-contained HTML page with pictures."""

from __future__ import annotations

import html
import math
from collections import Counter

from attention_lib.checks.show.panel import COLORS
from attention_lib.grading.report.findings import NOT_CHECKED, ClassReport
from attention_lib.grading.report.text import MEANINGS, SIGNS, WORDS, attention_needed, counts, said
from attention_lib.grading.terminal import shown_name

FILLS = {**COLORS, NOT_CHECKED: "#999999"}
MOST_NAMES = 8  # in view; the others are folded
STYLE = """
:root { color-scheme: light dark }
body { font: 16px/1.5 system-ui, sans-serif; margin: 2em auto; max-width: 60em; padding: 0 1em;
  color: #1a1a1a; background: #fdfdfb }
table { border-collapse: collapse; width: 100% } td, th { padding: .3em .6em; text-align: left;
  vertical-align: top; border-bottom: 1px solid #ddd; overflow-wrap: anywhere } td.number { text-align: right }
bdi, th { white-space: nowrap } td:nth-child(2) { width: 60% } td:nth-child(3) { width: 40% }
dl { display: grid; grid-template-columns: max-content 1fr; gap: .2em 1em } dd { margin: 0 }
dt span { display: inline-block; width: .8em; height: .8em }
.overview td:nth-child(n) { width: auto; overflow-wrap: normal } .overview td:nth-child(2) { width: 50% }
.overview svg { height: 1em; margin: .3em 0 } .more, .more summary { display: inline }
.more summary { cursor: pointer; text-decoration: underline }
svg { display: block; margin: .5em 0 } a, .more summary { color: light-dark(#0b5fa5, #7cc0ff) }
code { font-size: 85%; color: #555 }
@media (prefers-color-scheme: dark) { body { color: #e8e8e8; background: #181818 }
  td, th { border-color: #444 } code { color: #aaa } }
@media (max-width: 30rem) { body { margin: 1em auto }
  thead { display: none } tr { display: block; border-bottom: 1px solid #888 }
  td:nth-child(n) { display: block; border: 0; width: auto } bdi { white-space: normal }
  td.number { text-align: left; font-weight: bold }
  td.number::before { content: "Students: " } }
@media print { body { margin: 0; max-width: none } }
"""
BAR_WIDTH, BAR_HEIGHT = 600, 22


def as_page(report: ClassReport) -> str:
    """Return the page: totals, then each exercise with its findings, the most frequent first."""
    title = f"Report on {report.title or report.lesson}"
    body = [f"<h1>{html.escape(title)}</h1>", _attendance(report), _overview(report), _legend()]
    body += ["<h2>Points</h2>", _histogram(report)]
    body += [_exercise_section(report, exercise) for exercise in report.worth]
    return (
        f'<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8"><title>{html.escape(title)}'
        f'</title><meta name="viewport" content="width=device-width"><style>{STYLE}</style></head>'
        f"<body>{''.join(body)}</body></html>\n"
    )


def _attendance(report: ClassReport) -> str:
    """Return a list of how many were graded, and who needs attention."""
    lines = [f"{len(report.standings)} graded"]
    for words, students in attention_needed(report).items():
        lines.append(f"{len(students)} {words}: {_names_folded(report, students)}")
    return f"<ul>{''.join(f'<li>{line}</li>' for line in lines)}</ul>"


def _overview(report: ClassReport) -> str:
    """Return a table with a row for each exercise, which links to what its check says."""
    rows = []
    for exercise in report.worth:
        outcomes = report.outcomes(exercise)
        bar, said = "", "marked by hand"
        if outcomes:
            bar, said = (
                _outcome_bar(report, exercise),
                f"{outcomes['right']} of {outcomes.total()} right",
            )
        link = f'<a href="#{exercise}">{exercise}</a>'
        rows.append(f"<tr><td>{link}</td><td>{bar}</td><td>{said}</td></tr>")
    return f'<h2>Exercises</h2><table class="overview"><tbody>{"".join(rows)}</tbody></table>'


def _legend() -> str:
    """Return a legend of the colors and words for outcomes, and of the signs in the table of points."""
    words = [
        f'<dt><span style="background:{FILLS[outcome]}"></span> {WORDS.get(outcome, outcome)}</dt>'
        f"<dd>{meaning}</dd>"
        for outcome, meaning in MEANINGS.items()
    ]
    return (
        f"<details open><summary>Legend</summary><dl>{''.join(words)}</dl><p>{SIGNS}</p></details>"
    )


def _exercise_section(report: ClassReport, exercise: str) -> str:
    worth = report.worth[exercise]
    heading = f'<section id="{exercise}"><h2>{exercise} ({worth:g} point{"s" * (worth != 1)})</h2>'
    points = [standing.points.get(exercise) for standing in report.standings.values()]
    waiting = points.count(None)
    distribution = Counter(own for own in points if own is not None)
    words = [f"{count} with {own:g}" for own, count in sorted(distribution.items(), reverse=True)]
    words += [f"{waiting} not marked yet"] if waiting else []
    doubtful = sum(exercise in standing.in_doubt for standing in report.standings.values())
    words += [f"{doubtful} to be looked at again"] if doubtful else []
    parts = [heading, f"<p>Points: {', '.join(words)}.</p>"]
    if report.outcomes(exercise):
        parts += [f"<p>{html.escape(counts(report, exercise))}</p>"]
    rows = [
        f'<tr><td class="number">{len(students)}</td><td>{html.escape(said(finding))} '
        f"<code>{html.escape(finding.mistake)}</code></td>"
        f"<td>{_names_folded(report, students)}</td></tr>"
        for finding, students in report.groups(exercise)
    ]
    if rows:
        head = "<tr><th>Students</th><th>What the check says</th><th>Who</th></tr>"
        parts.append(f"<table><thead>{head}</thead><tbody>{''.join(rows)}</tbody></table>")
    return f"{''.join(parts)}</section>"


def _names_folded(report: ClassReport, students: list[str]) -> str:
    """Return students' names in alphabetical order; fold all but the first few."""
    shared = Counter(report.names.values())
    names = []
    for student in students:
        name, id = report.names.get(student, ""), shown_name(student)
        name = f"{name} ({id})" if shared[name] > 1 else name
        names.append((shown_name(name) if name else id, id))
    # bdi separates names that are written from right to left from their neighbors.
    written = [
        f'<bdi title="{html.escape(id)}">{html.escape(name)}</bdi>'
        for name, id in sorted(names, key=lambda one: one[0].casefold())
    ]
    first, others = ", ".join(written[:MOST_NAMES]), ", ".join(written[MOST_NAMES:])
    more = f"and {len(written) - MOST_NAMES} more"
    folded = f' <details class="more"><summary>{more}</summary> {others}</details>'
    return first + folded * bool(others)


def _outcome_bar(report: ClassReport, exercise: str) -> str:
    """Return one bar with the shares of the outcomes."""
    outcomes = report.outcomes(exercise)
    x, parts = 0.0, []
    for outcome, color in FILLS.items():
        width = BAR_WIDTH * outcomes[outcome] / outcomes.total()
        if width:
            label = f"{outcomes[outcome]} {WORDS.get(outcome, outcome)}"
            parts.append(
                f'<rect x="{x:.1f}" width="{width:.1f}" height="{BAR_HEIGHT}" fill="{color}">'
                f"<title>{label}</title></rect>"
            )
        x += width
    return _svg(BAR_WIDTH, BAR_HEIGHT, counts(report, exercise), "".join(parts))


def _histogram(report: ClassReport) -> str:
    """Return a histogram of the students' total points, in whole points."""
    most = round(sum(report.worth.values()))
    totals = Counter(
        min(max(math.floor(report.total(student) + 0.5), 0), most) for student in report.standings
    )
    step, height, tallest = BAR_WIDTH / (most + 1), 120, max(totals.values(), default=1)
    parts = []
    for points in range(most + 1):
        tall = height * totals[points] / tallest
        x = step * points
        parts.append(
            f'<rect x="{x + 1:.1f}" y="{height + 18 - tall:.1f}" width="{step - 2:.1f}" '
            f'height="{tall:.1f}" fill="#0072B2"></rect>'
        )
        middle = f'x="{x + step / 2:.1f}" text-anchor="middle" font-size="12" fill="currentColor"'
        parts.append(f'<text {middle} y="{height + 34}">{points}</text>')
        if totals[points]:
            parts.append(f'<text {middle} y="{height + 14 - tall:.1f}">{totals[points]}</text>')
    label = ", ".join(f"{totals[points]} with {points}" for points in sorted(totals))
    caption = f"<p>Students by points so far, of {most}; answers not marked yet count 0.</p>"
    return caption + _svg(BAR_WIDTH, height + 40, f"Students by points: {label}", "".join(parts))


def _svg(width: int, height: int, label: str, content: str) -> str:
    return (
        f'<svg role="img" aria-label="{html.escape(label)}" viewBox="0 0 {width} {height}" '
        f'style="max-width:{width}px;width:100%">{content}</svg>'
    )
