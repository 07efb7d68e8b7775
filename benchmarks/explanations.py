"""Share of wrong answers that are told what to change: the check's sentences, rated by people.

`tests/natural/` holds natural mistakes, in a folder for each writer and a file for each lesson.
`ratings.yaml` there holds what the check said at once of each, without the line folded below, when
a person rated it: that it names the fault (`told`), names some of it (`partly`), shows numbers or a
raw error alone (`bare`), or leads the learner astray (`misleads`).

`python -m benchmarks.explanations [NAME]` runs the check on every entry and prints the shares. NAME
is a lesson, an exercise or an entry's name, and leaves out the others. `--list` prints each answer,
the sentence a teacher would say, and what the check says. `--update` stores what the check now says,
and drops the ratings of sentences that have changed.
"""

from __future__ import annotations

import argparse
import linecache
import re
import warnings
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import yaml

from attention_lib.checks.calls.timeouts import CALL_SECONDS, OutOfTime, time_limit
from attention_lib.checks.judging import LEARNER, Policy, judge
from attention_lib.checks.verdict import Outcome
from attention_lib.exercises import EXERCISES
from benchmarks.measuring import print_table

CORPUS = Path(__file__).parents[1] / "tests" / "natural"
RATINGS = ("told", "partly", "bare", "misleads")
NUMBER = re.compile(r"[-−]?\d[\d.,]*(e[-+]?\d+)?")
SEED = 0  # of the cases that a learner's answer is tried on

Stored = dict[str, dict[str, str | None]]  # by an entry's name: what was said, and its rating


@dataclass(frozen=True)
class Entry:
    """A wrong answer, as a learner wrote it, and what a teacher would say about it."""

    writer: str
    lesson: str
    number: int  # among the file's entries for this exercise, from 1 on
    exercise: str
    answer: str
    teacher: str
    faults: int = 1
    half: str = "held"

    @property
    def name(self) -> str:
        return f"{self.writer}/{self.lesson}/{self.exercise}/{self.number}"

    def is_named(self, name: str) -> bool:
        return name in (self.lesson, self.exercise, self.name, f"{self.writer}/{self.lesson}")


def entries(corpus: Path = CORPUS, lesson: str = "[0-9][0-9]_*") -> Iterator[Entry]:
    """Yield every entry, or those of a lesson, by writer and lesson in order."""
    for file in sorted(corpus.glob(f"*/{lesson}.yaml")):
        numbers: Counter[str] = Counter()
        for fields in yaml.safe_load(file.read_text(encoding="utf-8")):
            numbers[fields["exercise"]] += 1
            number = numbers[fields["exercise"]]
            yield Entry(file.parent.name, file.stem, number, **fields)


def answer_of(entry: Entry) -> Any:
    """Run an entry's cell and return its answer, or raise what the cell does."""
    source = f"<{entry.name.replace('/', ' ')}>"
    lines = entry.answer.splitlines(keepends=True)
    linecache.cache[source] = (len(entry.answer), None, lines, source)  # for tracebacks and Triton
    namespace: dict[str, Any] = {"__name__": "__main__", "np": np}
    with warnings.catch_warnings(), time_limit(CALL_SECONDS):
        warnings.simplefilter("ignore")
        exec(compile(entry.answer, source, "exec", dont_inherit=True), namespace)
    return namespace[entry.exercise]


def checked(entry: Entry, policy: Policy = LEARNER) -> tuple[Outcome, str]:
    """Return the check's verdict on an entry, and what it says at once."""
    try:
        answer = answer_of(entry)
    except (Exception, OutOfTime) as error:  # a cell that stops, as Jupyter shows it
        return "error", f"{type(error).__name__}: {error}"
    report = judge(EXERCISES[entry.exercise], answer, SEED, policy)
    return report.outcome, report.sentence


def read_ratings(corpus: Path = CORPUS) -> Stored:
    file = corpus / "ratings.yaml"
    return yaml.safe_load(file.read_text(encoding="utf-8")) or {} if file.exists() else {}


def rating_of(entry: Entry, sentence: str, stored: Stored) -> str | None:
    """Return the rating of what the check says; None if that is not what was rated."""
    return stored[entry.name].get("rating") if is_stored(entry, sentence, stored) else None


def is_stored(entry: Entry, sentence: str, stored: Stored) -> bool:
    """Tell whether a sentence is the stored one; numbers may differ, as some are measured."""
    record = stored.get(entry.name)
    return record is not None and _words(record["said"] or "") == _words(sentence)


def _words(sentence: str) -> str:
    return NUMBER.sub("#", sentence)


def updated(sentences: dict[Entry, str], stored: Stored) -> Stored:
    """Return what is to be stored: every sentence now said, with its rating if that still holds."""
    records = {
        entry.name: {"said": sentence, "rating": rating_of(entry, sentence, stored)}
        for entry, sentence in sentences.items()
    }
    return dict(sorted((stored | records).items()))


def write_ratings(stored: Stored, corpus: Path = CORPUS) -> None:
    text = yaml.safe_dump(stored, sort_keys=False, allow_unicode=True, width=100)
    (corpus / "ratings.yaml").write_text(text, encoding="utf-8")


def share_rows(ratings: dict[Entry, str | None]) -> Iterator[list[str]]:
    """Yield a row of counts and the share of `told` for each group of entries."""
    groups = {"lesson": "", "faults": "faults: ", "half": "", "writer": "writer "}
    for field, label in groups.items():
        for value in sorted({getattr(entry, field) for entry in ratings}):
            of_group = [
                rating for entry, rating in ratings.items() if getattr(entry, field) == value
            ]
            yield _share_row(f"{label}{value}", of_group)
    yield _share_row("all", list(ratings.values()))


def _share_row(label: str, ratings: Sequence[str | None]) -> list[str]:
    counts = Counter(ratings)
    rated = len(ratings) - counts[None]
    share = f"{counts['told'] / rated:.0%}" if rated else ""
    numbers = (len(ratings), rated, *(counts[rating] for rating in RATINGS))
    return [label, *map(str, numbers), share]


def print_entries(sentences: dict[Entry, str], ratings: dict[Entry, str | None]) -> None:
    for entry, sentence in sentences.items():
        print(
            f"{entry.name} ({entry.half}, faults: {entry.faults}): {ratings[entry] or 'not rated'}"
        )
        print("    " + entry.answer.rstrip().replace("\n", "\n    "))
        print(f"  teacher: {entry.teacher}")
        print(f"  said:    {sentence}\n", flush=True)


def print_shares(ratings: dict[Entry, str | None]) -> None:
    header = ["", "entries", "rated", *RATINGS, "share told"]
    print_table("Wrong answers that are told what to change.", header, list(share_rows(ratings)))
    _print_names("Not rated", (entry for entry, rating in ratings.items() if rating is None))


def _print_names(title: str, named: Iterable[Entry]) -> None:
    names = [entry.name for entry in named]
    if names:
        print(f"{title}:", *names, sep="\n  ")


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.explanations",
        description="Print the share of natural wrong answers that are told what to change.",
    )
    parser.add_argument(
        "name", nargs="?", help="a lesson, an exercise or an entry, such as 01_softmax"
    )
    parser.add_argument(
        "--list", action="store_true", help="print answers, the teacher's sentences and the check's"
    )
    parser.add_argument(
        "--update", action="store_true", help="store what is said, drop ratings of what changed"
    )
    options = parser.parse_args(arguments)
    chosen = [e for e in entries() if options.name is None or e.is_named(options.name)]
    if not chosen:
        parser.error(f"no lesson, exercise or entry in {CORPUS} is named {options.name}.")
    verdicts = {entry: checked(entry) for entry in chosen}
    sentences = {entry: sentence for entry, (_, sentence) in verdicts.items()}
    stored = read_ratings()
    if options.update:
        stored = updated(sentences, stored)
        write_ratings(stored)
    ratings = {entry: rating_of(entry, sentence, stored) for entry, sentence in sentences.items()}
    if options.list:
        print_entries(sentences, ratings)
    else:
        print_shares(ratings)
    _print_names("Not refused", (e for e, (outcome, _) in verdicts.items() if outcome == "right"))


if __name__ == "__main__":
    main()
