"""`embed(tokens, embedding, positions)` returns each word's vector plus its place's.

`(..., L)` integers, `(V, D)`, `(T, D)` with T ≥ L → `(..., L, D)`.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from attention_lib.checks.calls.case import Case
from attention_lib.checks.exercise import Exercise, known_mistakes
from attention_lib.exercises.parts.cases import in_float32
from attention_lib.lessons.learning import embed

HINTS = (
    "embedding[tokens] looks up a row of embedding for each number in tokens, whatever the shape "
    "of tokens.",
    "Place 0 has row 0 of positions. tokens.shape[-1] says how many places there are; positions "
    "may have more rows.",
)


def cases(rng: Generator) -> Iterator[Case]:
    embedding = np.array([[1.0, 0.0], [0.0, 1.0], [5.0, 5.0]])
    # Two places more than words: their last rows are not those from 1 on.
    positions = np.array([[0.0, 0.5], [0.25, 0.0], [9.0, 9.0], [7.0, 6.0]])
    yield Case(np.array([2, 0]), embedding, positions)
    yield Case(rng.integers(3, size=3), rng.normal(size=(3, 3)), rng.normal(size=(3, 3)))
    yield Case(rng.integers(7, size=5), rng.normal(size=(7, 3)), rng.normal(size=(8, 3)))
    yield Case(rng.integers(7, size=5), rng.normal(size=(7, 3)), rng.normal(size=(8, 3)))  # again
    yield Case(rng.integers(5, size=(4, 6)), rng.normal(size=(5, 2)), rng.normal(size=(9, 2)))
    yield Case(rng.integers(5, size=(3, 3)), rng.normal(size=(5, 4)), rng.normal(size=(3, 4)))
    yield Case(rng.integers(8, size=(2, 3, 4)), rng.normal(size=(8, 5)), rng.normal(size=(4, 5)))
    yield Case(
        rng.integers(6, size=(2, 5)),
        *in_float32((rng.normal(size=(6, 3)), rng.normal(size=(7, 3)))),
    )
    yield Case(rng.integers(4, size=(3, 1)), rng.normal(size=(4, 2)), rng.normal(size=(5, 2)))


def magnitude(tokens: NDArray, embedding: NDArray, positions: NDArray) -> NDArray:
    return embed(tokens, np.abs(embedding), np.abs(positions))


def plain(tokens, embedding, positions):
    words = embedding[tokens]
    places = positions[: tokens.shape[-1]]
    return words + places


MISTAKES = known_mistakes(
    plain,
    "places-missing: The places are missing: add positions[:L] to the words' vectors.",
    " + places => ",
    "words-missing: The words are missing: embedding[tokens] looks up a vector for each of them.",
    "= embedding[tokens] => = np.zeros_like(embedding)[tokens]",
    "words + places => places",
    "places-by-word: The places are looked up by the number of the word: place 0 has row 0 of "
    "positions, whatever word stands there.",
    "positions[: tokens.shape[-1]] => positions[tokens]",
    "positions[: tokens.shape[-1]] => positions[np.minimum(tokens, len(positions) - 1)]",
    "all-places-added: All rows of positions are added: take as many as there are words, "
    "positions[:L], with L the last size of tokens.",
    "[: tokens.shape[-1]] => ",
    "first-size-taken: The first size of tokens is used as the number of places: that is the last, "
    "tokens.shape[-1].",
    "tokens.shape[-1] => len(tokens)",
    "last-rows: The last rows of positions are added: place 0 has row 0.",
    "[: tokens.shape[-1]] => [-tokens.shape[-1] :]",
    "places-from-one: The places are counted from 1: place 0 has row 0 of positions.",
    "[: tokens.shape[-1]] => [1 : tokens.shape[-1] + 1]",
    "places-run-on: The places run on from one sequence to the next: each begins at place 0.",
    "[: tokens.shape[-1]] => [np.arange(tokens.size).reshape(tokens.shape) % len(positions)]",
    "multiplied-by-root: The words' vectors are multiplied by √D: here they are taken as they are.",
    "embedding[tokens] => embedding[tokens] * math.sqrt(embedding.shape[-1])",
    "side-by-side: Word and place are put side by side: add them.",
    "words + places => np.concatenate([words, np.broadcast_to(places, words.shape)], axis=-1)",
)


EXERCISE = Exercise(
    name="embed",
    points=1,
    minutes=3,
    reference=embed,
    cases=cases,
    magnitude=magnitude,
    hints=HINTS,
    mistakes=MISTAKES,
)
