"""`copying_score(embedding, w_v, w_o, unembedding)` returns the share of words that a head would copy.

`(V, D)`, `(D, d_v)`, `(d_v, D)`, `(D, V)` → the share of the V words whose own entry is the largest in
their row of `embedding w_v w_o unembedding`, a number: what a head passes on, read from the matrices
without data. No two entries of a row are equal.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from attention_lib.checks.calls.case import Answer, Case
from attention_lib.checks.exercise import Exercise, composable, known_mistakes
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


@composable
def share(
    circuit: Answer = lambda e, v, o, u: e @ v @ o @ u,
    copied: Answer = lambda circuit: own(circuit.argmax(axis=1)),
    end: Answer = lambda found: float(np.mean(found)),
) -> Answer:
    """Take the share of the words that are copied, with a step replaced by a wrong one."""
    return lambda *matrices: end(copied(circuit(*matrices)))


def of_circuit(measure: Callable[[NDArray], Any]) -> Answer:
    """Measure the product of the four matrices."""
    return lambda embedding, w_v, w_o, unembedding: measure(embedding @ w_v @ w_o @ unembedding)


def own(best: NDArray) -> NDArray:
    return best == np.arange(best.size)


MISTAKES = known_mistakes(
    "columns: The largest entry of each column of embedding @ w_v @ w_o @ unembedding is looked for: row i "
    "of it, and not of its transpose, says what attending to word i adds.",
    share(copied=lambda circuit: own(circuit.argmax(axis=0))),
    "smallest: The smallest entry of each row is looked for: the word that is copied has the largest.",
    share(copied=lambda circuit: own(circuit.argmin(axis=1))),
    "positive-diagonal: Words whose own entry is positive are counted: it must be the largest of its row.",
    share(copied=lambda circuit: np.diag(circuit) > 0),
    "count: This is how many words are copied: divide by V, or take the mean.",
    share(end=lambda found: int(found.sum())),
    "list-of-booleans: This says of each word whether it is copied: take the mean, one number.",
    share(end=np.array),
    "not-copied: This is the share of the words that are not copied.",
    share(end=lambda found: 1 - float(np.mean(found))),
    "mean-of-diagonal: This is the mean of words' own entries: ask if each is its row's largest.",
    of_circuit(lambda circuit: float(np.diag(circuit).mean())),
    of_circuit(lambda circuit: float(np.trace(circuit))),
    "head-left-out: The head is left out: embedding @ w_v @ w_o @ unembedding, with w_v and w_o.",
    share(circuit=lambda e, v, o, u: e @ u),
    "residual-added: The words' own vectors are added: what the head passes on is the product of the "
    "four matrices alone.",
    share(circuit=lambda e, v, o, u: (e + e @ v @ o) @ u),
    "matrices-exchanged: w_v and w_o are taken from the wrong side: embedding @ w_v @ w_o @ unembedding.",
    share(circuit=lambda e, v, o, u: e @ o.T @ v.T @ u),
    "embedding-twice: The embedding is used in place of the unembedding: the scores of words come from "
    "unembedding.",
    share(circuit=lambda e, v, o, u: e @ v @ o @ e.T),
    "unembedding-twice: The unembedding is used in place of the embedding: words go in by embedding.",
    share(circuit=lambda e, v, o, u: u.T @ v @ o @ u),
    "circuit-returned: This is the matrix of all scores: return the share of the words that are copied.",
    of_circuit(lambda circuit: circuit),
)

EXERCISE = Exercise(
    name="copying_score",
    points=2,
    minutes=6,
    reference=copying_score,
    cases=cases,
    magnitude=lambda *matrices: np.asarray(1.0),
    hints=HINTS,
    mistakes=MISTAKES,
)
