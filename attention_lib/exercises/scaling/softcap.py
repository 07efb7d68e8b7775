"""`softcap(scores, cap)` returns `cap · tanh(scores / cap)`.

Scores of any shape and any finite size; the same shape comes back.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from attention_lib.checks.calls.case import Case
from attention_lib.checks.exercise import Exercise, known_mistakes
from attention_lib.lessons.scaling import softcap

HINTS = ("np.tanh holds any number between -1 and 1. Divide by cap before it, multiply after it.",)


def cases(rng: Generator) -> Iterator[Case]:
    yield Case(np.array([1.0, 50.0, -1000.0, 0.0]), 50.0)
    yield Case(np.array([[3, -7, 0], [100, 25, -2]]), 20)
    yield Case(np.array([0.02, -0.004, 0.4, 300.0, -500.0]), 50.0)  # tanh near 0 and near ±1
    yield Case(rng.normal(0.0, 3.0, (2, 5)), 2.5)
    yield Case(rng.normal(0.0, 60.0, (2, 3, 7)), cap=30.0)
    yield Case(rng.normal(0.0, 0.3, (3, 6)), 0.5)
    yield Case(rng.normal(0.0, 9.0, (5, 2)).astype(np.float32), 15.0)
    yield Case(np.array([-8e307, 5e4, -2e5, 8e307]), 3.0)
    yield Case(np.array([-1.6e38, 2e4, 1.6e38], np.float32), 50.0)


def magnitude(scores: NDArray, cap: float) -> NDArray:
    return np.full(np.shape(scores), float(cap))


def tanh_by_exponentials(x: NDArray) -> NDArray:
    return (np.exp(x) - np.exp(-x)) / (np.exp(x) + np.exp(-x))


MISTAKES = known_mistakes(
    "clipped: The scores are cut off at the cap: tanh bends them toward it and keeps their order.",
    lambda scores, cap: np.clip(scores, -cap, cap),
    lambda scores, cap: np.minimum(scores, cap),
    "cap-missing-after: The result is not multiplied by cap after tanh: it stays between -1 and 1.",
    lambda scores, cap: np.tanh(scores / cap),
    "cap-missing-before: The scores are not divided by cap before tanh.",
    lambda scores, cap: cap * np.tanh(scores),
    "multiplied-before: The scores are multiplied by cap before tanh: divide them by it.",
    lambda scores, cap: cap * np.tanh(scores * cap),
    lambda scores, cap: np.tanh(scores * cap) / cap,
    "cap-missing: This is tanh of the scores: divide by cap before it and multiply by cap after "
    "it.",
    lambda scores, cap: np.tanh(scores),
    "scores-times-tanh: tanh multiplies the scores instead of cap: the bound is gone.",
    lambda scores, cap: scores * np.tanh(scores / cap),
    "exp-overflows: exp overflows for large scores: np.tanh does not.",
    lambda scores, cap: cap * tanh_by_exponentials(scores / cap),
    "rational: This is cap · x / (1 + |x|): another curve with the same bound. Use np.tanh.",
    lambda scores, cap: cap * (scores / cap) / (1 + np.abs(scores / cap)),
    "arctan: This is arctan: use np.tanh, the hyperbolic tangent.",
    lambda scores, cap: cap * np.arctan(scores / cap),
    "sigmoid: This is a sigmoid, between 0 and cap: tanh lies between -1 and 1 and keeps the sign.",
    lambda scores, cap: cap / (1 + np.exp(-scores / cap)),
)

EXERCISE = Exercise(
    name="softcap",
    points=1,
    minutes=4,
    reference=softcap,
    cases=cases,
    magnitude=magnitude,
    hints=HINTS,
    mistakes=MISTAKES,
)
