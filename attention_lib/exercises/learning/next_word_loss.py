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
from attention_lib.lessons.learning import next_word_loss
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


def plain(scores, tokens):
    rows, words = scores[..., :-1, :], tokens[..., 1:]
    logs = log_softmax(rows)
    each = -np.take_along_axis(logs, words[..., None], axis=-1)[..., 0]
    loss = each.mean()
    return loss


def first_axis_cut(scores, tokens):
    rows, words = scores[:-1], tokens[1:]
    return cross_entropy(rows.reshape(-1, rows.shape[-1]), words.reshape(-1))


def shifted_twice(scores, tokens):
    rows, words = scores[..., :-2, :], tokens[..., 2:]
    return cross_entropy(rows.reshape(-1, rows.shape[-1]), words.reshape(-1))


PAIR = "scores[..., :-1, :], tokens[..., 1:]"

MISTAKES = known_mistakes(
    plain,
    "own-word: Each row is compared with its own word, which it saw: row t guesses word t + 1.",
    f"{PAIR} => scores, tokens",
    "tokens[..., 1:] => tokens[..., :-1]",
    "scores[..., :-1, :] => scores[..., 1:, :]",
    "shifted-twice: The rows and the words are shifted twice: row t is compared with word t + 2 or "
    "later, or a sequence of two words has nothing left. Leave out the last row, and the first word, once.",
    f"{PAIR} => scores[..., :-2, :], tokens[..., 2:]",
    shifted_twice,
    "wraps-around: The last row is counted, and compared with the first word: it predicts "
    "nothing, so leave it out.",
    f"{PAIR} => scores, np.roll(tokens, -1, axis=-1)",
    "across-sequences: With the sequences below one another, the last row of one is compared with "
    "the first word of the next: leave out the last row of each sequence before you reshape.",
    f"{PAIR} => scores.reshape(-1, scores.shape[-1])[:-1], tokens.reshape(-1)[1:]",
    "first-axis-cut: The last row is cut off along the first axis, which is the batch where there is "
    "one: scores[..., :-1, :] and tokens[..., 1:] count from the end.",
    first_axis_cut,
    "word-before: Each row is compared with the word before: row t is a guess at word t + 1.",
    f"{PAIR} => scores[..., 1:, :], tokens[..., :-1]",
    "first-row-left-out: The first row is left out as well: row 0 is a guess at word 1 and counts.",
    "each.mean() => each[..., 1:].mean() if tokens.shape[-1] > 2 else 0.0",
    "divided-by-length: You divide by L in place of L − 1: the last row predicts nothing.",
    "each.mean() => each.sum() / tokens.size",
    "sum: This is the sum: take the mean over all rows that have a next word.",
    "mean => sum",
    "sequences-added: The sequences are added up: take the mean over them too.",
    "mean() => mean(axis=-1).sum()",
    "words-added: The losses of the words in a sequence are added up: the mean goes over these words and "
    "over the sequences.",
    "each.mean() => each.sum() / len(tokens)",
    "mean() => sum(axis=-1).mean()",
    "every-row-with-every-word: Each row is compared with the words of all rows: index the row as "
    "well, with np.arange(N) beside the words.",
    "np.take_along_axis(logs, words[..., None], axis=-1)[..., 0] => "
    "logs.reshape(-1, logs.shape[-1])[:, words.reshape(-1)]",
    "not-averaged: One loss for each row or sequence is returned: take the mean over all of them.",
    "each.mean() => each",
    "mean() => mean(axis={-1|0})",
    "sign-reversed: The sign is reversed: the loss is the negative logarithm, never below 0.",
    "each = - => each =",
    "weight-without-logarithm: This is the mean weight of the next word: take minus its logarithm, "
    "row by row.",
    "each.mean() => {np.exp(-each).mean()|1 - np.exp(-each).mean()}",
    "logarithm-of-mean: The logarithm of the mean weight is taken: take the logarithm of each "
    "row's, and then the mean.",
    "each.mean() => -np.log(np.exp(-each).mean())",
    "base-2: The logarithm is that of base 2: use the natural one, np.log.",
    "return loss => return loss / np.log(2)",
    "perplexity: This is the perplexity, e to the loss: return the loss.",
    "return loss => return np.exp(loss)",
    "exp-overflows: exp overflows for large scores, or a weight underflows to 0 and its logarithm "
    "to −inf: use cross_entropy or log_softmax of lesson 02.",
    "log_softmax(rows) => np.log(np.exp(rows) / np.exp(rows).sum(axis=-1, keepdims=True))",
    "log_softmax(rows) => np.log(softmax(rows))",
    "softmax-over-wrong-axis: Softmax must run over the words, the last axis of the scores.",
    "(rows) => (rows, axis=-2)",
)


EXERCISE = Exercise(
    name="next_word_loss",
    points=2,
    minutes=6,
    reference=next_word_loss,
    cases=cases,
    magnitude=magnitude,
    hints=HINTS,
    mistakes=MISTAKES,
)
