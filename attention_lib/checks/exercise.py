"""Define an exercise: its reference, its cases and its known mistakes."""

from __future__ import annotations

import functools
import inspect
import re
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Any, Literal

import numpy as np

from attention_lib.checks.calls.case import Answer, Case
from attention_lib.checks.patch import ARROW, Patch, patches

Probe = Callable[[Answer, np.random.Generator], str | None]
LESSONS_ON_PRECISION = ("02_stability", "07_flash", "10_gpu")


class OfAnyNumbers(str):
    """A probe's sentence that holds for any numbers that the answer returns."""


@dataclass(frozen=True, eq=False, repr=False)
class Mistake:
    """A known mistake: the sentence for the learner, and wrong answers that make it.

    Parameters
    ----------
    id
        The fault in one to four words. It identifies the mistake in reports across terms.
    sentence
        What the learner reads. It says what the numbers are, and what to change.
    variants
        Wrong answers that make this mistake. An answer whose results equal those of one of them on
        every case has also made it.
    measured
        The numbers are right. A probe of the exercise finds this mistake, with a sentence that
        contains this one.
    topics
        Further aspects of an answer that the sentence is about, such as "changed", a changed input.
    """

    id: str
    sentence: str
    variants: tuple[Any, ...]
    measured: bool = False
    topics: frozenset[str] = frozenset()

    def __repr__(self) -> str:
        """Return only the id: a notebook shows a cell's last value, and the sentence is a spoiler."""
        return f"<Mistake {self.id}>"


Table = tuple[Any, ...]  # a part of a table of mistakes: headings, each followed by its variants


def known_mistakes(
    *table: Any, measured: Collection[str] = (), about: Mapping[str, str] = MappingProxyType({})
) -> tuple[Mistake, ...]:
    """Read a table of mistakes: headings ``"id: sentence"``, each followed by its variants.

    Most variants are patches, written ``"old => new"``, of the function that the table starts with:
    a plain answer, right and written as a learner writes it. The other variants are functions.
    `about` maps ids to a topic.

    Raises
    ------
    ValueError
        If a heading has no id, an id is used twice, or an id in `measured` or `about` has no
        heading.
    """
    plain = table[0] if callable(table[0]) else None
    id, variants, sentences = "", dict[str, list[Any]](), dict[str, str]()
    for entry in table[1:] if plain else table:
        if id and plain and isinstance(entry, str) and ARROW in entry:
            variants[id].extend(patches(plain, entry, id))
        elif id and not isinstance(entry, str):
            is_patch = isinstance(entry, Patch)
            variants[id].append(replace(entry, mistake=id) if is_patch else entry)
        else:
            id, _, sentence = str(entry).partition(": ")
            if not re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*", id) or not sentence:
                raise ValueError(
                    f'Begin "{entry}" with the mistake\'s id, as "last-axis-only: ...", or write a patch '
                    'as "old => new".'
                )
            if id in sentences:
                raise ValueError(f"Two mistakes of one exercise have the id {id}.")
            sentences[id], variants[id] = sentence, []
    for id in (*measured, *about):
        if id not in sentences:
            where = "measured" if id in measured else "about"
            raise ValueError(f"{where} names {id}, which is the id of no mistake above.")
    return tuple(
        Mistake(
            id,
            sentence,
            tuple(variants[id]),
            id in measured,
            frozenset({about[id]} if id in about else ()),
        )
        for id, sentence in sentences.items()
    )


@dataclass(frozen=True, eq=False, repr=False)
class Exercise:
    """One exercise of the course.

    Parameters
    ----------
    name
        The name of the function (or value) that a learner writes, and of its answer cell.
    points, minutes
        Its points in a class, and about how long it takes.
    reference
        For a function, the library's function of the same name; for a value, the value; for
        words, which are graded by hand, None.
    hints
        Sentences, each more explicit than the one before.
    cases
        From a random generator, the calls to try an answer on, readable ones first.
    mistakes
        The known mistakes, in the order in which a wrong answer is compared with them. The first
        one with the answer's results on every case is named, so put the more specific one first.
        Errors must have the same text. If no mistake fits, errors may differ in their text.
    magnitude
        From the arguments of a case, the magnitude of the intermediate numbers that any sensible
        method must form. It has the result's shape or is broadcast to it; a tuple of results has a
        tuple. The tolerance is proportional to it. None: the magnitude of the result itself.
    probes
        Measurements that run once every case is right: functions of the answer and a random
        generator that return None or a sentence. They draw their inputs from the generator. Each
        measured result is compared with the reference.
    signature
        The first line of the answer, if it differs from the reference's.
    tolerance
        For a value: the tolerance of each number. For results with a `verify` function: how close
        two numbers must be to come from the same mistake.
    accelerated
        Whether torch may be used, as in the last lesson. Its fused attention is still forbidden.
    run
        A function of `staging` that wraps an answer that cannot be called on the cases: a kernel,
        for example, has to be launched. For an answer in another process, it runs there.
    run_as
        The first line of that function, as a learner reads it in a report.
    not_by
        Forbidden functions of earlier lessons: they would do all of the answer's work. Each maps to
        the end of a sentence: what the function does already, and what to write instead.
    remarks
        Functions of a right answer that return None or a sentence: what it should still do
        differently. They do not affect the points.
    built_on
        The names of earlier exercises of the lesson that an answer may call. If one of them has
        failed, the grader reruns the answer with the model answer for that exercise.
    rubric
        For words: pairs of points and a sentence that says what they are given for. The points add
        up to `points`. The marker sees it with the model answer.
    """

    name: str
    points: int
    minutes: int
    reference: Any = None
    hints: tuple[str, ...] = ()
    cases: Callable[[np.random.Generator], Iterable[Case]] = lambda rng: (Case(),)
    mistakes: tuple[Mistake, ...] = ()
    magnitude: Callable[..., Any] | None = None
    probes: tuple[Probe, ...] = ()
    signature: str = ""
    tolerance: float = 0.0
    accelerated: bool = False
    run: Callable[[Any], Answer] | None = None
    run_as: str = ""
    not_by: Mapping[Callable[..., Any], str] = field(default_factory=dict)
    remarks: tuple[Callable[[Answer], str | None], ...] = ()
    built_on: tuple[str, ...] = ()
    rubric: tuple[tuple[float, str], ...] = ()
    lesson: str = ""

    def __post_init__(self) -> None:
        for name in ("hints", "mistakes", "probes", "remarks", "built_on", "rubric"):
            if not isinstance(getattr(self, name), tuple):
                raise TypeError(
                    f"{self.name}: {name} must be a tuple; one of a single entry ends in a comma."
                )

    def __repr__(self) -> str:
        """Return only the name, without hints, mistakes and rubric."""
        return f"<Exercise {self.name}>"

    @property
    def kind(self) -> Literal["function", "value", "written"]:
        if self.reference is None:
            return "written"
        return "function" if callable(self.reference) else "value"

    @property
    def dtype_decides(self) -> bool:
        """Whether a wider dtype than asked for makes a result wrong; if not, it only gets a remark."""
        return self.lesson in LESSONS_ON_PRECISION

    @property
    def first_line(self) -> str:
        """The first line of an answer: ``def softmax(scores, axis=-1)``."""
        if self.signature:
            return f"def {self.signature}"
        parameters = [
            parameter.replace(annotation=inspect.Parameter.empty)
            for parameter in inspect.signature(self.reference).parameters.values()
        ]
        return f"def {self.name}{inspect.Signature(parameters)}"

    def on_cases(self, answer: Any) -> Answer:
        """Return the function that is called on the cases: the answer, or `run` applied to it."""
        return self.run(answer) if self.run else answer

    @property
    def name_on_cases(self) -> str:
        """The name of the function that is called on the cases, as a report shows it."""
        return self.run_as.partition("(")[0].removeprefix("def ") or self.name

    @functools.cached_property
    def parameters(self) -> tuple[str, ...]:
        """The names of a case's arguments."""
        return tuple(inspect.signature(self.on_cases(self.reference)).parameters)

    def arguments_of(self, case: Case) -> dict[str, Any]:
        """Return the arguments of a case by name."""
        return dict(zip(self.parameters, case.args, strict=False)) | case.kwargs
