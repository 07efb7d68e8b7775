"""What an exercise is: its reference, the cases it is tried on, and the mistakes known for it."""

from __future__ import annotations

import functools
import inspect
import re
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np

from attention_lib.checks.calls.case import Answer, Case

Probe = Callable[[Answer, np.random.Generator], str | None]
LESSONS_ON_PRECISION = ("02_stability", "07_flash", "09_gpu")


@dataclass(frozen=True, eq=False)
class Mistake:
    """A mistake known from learners: the sentence that helps, and answers that make it.

    Parameters
    ----------
    id
        The fault in one to four words, by which reports of several terms know the mistake.
    sentence
        What the learner reads. It says what the numbers are, and what to change.
    variants
        Wrong answers that make this mistake. An answer that gives the numbers of any of them,
        on every case, has made it too.
    measured
        The numbers are right; one of the exercise's probes catches this mistake, with a
        sentence that contains this one.
    """

    id: str
    sentence: str
    variants: tuple[Any, ...]
    measured: bool = False


Table = tuple[Any, ...]  # part of a table of mistakes: headings, and variants below each


def known_mistakes(*table: Any, measured: Collection[str] = ()) -> tuple[Mistake, ...]:
    """Read a table of mistakes: headings ``"id: sentence"``, below each the variants that make it.

    Raises
    ------
    ValueError
        A heading has no id, two have the same, or `measured` names none of them.
    """
    variants: dict[str, list[Any]] = {}
    sentences: dict[str, str] = {}
    for entry in table:
        if not isinstance(entry, str):
            variants[list(variants)[-1]].append(entry)
            continue
        id, _, sentence = entry.partition(": ")
        if not re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*", id) or not sentence:
            raise ValueError(f'Begin "{entry}" with the mistake\'s id, as "last-axis-only: ...".')
        if id in sentences:
            raise ValueError(f"Two mistakes of one exercise have the id {id}.")
        sentences[id], variants[id] = sentence, []
    for id in measured:
        if id not in sentences:
            raise ValueError(f"measured names {id}, which is the id of no mistake above.")
    return tuple(
        Mistake(id, sentence, tuple(variants[id]), id in measured)
        for id, sentence in sentences.items()
    )


def composable(make: Callable[..., Answer]) -> Callable[..., Answer]:
    """Let two mistakes that a maker makes from different parts be made as one answer, too."""
    signature = inspect.signature(make)

    @functools.wraps(make)
    def made(*args: Any, **named: Any) -> Answer:
        answer: Any = make(*args, **named)
        parts = dict(signature.bind(*args, **named).arguments)
        for name, parameter in signature.parameters.items():
            if parameter.kind is parameter.VAR_KEYWORD:
                parts |= parts.pop(name, {})
        answer.composed = made, parts
        return answer

    return made


@dataclass(frozen=True, eq=False)
class Exercise:
    """One exercise of the course; equal to itself alone.

    Parameters
    ----------
    name
        The name of the function (or value) a learner writes, and of its answer cell.
    points, minutes
        What it counts in a class, and how long it takes about.
    reference
        For a function, the library's function of the same name; for a value, the value; for
        words, None: those are graded by hand.
    hints
        Sentences that help a little more each.
    cases
        Given a random generator, the calls an answer is tried on: readable ones first.
    mistakes
        The mistakes known for this exercise, in the order in which they are tried on a wrong
        answer. The first one with a variant that gives the answer's results on every case, errors
        included with the same words, is named, and later ones are not looked at: put the more exact
        mistake first. If none does, the first one whose errors differ only in their words is named.
    magnitude
        Given the arguments of a case, the size of the numbers any sensible way must form,
        one for each entry of the result (or broadcast to it; a tuple for a tuple). Rounding
        is allowed in proportion to it. None: the size of the result itself.
    probes
        Functions of the answer and a random generator that return None or a sentence: what is
        measured, once every case is right. They draw sizes and numbers, and each result of a
        measured call is compared with the reference.
    signature
        The first line of the answer, where it is not that of the reference.
    tolerance
        For a value: how far from the reference each number may be. For results that are
        verified: how close two numbers must be to come from the same mistake.
    accelerated
        torch is part of the lesson (the last one), and not a way round it; its fused attention
        is.
    run
        Makes the function that is called on the cases out of an answer which cannot be called
        by itself, or not on these arguments: a kernel that only runs inside a launch. A function
        of `staging`, which does so in another process for an answer that lives there.
    run_as
        The first line of that function, as a learner reads it in a report.
    not_by
        Functions of earlier lessons that would do the whole of an answer's work, and may not. To
        each belongs the end of the sentence that says so: what it does already, and what is asked
        for instead.
    remarks
        Functions of the answer that return None or a sentence, for an answer that is right: what
        it should do otherwise all the same. They decide no point.
    built_on
        The names of earlier exercises of the lesson that an answer may call. Where one of them
        fails as well, the grader tries the answer once more with the model answer in its place.
    rubric
        For words: what the points are given for, as pairs of points and a sentence. They add up to
        `points`. The marker reads it beside the model answer.
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

    @property
    def kind(self) -> Literal["function", "value", "written"]:
        if self.reference is None:
            return "written"
        return "function" if callable(self.reference) else "value"

    @property
    def dtype_decides(self) -> bool:
        """Whether a result in a wider dtype than asked for is wrong, and not only remarked on."""
        return self.lesson in LESSONS_ON_PRECISION

    @property
    def first_line(self) -> str:
        """The line an answer starts with: ``def softmax(scores, axis=-1)``."""
        if self.signature:
            return f"def {self.signature}"
        parameters = [
            parameter.replace(annotation=inspect.Parameter.empty)
            for parameter in inspect.signature(self.reference).parameters.values()
        ]
        return f"def {self.name}{inspect.Signature(parameters)}"

    def on_cases(self, answer: Any) -> Answer:
        """Return the function that is called on the cases: the answer, or what runs it."""
        return self.run(answer) if self.run else answer

    @property
    def name_on_cases(self) -> str:
        """The name of that function, as a learner reads it in a report."""
        return self.run_as.partition("(")[0].removeprefix("def ") or self.name

    @functools.cached_property
    def parameters(self) -> tuple[str, ...]:
        """The names of that function's parameters, and so of a case's arguments."""
        return tuple(inspect.signature(self.on_cases(self.reference)).parameters)

    def arguments_of(self, case: Case) -> dict[str, Any]:
        """Return the arguments of a case by their names."""
        return dict(zip(self.parameters, case.args, strict=False)) | case.kwargs
