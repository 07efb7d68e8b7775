"""`embed(tokens, embedding, positions)` returns each word's vector plus its place's.

`(..., L)` integers, `(V, D)`, `(T, D)` with T ≥ L → `(..., L, D)`.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from attention_lib.checks.calls.case import Answer, Case
from attention_lib.checks.exercise import Exercise, composable, known_mistakes
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
    yield Case(np.array([2, 0]), embedding, np.array([[0.0, 0.5], [0.25, 0.0], [9.0, 9.0]]))
    yield Case(rng.integers(3, size=3), rng.normal(size=(3, 3)), rng.normal(size=(3, 3)))
    yield Case(rng.integers(7, size=5), rng.normal(size=(7, 3)), rng.normal(size=(6, 3)))
    yield Case(rng.integers(7, size=5), rng.normal(size=(7, 3)), rng.normal(size=(6, 3)))  # again
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


@composable
def looked_up(
    words: Answer = lambda tokens, embedding: embedding[tokens],
    places: Answer = lambda tokens, positions: positions[: tokens.shape[-1]],
    join: Answer = np.add,
) -> Answer:
    """Look up words and places, with a step replaced by a wrong one."""
    return lambda tokens, embedding, positions: join(
        words(tokens, embedding), places(tokens, positions)
    )


MISTAKES = known_mistakes(
    "places-missing: The places are missing: add positions[:L] to the words' vectors.",
    looked_up(join=lambda words, places: words),
    "words-missing: The words are missing: embedding[tokens] looks up a vector for each of them.",
    looked_up(words=lambda tokens, embedding: np.zeros_like(embedding)[tokens]),
    lambda tokens, embedding, positions: positions[: tokens.shape[-1]],
    "places-by-word: The places are looked up by the number of the word: place 0 has row 0 of "
    "positions, whatever word stands there.",
    looked_up(places=lambda tokens, positions: positions[tokens]),
    looked_up(places=lambda tokens, positions: positions[np.minimum(tokens, len(positions) - 1)]),
    "all-places-added: All rows of positions are added: take as many as there are words, "
    "positions[:L], with L the last size of tokens.",
    looked_up(places=lambda tokens, positions: positions),
    "first-size-taken: The first size of tokens is taken for the number of places: that is the last, "
    "tokens.shape[-1].",
    looked_up(places=lambda tokens, positions: positions[: len(tokens)]),
    "last-rows: The last rows of positions are added: place 0 has row 0.",
    looked_up(places=lambda tokens, positions: positions[-tokens.shape[-1] :]),
    "places-from-one: The places are counted from 1: place 0 has row 0 of positions.",
    looked_up(places=lambda tokens, positions: positions[1 : tokens.shape[-1] + 1]),
    "places-run-on: The places run on from one sequence to the next: each begins at place 0.",
    looked_up(
        places=lambda tokens, positions: positions[
            np.arange(tokens.size).reshape(tokens.shape) % len(positions)
        ]
    ),
    "multiplied-by-root: The words' vectors are multiplied by √D: here they are taken as they are.",
    looked_up(words=lambda tokens, embedding: embedding[tokens] * math.sqrt(embedding.shape[-1])),
    "side-by-side: Word and place are put side by side: add them.",
    looked_up(
        join=lambda words, places: np.concatenate(
            [words, np.broadcast_to(places, words.shape)], axis=-1
        )
    ),
)

EXERCISE = Exercise(
    name="embed",
    points=1,
    minutes=4,
    reference=embed,
    cases=cases,
    magnitude=magnitude,
    hints=HINTS,
    mistakes=MISTAKES,
)
