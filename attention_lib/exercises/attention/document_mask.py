"""`document_mask(documents)` lets each position attend to the positions of its own document.

`documents` holds L integers, shape `(L,)`: which document each position belongs to. The result is a
boolean array of shape `(L, L)`: True where query and key are of one document, whichever comes first.
`causal_mask`, joined by `&`, forbids the future.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from attention_lib.checks.calls.case import Answer, Case
from attention_lib.checks.exercise import Exercise, composable, known_mistakes
from attention_lib.exercises.parts.masks import as_float_masks, distances
from attention_lib.lessons.attention import document_mask

HINTS = (
    "documents is [0, 0, 1] for two positions of one text and one of the next. Which of the nine "
    "pairs are of one document?",
    "One comparison does it: of a column, documents[:, None], with the row, documents.",
)


def cases(rng: Generator) -> Iterator[Case]:
    yield Case(np.array([0, 0, 1]))
    yield Case(np.array([0, 0, 0, 1, 1]))
    yield Case(np.array([4, 4, 2, 2, 2, 9]))  # numbers that only tell documents apart
    yield Case(np.array([3]))
    yield Case(np.array([5, 5, 5, 5]))
    yield Case(np.array([-1, -1, 7]))
    yield Case(np.repeat(rng.permutation(6)[:3], rng.integers(1, 5, 3)))
    first, second, third = rng.permutation(np.arange(10, 20))[:3]
    yield Case(np.repeat([first, second, third, first], rng.integers(1, 4, 4)))  # one comes again
    yield Case(rng.integers(0, 3, int(rng.integers(7, 13))))
    yield Case(np.repeat(rng.permutation([-3, 0, 4, 8]), rng.integers(1, 5, 4)))


@composable
def joined(*, same: Answer = document_mask, allowed: Answer = np.isfinite) -> Answer:
    """Make a mask from who shares a document, and the distances that are allowed."""
    return lambda documents: same(documents) & allowed(distances(documents.size))


def numbered(count: Answer) -> Answer:
    """Take the documents' numbers to run from 0 to a count."""
    return lambda given: document_mask(given) & np.isin(given, np.arange(count(given)))


def stretches(documents: NDArray) -> NDArray:
    stretch = np.cumsum(np.diff(documents, prepend=documents[:1]) != 0)
    return stretch[:, None] == stretch


MISTAKES = known_mistakes(
    "causal: The future is forbidden as well: here the document alone decides, before or after. "
    "causal_mask is joined later.",
    joined(allowed=lambda distance: distance >= 0),
    "numbered-from-0: The documents are taken to be numbered 0, 1, 2, ...: their numbers may be any. "
    "Compare the numbers themselves, documents[:, None] == documents.",
    joined(same=numbered(lambda documents: np.unique(documents).size)),
    joined(same=numbered(lambda documents: documents.max() + 1)),
    "inverted: The mask is inverted: True is where query and key are of one document.",
    lambda documents: ~document_mask(documents),
    "neighbors-alone: Only neighbors are compared: each position is compared with every other.",
    joined(allowed=lambda distance: np.abs(distance) <= 1),
    "diagonal-alone: Each position sees itself alone: all positions of its document are allowed.",
    lambda documents: np.eye(documents.size, dtype=bool),
    "diagonal-missing: The diagonal is missing: a position is of its own document.",
    joined(allowed=lambda distance: distance != 0),
    "earlier-documents-allowed: Documents with smaller numbers are allowed as well: the numbers only "
    "tell documents apart, so compare with ==.",
    joined(same=lambda documents: documents[:, None] >= documents),
    joined(same=lambda documents: documents[:, None] <= documents),
    "nothing-forbidden: Nothing is forbidden: keys of other documents must be False.",
    lambda documents: np.ones((documents.size,) * 2, bool),
    "one-row: This is one row: give documents an axis for the queries, documents[:, None].",
    lambda documents: documents == documents[0],
    lambda documents: documents == documents,
    "stretches: Each stretch is taken alone, so a document that comes again counts as a new one: compare "
    "the numbers themselves, documents[:, None] == documents.",
    joined(same=stretches),
    *as_float_masks(document_mask),
)

EXERCISE = Exercise(
    name="document_mask",
    points=1,
    minutes=3,
    reference=document_mask,
    cases=cases,
    hints=HINTS,
    mistakes=MISTAKES,
)
