"""Judge a failed answer again with the library's functions in place of wrong ones it is built on."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from typing import Any

from attention_lib.checks.calls.watching import unwatched
from attention_lib.checks.exercise import Exercise
from attention_lib.checks.judging import Policy, judge
from attention_lib.exercises import EXERCISES

UNEXPLAINED = Policy(is_own=True, explains=False)


def right_with_ours(exercise: Exercise, answer: Any, seed: int) -> str:
    """Return a sentence on which of the learner's other functions makes the answer fail, or ""."""
    names = getattr(answer, "__globals__", {})
    wrong = [one for one in exercise.built_on if _is_wrong(one, names, seed)]
    for some in [*([one] for one in wrong), wrong]:
        own = {one: names[one] for one in some}
        try:
            names.update({one: _ours(one) for one in some})
            if some and judge(exercise, answer, seed, UNEXPLAINED).outcome == "right":
                which = " and ".join(some)
                return f"Right with our {which} in place of yours: the fault is in your {which}."
        finally:
            names.update(own)
    return ""


def _is_wrong(name: str, names: Mapping[str, Any], seed: int) -> bool:
    """Tell whether a name is a function of the learner's that fails its own check."""
    exercise, own = EXERCISES[name], names.get(name)
    if not callable(own) or own is exercise.reference:
        return False
    return judge(exercise, own, seed, UNEXPLAINED).outcome in ("wrong", "error")


def _ours(name: str) -> Callable[..., Any]:
    """Return the library's function, as no forbidden call of the answer's."""

    @functools.wraps(EXERCISES[name].reference)
    def ours(*args: Any, **kwargs: Any) -> Any:
        with unwatched():
            return EXERCISES[name].reference(*args, **kwargs)

    return ours
