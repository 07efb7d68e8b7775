"""Share of wrong answers that are told what to change: the check's sentences, rated by people.

`tests/answers/` holds answers, a file for each lesson. Those by a writer have the sentence that a
teacher would say, and what the check said at once, without the line folded below it, when a person
rated it: that it names the fault (`told`), names some of it (`partly`), shows numbers or a raw
error alone (`bare`), or leads the learner astray (`misleads`).

`python -m benchmarks.explanations [NAME]` runs the check on every wrong answer and prints the shares
of those by writers. NAME is a lesson, an exercise or an answer's name, and leaves out the others.
`--list` prints each answer, the sentence a teacher would say, and what the check says. `--update`
stores what the check now finds and says, and drops the ratings of sentences that have changed.
"""

from __future__ import annotations

import argparse
import re
import warnings
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from attention_lib.checks.calls.timeouts import CALL_SECONDS, OutOfTime, time_limit
from attention_lib.checks.judging import LEARNER, Policy, judge
from attention_lib.checks.verdict import Report
from attention_lib.exercises import EXERCISES
from benchmarks.answers import CORPUS, RATINGS, Answer, answers, defined, write_answers
from benchmarks.measuring import print_table

NUMBER = re.compile(r"[-−]?\d[\d.,]*(e[-+]?\d+)?")
SEED = 0  # of the cases that a learner's answer is tried on


def checked(answer: Answer, policy: Policy = LEARNER) -> Report:
    """Return the check's report on an answer, or on the error in which its cell ended."""
    exercise = EXERCISES[answer.exercise]
    try:
        with warnings.catch_warnings(), time_limit(CALL_SECONDS):
            warnings.simplefilter("ignore")
            function = defined(answer.exercise, answer.text)
    except (Exception, OutOfTime) as error:  # a cell that stops, as Jupyter shows it
        name = type(error).__name__
        return Report(exercise, "error", f"{name}: {error}", kind=f"cell {name}")
    return judge(exercise, function, SEED, policy)


def labels_of(report: Report) -> tuple[str, ...]:
    """Return what the report finds, as words that its sentences do not change."""
    return tuple(filter(None, report.kind.split("; ")))


def is_found(answer: Answer, report: Report) -> bool:
    """Tell whether the check finds in an answer what is stored, whatever it says of it."""
    right = report.outcome == "right"
    return (answer.right, answer.labels, answer.lines) == (right, labels_of(report), report.lines)


def is_said(answer: Answer, report: Report) -> bool:
    """Tell whether the stored sentence is said; numbers may differ, as some are measured."""
    same = NUMBER.sub("#", answer.said) == NUMBER.sub("#", report.sentence)
    return same and answer.labels == labels_of(report)


def rating_of(answer: Answer, report: Report) -> str:
    """Return the rating of what the check says; empty if that is not what was rated."""
    return answer.rating if is_said(answer, report) else ""


def updated(answer: Answer, report: Report) -> Answer:
    """Return an answer with what the check now finds and says, and its rating if that still holds."""
    said = report.sentence if answer.writer and not is_said(answer, report) else answer.said
    labels, rating = labels_of(report), rating_of(answer, report)
    return replace(answer, labels=labels, lines=report.lines, said=said, rating=rating)


def share_rows(ratings: dict[Answer, str]) -> Iterator[list[str]]:
    """Yield a row of counts and the share of `told` for each group of entries."""
    groups = {"lesson": "", "faults": "faults: ", "half": "", "writer": "writer "}
    for field, label in groups.items():
        for value in sorted({getattr(entry, field) for entry in ratings}):
            of_group = [
                rating for entry, rating in ratings.items() if getattr(entry, field) == value
            ]
            yield _share_row(f"{label}{value}", of_group)
    yield _share_row("all", list(ratings.values()))


def _share_row(label: str, ratings: Sequence[str]) -> list[str]:
    counts = Counter(ratings)
    rated = len(ratings) - counts[""]
    share = f"{counts['told'] / rated:.0%}" if rated else ""
    numbers = (len(ratings), rated, *(counts[rating] for rating in RATINGS))
    return [label, *map(str, numbers), share]


def print_answers(reports: dict[Answer, Report], ratings: dict[Answer, str]) -> None:
    for entry, report in reports.items():
        print(
            f"{entry.name} ({entry.half}, faults: {entry.faults}): {ratings[entry] or 'not rated'}"
        )
        print("    " + entry.text.rstrip().replace("\n", "\n    "))
        print(f"  teacher: {entry.teacher}")
        print(f"  said:    {report.sentence}\n", flush=True)


def print_shares(ratings: dict[Answer, str]) -> None:
    header = ["", "entries", "rated", *RATINGS, "share told"]
    print_table("Wrong answers that are told what to change.", header, list(share_rows(ratings)))
    _print_names("Not rated", (entry for entry, rating in ratings.items() if not rating))


def _print_names(title: str, named: Iterable[Answer]) -> None:
    names = [entry.name for entry in named]
    if names:
        print(f"{title}:", *names, sep="\n  ")


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.explanations",
        description="Print the share of wrong answers that are told what to change.",
    )
    parser.add_argument(
        "name", nargs="?", help="a lesson, an exercise, a writer or an answer, such as 01_softmax"
    )
    parser.add_argument(
        "--list", action="store_true", help="print answers, the teacher's sentences and the check's"
    )
    parser.add_argument(
        "--update", action="store_true", help="store what is said, drop ratings of what changed"
    )
    options = parser.parse_args(arguments)
    wrong = [one for one in answers() if not one.right]
    chosen = [one for one in wrong if options.name is None or one.is_named(options.name)]
    if not chosen:
        parser.error(f"no lesson, exercise, writer or answer in {CORPUS} is named {options.name}.")
    reports = {one: checked(one) for one in chosen if one.writer or options.update}
    if options.update:
        new = {one.name: updated(one, report) for one, report in reports.items()}
        write_answers([new.get(one.name, one) for one in answers()])
        reports = {new[one.name]: report for one, report in reports.items()}
    ratings = {one: rating_of(one, report) for one, report in reports.items() if one.writer}
    if options.list:
        print_answers({one: reports[one] for one in ratings}, ratings)
    else:
        print_shares(ratings)
    _print_names("Not refused", (one for one, it in reports.items() if it.outcome == "right"))


if __name__ == "__main__":
    main()
