"""`next_word_loss(scores, tokens)` returns the mean cross-entropy of each row against the next word.

`(..., L, V)` scores and `(..., L)` integers, L ≥ 2 → the mean cross-entropy of row t against word
t + 1, over all rows but each sequence's last, a scalar.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from attention_lib.checks.calls.case import Answer, Case
from attention_lib.checks.exercise import Exercise, composable, known_mistakes
from attention_lib.exercises.parts.magnitudes import logarithms_magnitude
from attention_lib.exercises.parts.softmax import plain_softmax
from attention_lib.lessons.learning import next_word_loss
from attention_lib.lessons.softmax import softmax
from attention_lib.lessons.stability import cross_entropy, log_softmax

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


def followed(scores: NDArray, tokens: NDArray) -> tuple[NDArray, NDArray]:
    """Return the rows that have a next word, and these words."""
    return scores[..., :-1, :], tokens[..., 1:]


@composable
def loss(
    *,
    pair: Callable[[NDArray, NDArray], tuple[NDArray, NDArray]] = followed,
    logs: Callable[[NDArray], NDArray] = log_softmax,
    pick: Callable[[NDArray, NDArray], NDArray] = lambda logs, words: np.take_along_axis(
        logs, words[..., None], -1
    )[..., 0],
    end: Callable[[NDArray, NDArray], Any] = lambda each, tokens: each.mean(),
) -> Answer:
    """Make a loss from parts; a mistake replaces one of them."""

    def answer(scores: NDArray, tokens: NDArray) -> Any:
        rows, words = pair(scores, tokens)
        return end(-pick(logs(rows.astype(float)), words), tokens)

    return answer


def log_of_softmax(rows: NDArray) -> NDArray:
    return np.log(softmax(rows))


def below_one_another(rows: NDArray, words: NDArray) -> tuple[NDArray, NDArray]:
    return rows.reshape(-1, rows.shape[-1]), words.reshape(-1)


def of_any_row(logs: NDArray, words: NDArray) -> NDArray:
    rows, words = below_one_another(logs, words)
    return rows[:, words]


MISTAKES = known_mistakes(
    "own-word: Each row is compared with its own word, which it saw: row t guesses word t + 1.",
    loss(pair=lambda scores, tokens: (scores, tokens)),
    loss(pair=lambda scores, tokens: (scores[..., :-1, :], tokens[..., :-1])),
    loss(pair=lambda scores, tokens: (scores[..., 1:, :], tokens[..., 1:])),
    "wraps-around: The last row is counted, and compared with the first word: it predicts "
    "nothing, so leave it out.",
    loss(pair=lambda scores, tokens: (scores, np.roll(tokens, -1, axis=-1))),
    "across-sequences: With the sequences below one another, the last row of one is compared with "
    "the first word of the next: leave out the last row of each sequence before you reshape.",
    loss(
        pair=lambda scores, tokens: (
            scores.reshape(-1, scores.shape[-1])[:-1],
            tokens.reshape(-1)[1:],
        )
    ),
    "first-axis-cut: The last row is cut off along the first axis, which is the batch where there is "
    "one: scores[..., :-1, :] and tokens[..., 1:] count from the end.",
    lambda scores, tokens: cross_entropy(*below_one_another(scores[:-1], tokens[1:])),
    "word-before: Each row is compared with the word before: row t is a guess at word t + 1.",
    loss(pair=lambda scores, tokens: (scores[..., 1:, :], tokens[..., :-1])),
    "first-row-left-out: The first row is left out as well: row 0 is a guess at word 1 and counts.",
    loss(end=lambda each, tokens: each[..., 1:].mean() if tokens.shape[-1] > 2 else 0.0),
    "divided-by-length: You divide by L in place of L − 1: the last row predicts nothing.",
    loss(end=lambda each, tokens: each.sum() / tokens.size),
    "sum: This is the sum: take the mean over all rows that have a next word.",
    loss(end=lambda each, tokens: each.sum()),
    "sequences-added: The sequences are added up: take the mean over them too.",
    loss(end=lambda each, tokens: each.mean(axis=-1).sum()),
    "words-added: The losses of the words in a sequence are added up: the mean goes over these words and "
    "over the sequences.",
    loss(end=lambda each, tokens: each.sum() / len(tokens)),
    loss(end=lambda each, tokens: each.sum(axis=-1).mean()),
    "every-row-with-every-word: Each row is compared with the words of all rows: index the row as "
    "well, with np.arange(N) beside the words.",
    loss(pick=of_any_row),
    "not-averaged: One loss for each row or sequence is returned: take the mean over all of them.",
    loss(end=lambda each, tokens: each),
    loss(end=lambda each, tokens: each.mean(axis=-1)),
    loss(end=lambda each, tokens: each.mean(axis=0)),
    "sign-reversed: The sign is reversed: the loss is the negative logarithm, never below 0.",
    loss(end=lambda each, tokens: -each.mean()),
    "weight-without-logarithm: This is the mean weight of the next word: take minus its logarithm, "
    "row by row.",
    loss(logs=log_of_softmax, end=lambda each, tokens: np.exp(-each).mean()),
    loss(logs=log_of_softmax, end=lambda each, tokens: 1 - np.exp(-each).mean()),
    "logarithm-of-mean: The logarithm of the mean weight is taken: take the logarithm of each "
    "row's, and then the mean.",
    loss(logs=log_of_softmax, end=lambda each, tokens: -np.log(np.exp(-each).mean())),
    "base-2: The logarithm is that of base 2: use the natural one, np.log.",
    loss(end=lambda each, tokens: each.mean() / np.log(2)),
    "perplexity: This is the perplexity, e to the loss: return the loss.",
    loss(end=lambda each, tokens: np.exp(each.mean())),
    "exp-overflows: exp overflows for large scores, or a weight underflows to 0 and its logarithm "
    "to −inf: use cross_entropy or log_softmax of lesson 02.",
    loss(logs=lambda rows: np.log(plain_softmax(rows))),
    loss(logs=log_of_softmax),
    "softmax-over-wrong-axis: Softmax must run over the words, the last axis of the scores.",
    loss(logs=lambda rows: log_softmax(rows, axis=-2)),
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
