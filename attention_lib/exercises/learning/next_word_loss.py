"""`next_word_loss(scores, tokens)` returns the mean cross-entropy of each row against the next word.

`(..., L, V)` scores and `(..., L)` integers, L ≥ 2 → the mean cross-entropy of row t against word
t + 1, over all rows but each sequence's last, a scalar.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from attention_lib.checks.calls.case import Case
from attention_lib.checks.exercise import Exercise, known_mistakes
from attention_lib.exercises.parts.magnitudes import logarithms_magnitude
from attention_lib.exercises.parts.softmax import plain_softmax
from attention_lib.lessons.learning import next_word_loss
from attention_lib.lessons.softmax import softmax
from attention_lib.lessons.stability import log_softmax

HINTS = (
    "Row 0 of the scores is a guess at word 1, row 1 at word 2. What is the last row a guess at?",
    "scores[..., :-1, :] are the rows that have a next word; tokens[..., 1:] are these words.",
    "Lesson 02's cross_entropy takes (N, C) scores and (N,) targets: put all sequences below one "
    "another with rows.reshape(-1, V) and words.reshape(-1).",
)


def cases(rng: Generator) -> Iterator[Case]:
    yield Case(np.array([[0.0, np.log(3.0)], [7.0, -7.0]]), np.array([0, 1]))
    yield Case(np.array([[[2, 0, 1], [0, 1, 0], [3, 3, 0]]]), np.array([[1, 0, 2]]))
    yield Case(rng.normal(0.0, 2.0, (3, 3)), np.array([1, 2, 0]))  # square
    yield drawn(rng, (5,), 4)
    yield drawn(rng, (3, 3), 3)
    yield drawn(rng, (2, 6), 5)
    yield drawn(rng, (2, 6), 5)  # the same shapes, other numbers
    yield drawn(rng, (4, 2), 3)
    yield drawn(rng, (2, 3, 4), 7)
    scores, tokens = drawn(rng, (3, 5), 6).args
    yield Case(scores.astype(np.float32), tokens)
    scores, tokens = drawn(rng, (2, 4), 3).args
    yield Case(3000 * scores, tokens)  # far beyond what exp can take


def drawn(rng: Generator, shape: tuple[int, ...], words: int) -> Case:
    return Case(rng.normal(0.0, 2.0, (*shape, words)), rng.integers(words, size=shape))


def magnitude(scores: NDArray, tokens: NDArray) -> NDArray:
    return np.asarray(logarithms_magnitude(scores.astype(float)).mean())


def losses(scores: NDArray, tokens: NDArray) -> NDArray:
    """Return each row's cross-entropy against a word."""
    return -np.take_along_axis(log_softmax(scores), tokens[..., None], -1)[..., 0]


def each(scores: NDArray, tokens: NDArray) -> NDArray:
    """Return the loss of each row but the last."""
    return losses(scores[..., :-1, :], tokens[..., 1:])


def probability(weigh: object = softmax) -> object:
    """Return a function for the weight that each row but the last gives to the next word."""

    def weights(scores: NDArray, tokens: NDArray) -> NDArray:
        rows = weigh(scores[..., :-1, :].astype(float))
        return np.take_along_axis(rows, tokens[..., 1:, None], -1)[..., 0]

    return weights


MISTAKES = known_mistakes(
    "own-word: Each row is compared with its own word, which it saw: row t guesses word t + 1.",
    lambda scores, tokens: losses(scores, tokens).mean(),
    lambda scores, tokens: losses(scores[..., :-1, :], tokens[..., :-1]).mean(),
    lambda scores, tokens: losses(scores[..., 1:, :], tokens[..., 1:]).mean(),
    "wraps-around: The last row is counted, and compared with the first word: it predicts "
    "nothing, so leave it out.",
    lambda scores, tokens: losses(scores, np.roll(tokens, -1, axis=-1)).mean(),
    "across-sequences: With the sequences below one another, the last row of one is compared with "
    "the first word of the next: leave out the last row of each sequence before you reshape.",
    lambda scores, tokens: losses(
        scores.reshape(-1, scores.shape[-1])[:-1], tokens.reshape(-1)[1:]
    ).mean(),
    "word-before: Each row is compared with the word before: row t is a guess at word t + 1.",
    lambda scores, tokens: losses(scores[..., 1:, :], tokens[..., :-1]).mean(),
    "first-row-left-out: The first row is left out as well: row 0 is a guess at word 1 and counts.",
    lambda scores, tokens: each(scores, tokens)[..., 1:].mean() if tokens.shape[-1] > 2 else 0.0,
    "divided-by-length: You divide by L in place of L − 1: the last row predicts nothing.",
    lambda scores, tokens: each(scores, tokens).sum() / tokens.size,
    "sum: This is the sum: take the mean over all rows that have a next word.",
    lambda scores, tokens: each(scores, tokens).sum(),
    "sequences-added: The sequences are added up: take the mean over them too.",
    lambda scores, tokens: each(scores, tokens).mean(axis=-1).sum(),
    lambda scores, tokens: each(scores, tokens).sum() / len(tokens),
    lambda scores, tokens: each(scores, tokens).sum(axis=-1).mean(),
    "not-averaged: One loss for each row or sequence is returned: take the mean over all of them.",
    each,
    lambda scores, tokens: each(scores, tokens).mean(axis=-1),
    lambda scores, tokens: each(scores, tokens).mean(axis=0),
    "sign-reversed: The sign is reversed: the loss is the negative logarithm, never below 0.",
    lambda scores, tokens: -each(scores, tokens).mean(),
    "weight-without-logarithm: This is the mean weight of the next word: take minus its logarithm, "
    "row by row.",
    lambda scores, tokens: probability()(scores, tokens).mean(),
    lambda scores, tokens: 1 - probability()(scores, tokens).mean(),
    "logarithm-of-mean: The logarithm of the mean weight is taken: take the logarithm of each "
    "row's, and then the mean.",
    lambda scores, tokens: -np.log(probability()(scores, tokens).mean()),
    "base-2: The logarithm is that of base 2: use the natural one, np.log.",
    lambda scores, tokens: each(scores, tokens).mean() / np.log(2),
    "perplexity: This is the perplexity, e to the loss: return the loss.",
    lambda scores, tokens: np.exp(each(scores, tokens).mean()),
    "exp-overflows: exp overflows for large scores, or a weight underflows to 0 and its logarithm "
    "to −inf: use cross_entropy or log_softmax of lesson 02.",
    lambda scores, tokens: -np.log(probability(plain_softmax)(scores, tokens)).mean(),
    lambda scores, tokens: -np.log(probability()(scores, tokens)).mean(),
    "softmax-over-wrong-axis: Softmax must run over the words, the last axis of the scores.",
    lambda scores, tokens: (
        -np.take_along_axis(
            log_softmax(scores[..., :-1, :], axis=-2), tokens[..., 1:, None], -1
        ).mean()
    ),
)

EXERCISE = Exercise(
    name="next_word_loss",
    points=2,
    minutes=7,
    reference=next_word_loss,
    cases=cases,
    magnitude=magnitude,
    hints=HINTS,
    mistakes=MISTAKES,
)
