"""`draw_word(scores, temperature, p, u)` draws a word from the scores of all words.

`scores` has shape `(V,)`, temperature > 0, 0 < p ≤ 1 and 0 ≤ u < 1. The result is an integer: of the weights
of scores / temperature, and of these the top p as in `top_p`, the first word, in the vocabulary's order, at
which their running total exceeds u. A word of weight 0 is never drawn, at u = 0 either. No other total lies
within 1e-6 of u.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from attention_lib.checks.calls.case import Case
from attention_lib.checks.exercise import Exercise, known_mistakes
from attention_lib.exercises.model.top_p import plain as top
from attention_lib.lessons.model import draw_word
from attention_lib.lessons.scaling import softmax_with_temperature

HINTS = (
    "Three steps: lib.softmax_with_temperature, your top_p, and then the draw. For the draw lay the "
    "weights end to end on a line from 0 to 1: u lies in the stretch of one word.",
    "np.cumsum gives the ends of the stretches. The word is the first whose end lies beyond u, which is "
    "not the same as at u.",
    'np.argmax(ends > u) is the first True. np.searchsorted(ends, u, side="right") is the same number.',
)


def cases(rng: Generator) -> Iterator[Case]:
    scores = np.log([0.5, 0.125, 0.375])
    yield Case(scores, 1.0, 1.0, 0.3)
    yield Case(scores, 1.0, 1.0, 0.7)
    yield Case(scores, 1.0, 0.8, 0.55)
    yield Case(np.array([0.0, 3.0, 2.0, 1.0]), 1.0, 0.9, 0.0)  # the first word has weight 0
    yield Case(np.array([1.0, 3.0, 2.0]), 0.5, 0.5, 0.999)
    for temperature in (0.3, 0.7, 1.0, 1.6, 3.0):
        for p in (0.4, 0.6, 0.8, 0.95, 1.0):
            yield draw_case(rng, int(rng.integers(5, 12)), temperature, p)
    yield draw_case(rng, 40, 1.2, 0.95)
    yield draw_case(rng, 9, 1.0, 0.9, dtype=np.float32)
    yield draw_case(rng, 7, 0.8, 0.7, far=2000.0)  # scores of thousands
    yield draw_case(rng, 6, 0.01, 1.0)
    yield Case(-rng.permutation(8).astype(float), 1.0, 0.6, 0.0)


def draw_case(
    rng: Generator,
    words: int,
    temperature: float,
    p: float,
    *,
    dtype: type = np.float64,
    far: float = 0.0,
) -> Case:
    """Draw scores and a u that lies close to no running total of the weights kept."""
    while True:
        scores = (far + rng.normal(0.0, 1.5, words)).astype(dtype)
        weights = softmax_with_temperature(scores.astype(float), temperature)
        sums = np.cumsum(np.sort(weights)[::-1])
        u = float(rng.uniform())
        totals = np.cumsum(top(weights, p))
        if np.abs(totals - u).min() > 1e-4 and (p == 1 or np.abs(sums - p).min() > 1e-4):
            return Case(scores, temperature, p, u)


def ones(scores: NDArray, temperature: float, p: float, u: float) -> float:
    """Size the result: numbers of words are exact."""
    return 1.0


def plain(scores, temperature, p, u):
    weights = softmax_with_temperature(scores.astype(float), temperature)
    kept = top(weights, p)
    ends = np.cumsum(kept)
    beyond = ends > u
    return int(np.argmax(beyond))


MISTAKES = known_mistakes(
    plain,
    "at-u: The first word whose end is at u or beyond is taken: at u = 0 that may be a word of weight 0. "
    "Its end must exceed u.",
    "ends > u => ends >= u",
    "largest: The word of the largest weight is taken whatever u is: u decides.",
    "np.argmax(beyond) => np.argmax(kept)",
    "temperature-ignored: The temperature is ignored: divide the scores by it.",
    ", temperature) => , 1.0)",
    "temperature-multiplied: The scores are multiplied by the temperature: divide by it.",
    ", temperature) => , 1.0 / temperature)",
    "p-ignored: p is ignored: only the top p of the weights may be drawn.",
    "top(weights, p) => weights",
    "p-first: The top p are taken of the weights at temperature 1: divide the scores first.",
    "weights = softmax_with_temperature(scores.astype(float), temperature) => "
    "weights = softmax_with_temperature(scores.astype(float), 1.0) && kept = top(weights, p) => kept = "
    "top(weights, p)\n    kept = kept ** (1 / temperature)\n    kept = kept / kept.sum()",
    "not-divided: The weights kept do not sum to 1 when u is looked up: top_p divides by their sum.",
    "kept = top(weights, p) => kept = np.where(top(weights, p) > 0, weights, 0)",
    "by-size: The words are laid out by size: they are in the vocabulary's order, so that the same u "
    "gives the same word.",
    "np.cumsum(kept) => np.cumsum(np.sort(kept)[::-1]) && np.argmax(beyond) => "
    "np.argsort(-kept)[np.argmax(beyond)]",
    "np.cumsum(kept) => np.cumsum(np.sort(kept)) && np.argmax(beyond) => np.argsort(kept)[np.argmax(beyond)]",
    "place-in-order: This is a place among the sorted weights: return the word's number.",
    "np.cumsum(kept) => np.cumsum(np.sort(kept)[::-1])",
    "place-among-kept: This is a place among the words kept: return the word's number in the vocabulary.",
    "ends = np.cumsum(kept) => ends = np.cumsum(kept[kept > 0])",
    "one-too-far: The word after the right one is taken.",
    "np.argmax(beyond) => min(np.argmax(beyond) + 1, len(ends) - 1)",
    "one-too-early: The word before the right one is taken: its stretch ends before u.",
    "np.argmax(beyond) => np.argmax(beyond) - 1",
    "np.argmax(beyond) => max(np.argmax(beyond) - 1, 0)",
    "np.argmax(beyond) => max(np.count_nonzero(~beyond) - 1, 0)",
    "from-the-end: The line is walked from its end: the first word begins at 0.",
    "ends > u => ends > 1 - u",
    "weights-compared: The weights themselves are compared with u: their running total is.",
    "np.cumsum(kept) => kept",
    "weight-returned: This is the word's weight: return its number.",
    "return int(np.argmax(beyond)) => return kept[np.argmax(beyond)]",
)

EXERCISE = Exercise(
    name="draw_word",
    points=2,
    minutes=5,
    reference=draw_word,
    cases=cases,
    magnitude=ones,
    hints=HINTS,
    mistakes=MISTAKES,
    built_on=("top_p",),
)
