"""`copying_score(embedding, w_v, w_o, unembedding)` returns the share of words that a head would copy.

`(V, D)`, `(D, d_v)`, `(d_v, D)`, `(D, V)` → the share of the V words whose own entry is the largest in
their row of `embedding w_v w_o unembedding`, a number: what a head passes on, read from the matrices
without data. No two entries of a row are equal.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.random import Generator

from attention_lib.checks.calls.case import Case
from attention_lib.checks.exercise import Exercise, known_mistakes
from attention_lib.lessons.learning import copying_score

HINTS = (
    "Row i of embedding @ w_v @ w_o @ unembedding, (V, V), says what attending to word i adds to the "
    "score of each word.",
    "np.argmax(..., axis=1) finds the word whose score rises most. It should be i itself, as "
    "np.arange(V) has it.",
    "The mean of booleans is the share of those that are True.",
)


def cases(rng: Generator) -> Iterator[Case]:
    words = np.array([[1.0, 0.0], [0.0, 1.0]])
    yield Case(words, np.eye(2), np.array([[1.0, 0.0], [2.0, 1.0]]), words.T)
    yield Case(words, np.eye(2), np.array([[0.0, 1.0], [1.0, 0.0]]), words.T)
    yield Case(words, np.eye(2), np.array([[-1.0, -2.0], [-3.0, -1.0]]), words.T)  # all below 0
    yield Case(
        np.array([[1, 0], [-1, 3], [0, 3]]),
        np.array([[2], [1]]),
        np.array([[1, 2]]),
        np.array([[3, 0, 1], [0, 5, 2]]),
    )
    yield drawn(rng, 5, 5, 5)  # square: here a lost transpose gives numbers
    yield drawn(rng, 12, 4, 3)
    yield drawn(rng, 11, 6, 5, copying=3.0)
    yield drawn(rng, 9, 7, 4, copying=1.0)
    yield drawn(rng, 30, 16, 9, copying=2.0)
    yield drawn(rng, 14, 6, 8, copying=-2.0)
    yield drawn(rng, 21, 8, 5, copying=0.3)
    yield drawn(rng, 26, 6, 4, copying=0.2)
    yield Case(*(a.astype(np.float32) for a in drawn(rng, 10, 5, 4, copying=1.0).args))
    yield Case(*drawn(rng, 1, 3, 2).args)


def drawn(rng: Generator, words: int, size: int, d_v: int, copying: float = 0.0) -> Case:
    """Draw matrices, of which some pass a word on; no two entries of a row are nearly equal."""
    while True:
        embedding, w_v = rng.normal(size=(words, size)), rng.normal(size=(size, d_v))
        w_o = rng.normal(size=(d_v, size)) + copying * w_v.T
        unembedding = rng.normal(size=(size, words)) + copying * embedding.T
        circuit = embedding @ w_v @ w_o @ unembedding
        largest = np.sort(circuit, axis=1)[:, -2:]
        if words == 1 or np.diff(largest, axis=1).min() > 1e-2:
            return Case(embedding, w_v, w_o, unembedding)


def plain(embedding, w_v, w_o, unembedding):
    circuit = embedding @ w_v @ w_o @ unembedding
    best = np.argmax(circuit, axis=1)
    copied = best == np.arange(len(best))
    return float(np.mean(copied))


MISTAKES = known_mistakes(
    plain,
    "columns: The largest entry of each column of embedding @ w_v @ w_o @ unembedding is looked for: row i "
    "of it, and not of its transpose, says what attending to word i adds.",
    "axis=1 => axis=0",
    "smallest: The smallest entry of each row is looked for: the word that is copied has the largest.",
    "argmax => argmin",
    "positive-diagonal: Words whose own entry is positive are counted: it must be the largest of its row.",
    "best = np.argmax(circuit, axis=1)\n    copied = best == np.arange(len(best)) => "
    "copied = np.diag(circuit) > 0",
    "count: This is how many words are copied: divide by V, or take the mean.",
    "float(np.mean => int(np.sum",
    "list-of-booleans: This says of each word whether it is copied: take the mean, one number.",
    "float(np.mean(copied)) => copied",
    "not-copied: This is the share of the words that are not copied.",
    "(copied) => (~copied)",
    "mean-of-diagonal: This is the mean of words' own entries: ask if each is its row's largest.",
    "np.mean(copied) => {np.mean(np.diag(circuit))|np.trace(circuit)}",
    "head-left-out: The head is left out: embedding @ w_v @ w_o @ unembedding, with w_v and w_o.",
    "@ w_v @ w_o @ => @",
    "residual-added: The words' own vectors are added: what the head passes on is the product of the "
    "four matrices alone.",
    "embedding @ w_v @ w_o => (embedding + embedding @ w_v @ w_o)",
    "matrices-exchanged: w_v and w_o are taken from the wrong side: embedding @ w_v @ w_o @ unembedding.",
    "@ w_v @ w_o @ => @ w_o.T @ w_v.T @",
    "embedding-twice: The embedding is used in place of the unembedding: the scores of words come from "
    "unembedding.",
    "@ unembedding => @ embedding.T",
    "unembedding-twice: The unembedding is used in place of the embedding: words go in by embedding.",
    "circuit = embedding => circuit = unembedding.T",
    "circuit-returned: This is the matrix of all scores: return the share of the words that are copied.",
    "float(np.mean(copied)) => circuit",
)


EXERCISE = Exercise(
    name="copying_score",
    points=2,
    minutes=5,
    reference=copying_score,
    cases=cases,
    magnitude=lambda *matrices: np.asarray(1.0),
    hints=HINTS,
    mistakes=MISTAKES,
)
