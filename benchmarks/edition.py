"""What a students' edition says of right and wrong answers, beside what the full course says.

`python -m benchmarks.edition LESSON` makes an edition in which no lesson up to LESSON is over,
checks every answer of the tests in both, known mistakes and natural ones included, and prints the
shares of equal verdicts and of equal texts. `--only` takes some of the lessons, `--made` an edition
that is there already.
"""

from __future__ import annotations

import argparse
import functools
import json
import os
import re
import shutil
import subprocess
import sys
import sysconfig
import tempfile
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

from benchmarks.measuring import print_table

ROOT = Path(__file__).parents[1]
COPY = "full_attention_lib"  # the full library under a name of its own, for its known mistakes
# Changes of source that are tried, a number and not a time: both try the same. So may one call of a
# changed answer take long: on a busy machine, many do.
TRIALS, TRIAL_SECONDS = 40, 1.0


def verdicts(lessons: Sequence[str], every: int = 1) -> dict[str, tuple[str, str]]:
    """Check each of `every` answers of these lessons in this process: outcome and text by name."""
    from attention_lib.checks.judging import judge
    from attention_lib.checks.panel import as_text
    from attention_lib.checks.source import repairing
    from attention_lib.exercises import EXERCISES

    limits: Any = repairing
    limits.MOST_TRIALS, limits.BUDGET_SECONDS, limits.WALL_SECONDS = TRIALS, 1e9, 1e9
    limits.CALL_SECONDS = limits.LEAST_CALL_SECONDS = TRIAL_SECONDS
    reports = {}
    for number, (name, answer) in enumerate(_answers(lessons)):
        if number % every == 0:
            report = judge(EXERCISES[name.split("/")[0]], answer, 0)
            reports[name] = report.outcome, re.sub(r"0x\w+", "0x", as_text(report))
    return reports


def _answers(lessons: Sequence[str]) -> Iterator[tuple[str, Any]]:
    """Yield the answers of the tests and the known mistakes of the copy, each with a name."""
    import importlib

    from attention_lib.exercises import EXERCISES
    from tests.exercises.answers import answers_of, as_a_learner_writes_it

    full = importlib.import_module(f"{COPY}.exercises").EXERCISES
    for exercise in EXERCISES.values():
        name = exercise.name
        if exercise.lesson not in lessons or exercise.kind == "written":
            continue
        _know_earlier_lessons(exercise.lesson)
        for number, answer in enumerate(answers_of(name, "RIGHT")):
            yield f"{name}/right/{number}", answer
        for what, answer in answers_of(name, "WRONG").items():
            if type(answer).__name__ == "Edited":  # text of a kernel that an edition does not have
                copy = importlib.import_module(f"{COPY}.exercises.parts.kernels")
                answer = copy.Edited(name, *answer._changes).kernel
            yield f"{name}/wrong/{what}", answer
        for number, mistake in enumerate(full[name].mistakes):
            for place, variant in enumerate(mistake.variants):
                yield f"{name}/known/{number}.{place}", as_a_learner_writes_it(variant)
        for entry, answer in _natural(name, exercise.lesson):
            yield f"{name}/natural/{entry}", answer


@functools.cache
def _entries(lesson: str) -> list[Any]:
    from benchmarks.explanations import entries

    return list(entries(lesson=lesson))


def _know_earlier_lessons(lesson: str) -> None:
    """Let the functions of earlier lessons be a learner's own, as after their checks."""
    import importlib

    try:
        own = importlib.import_module("attention_lib.edition.calls").own
    except ImportError:
        return
    lessons = importlib.import_module("attention_lib.lessons")
    own.clear()
    for earlier in lessons.LESSONS[: lessons.LESSONS.index(lesson)]:
        module = importlib.import_module(f"{COPY}.lessons.{lessons.module_of(earlier)}")
        own.update({name: getattr(module, name) for name in module.__all__})
    # Some wrong answers take private parts of the library, which an edition does not have: they get
    # functions of the withheld module, so that the check sees whose they are.
    for given in lessons.LESSONS[: lessons.LESSONS.index(lesson) + 1]:
        name = lessons.module_of(given)
        withheld = importlib.import_module(f"attention_lib.lessons.{name}")
        for part, value in vars(importlib.import_module(f"{COPY}.lessons.{name}")).items():
            if callable(value) and not hasattr(withheld, part):
                vars(withheld)[f"_full_{part}"] = value
                exec(f"def {part}(*args):\n    return _full_{part}(*args)\n", vars(withheld))


def _natural(name: str, lesson: str) -> Iterator[tuple[str, Callable[..., Any]]]:
    from benchmarks.explanations import answer_of

    for entry in _entries(lesson):
        if entry.exercise == name:
            try:
                yield entry.name, answer_of(entry)
            except Exception:  # a cell that stops, before there is an answer to check
                continue


def compared(edition: Path, lessons: Sequence[str], every: int = 1) -> dict[str, list[Any]]:
    """Return for each answer what the full course and the edition say of it."""
    with tempfile.TemporaryDirectory() as folder:
        _copy_library(Path(folder))
        full, other = (
            _verdicts_in([path, ROOT, Path(folder)], lessons, every) for path in (ROOT, edition)
        )
    return {name: [full[name], other.get(name)] for name in full}


def _copy_library(folder: Path) -> None:
    source = ROOT / "attention_lib"
    ignored = shutil.ignore_patterns("grading", "edition", "__pycache__")
    shutil.copytree(source, folder / COPY, ignore=ignored)
    for path in (folder / COPY).rglob("*.py"):
        text = path.read_text(encoding="utf-8")
        path.write_text(re.sub(r"\battention_lib\b", COPY, text), encoding="utf-8")


def isolated(paths: Sequence[Path]) -> tuple[list[str], dict[str, str]]:
    """Return a command and an environment of a Python with modules in these folders, and installed.

    Without the module `site` there is no import finder of an editable install, which would supply
    the modules that a package of the same name lacks.
    """
    installed = [sysconfig.get_path(name) for name in ("purelib", "platlib")]
    path = os.pathsep.join(map(str, [*paths, *installed]))
    environment = {**os.environ, "PYTHONPATH": path, "PYTHONDONTWRITEBYTECODE": "1"}
    return [sys.executable, "-S", "-P"], environment | {"OMP_NUM_THREADS": "1"}


def _verdicts_in(paths: Sequence[Path], lessons: Sequence[str], every: int) -> dict[str, list[str]]:
    python, environment = isolated(paths)
    command = [*python, "-m", "benchmarks.edition", "--verdicts", *lessons]
    result = subprocess.run(
        [*command, "--every", str(every)],
        env=environment,
        stdout=subprocess.PIPE,
        text=True,
        check=True,
        cwd=tempfile.gettempdir(),
    )
    return json.loads(result.stdout.splitlines()[-1])


def print_shares(pairs: dict[str, list[Any]]) -> None:
    """Print for each kind of answer how many verdicts and texts are the same, and which are not."""
    rows = []
    for kind in ("right", "wrong", "known", "natural", ""):
        some = [pair for name, pair in pairs.items() if name.split("/")[1].startswith(kind)]
        outcomes = sum(bool(other) and full[0] == other[0] for full, other in some)
        texts = sum(full == other for full, other in some)
        rows.append([kind or "all", *map(str, (len(some), outcomes, texts))])
    print_table(
        "What an edition says of answers.", ["", "answers", "same verdict", "same text"], rows
    )
    for name, (full, other) in pairs.items():
        if full != other:
            print(f"\n{name}\n  full:    {full[1]}\n  edition: {other and other[1]}")


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.edition", description=__doc__)
    parser.add_argument("lesson", help="the last lesson of the edition")
    parser.add_argument("more", nargs="*", help=argparse.SUPPRESS)
    parser.add_argument("--only", nargs="*", help="the lessons whose answers are checked")
    parser.add_argument("--every", type=int, default=1, help="check one answer of so many")
    parser.add_argument("--made", type=Path, help="an edition that is there already")
    parser.add_argument("--verdicts", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args(arguments)
    if options.verdicts:
        print(json.dumps(verdicts([options.lesson, *options.more], options.every)))
        return
    from attention_lib.lessons import LESSONS

    given = LESSONS[: LESSONS.index(options.lesson) + 1]
    with tempfile.TemporaryDirectory() as folder:
        made = options.made or Path(folder)
        if not options.made:
            from attention_lib.edition.making import make_edition
            from attention_lib.grading.classroom.course import Course

            make_edition(Course(ROOT), options.lesson, dict.fromkeys(given, ""), made)
        print_shares(compared(made.resolve(), options.only or given, options.every))


if __name__ == "__main__":
    main()
