"""`induction_score(weights, tokens)` returns how much weight goes to the places after earlier equal words.

`(L, L)` weights of causal attention, `(L,)` integers → over the positions i whose word stood at
some j < i: the mean of the weight that row i gives to the places j + 1 together (i itself
included, where a word stands twice in a row), a number; 0 where no word repeats.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from attention_lib.checks.calls.case import Case
from attention_lib.checks.exercise import Exercise, known_mistakes
from attention_lib.lessons.learning import induction_score
from attention_lib.lessons.softmax import softmax

HINTS = (
    "Go through the places i. For each, find the earlier places j < i with tokens[j] == tokens[i].",
    "If there are any, row i counts, with the sum of weights[i, j + 1] over them.",
    "In the end take the mean over the rows that count, and 0 if there are none.",
)


def cases(rng: Generator) -> Iterator[Case]:
    weights = np.array([[1.0, 0.0, 0.0], [0.5, 0.5, 0.0], [0.125, 0.75, 0.125]])
    yield Case(weights, np.array([4, 9, 4]))
    yield Case(weights, np.array([4, 9, 7]))  # nothing repeats
    yield Case(weights, np.array([5, 2, 2]))  # twice in a row: place 2 itself counts
    yield Case(drawn(rng, 4), np.array([0, 0, 0, 0]))
    yield Case(drawn(rng, 6), np.array([0, 1, 2, 0, 1, 2]))
    yield Case(drawn(rng, 9), np.array([0, 1, 2, 0, 1, 2, 0, 1, 2]))  # two earlier places
    yield Case(drawn(rng, 8), rng.integers(3, size=8))
    yield Case(drawn(rng, 5), rng.permutation(9)[:5])  # nothing repeats
    yield Case(drawn(rng, 12), rng.integers(7, size=12))
    yield Case(drawn(rng, 7).astype(np.float32), np.array([30, 11, 30, 30, 5, 11, 2]))
    yield Case(np.array([[1, 0, 0], [0, 1, 0], [0, 1, 0]]), np.array([3, 3, 8]))
    yield Case(np.array([[1.0]]), np.array([2]))


def drawn(rng: Generator, length: int) -> NDArray:
    scores = rng.normal(0.0, 1.5, (length, length))
    return softmax(np.where(np.tri(length), scores, -1e30))


def magnitude(weights: NDArray, tokens: NDArray) -> NDArray:
    return np.asarray(1.0)


def plain(weights, tokens):
    found = []
    for i in range(len(tokens)):
        earlier = [j for j in range(i) if tokens[j] == tokens[i]]
        places = [j + 1 for j in earlier]
        if earlier:
            found.append(weights[i, places].sum())
    return float(np.mean(found)) if found else 0.0


MISTAKES = known_mistakes(
    plain,
    "place-of-word: This is the weight on the earlier places of the word itself: the place after "
    "each of them counts, j + 1.",
    "j + 1 => j",
    "place-before: These are the places before the earlier ones: the place after counts, j + 1.",
    "j + 1 for j in earlier => j - 1 for j in earlier if j > 0",
    "j + 1 => j - 1",
    "latest-only: Only the latest earlier place counts here: add the weights of all places j + 1.",
    "in earlier] => in earlier[-1:]]",
    "first-only: Only the word's first place counts here: add the weights of all places j + 1.",
    "in earlier] => in earlier[:1]]",
    "largest-weight: The largest of the weights on the places j + 1 is taken: add them up.",
    ".sum() => .max(initial=0.0)",
    "mean-within-row: Within a row the mean over the places j + 1 is taken: add their weights up, "
    "and take the mean over the rows.",
    ".sum() => .mean() if places else 0.0",
    "mean-over-pairs: The mean is taken over the pairs of a place and an earlier one: add up "
    "within each row, then take the mean over the rows.",
    "append(weights[i, places].sum()) => extend(weights[i, places])",
    "mean-over-all: The mean is taken over all L places: divide by the number of places whose "
    "word stood before.",
    "np.mean(found) => sum(found) / len(tokens)",
    "word-twice-in-row: Where a word stands twice in a row, the place after the earlier one is i "
    "itself, and it counts.",
    "in earlier] => in earlier if j + 1 < i]",
    "range(i) => range(i - 1)",
    "later-places: Later places of the word are counted too: j runs over the places before i.",
    "range(i) if => range(len(tokens)) if j != i and"
    " && weights[i, places] => weights[i, [k for k in places if k < len(tokens)]]",
    "transposed: Rows and columns are exchanged: weights[i, j] is what place i gives to place j.",
    "tokens): => tokens):\n    weights = weights.T",
    "nan-without-repeats: Where no word repeats, there is nothing to take a mean of, and the "
    "score is 0: ask before you divide.",
    " if found else 0.0 => ",
    "0.0 => None",
    "summed-over-rows: Weights are added up over the rows: take the mean over those that count.",
    "np.mean => np.sum",
    "row-before: The place before each row is scored: row i asks for its own word, tokens[i].",
    "range(i) if tokens[j] == tokens[i] => range(i - 1) if tokens[j] == tokens[i - 1]",
)


EXERCISE = Exercise(
    name="induction_score",
    points=2,
    minutes=7,
    reference=induction_score,
    cases=cases,
    magnitude=magnitude,
    hints=HINTS,
    mistakes=MISTAKES,
)
