"""`document_mask(documents)` lets each position attend to the positions of its own document.

`documents` holds L integers, shape `(L,)`: which document each position belongs to. The result is a
boolean array of shape `(L, L)`: True where query and key are of one document, whichever comes first.
`causal_mask`, joined by `&`, forbids the future.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.random import Generator

from attention_lib.checks.calls.case import Case
from attention_lib.checks.exercise import Exercise, known_mistakes
from attention_lib.exercises.parts.masks import FLOAT_MASK
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


def plain(documents):
    key = np.arange(documents.size)
    query = key[:, None]
    allowed = documents[query] == documents[key]
    return allowed


SAME = "documents[query] == documents[key]"

MISTAKES = known_mistakes(
    plain,
    "causal: The future is forbidden as well: here only the document decides, before or after. "
    "causal_mask is joined later.",
    "return allowed => return allowed & (key <= query)",
    "numbered-from-0: The documents are taken to be numbered 0, 1, 2, ...: their numbers may be any. "
    "Compare the numbers themselves, documents[:, None] == documents.",
    f"{SAME} => ({SAME}) & np.isin(documents, np.arange({{np.unique(documents).size|documents.max() + 1}}))",
    "inverted: The mask is inverted: True is where query and key are of one document.",
    "== => !=",
    "neighbors-alone: Only neighbors are compared: each position is compared with every other.",
    "return allowed => return allowed & (np.abs(query - key) <= 1)",
    "diagonal-alone: Each position sees only itself: all positions of its document are allowed.",
    f"{SAME} => query == key",
    "diagonal-missing: The diagonal is missing: a position is of its own document.",
    "return allowed => return allowed & (query != key)",
    "earlier-documents-allowed: Documents with smaller numbers are allowed as well: the numbers only "
    "tell documents apart, so compare with ==.",
    "== => {>=|<=}",
    "nothing-forbidden: Nothing is forbidden: keys of other documents must be False.",
    f"{SAME} => np.isfinite(query - key)",
    "one-row: This is one row: give documents an axis for the queries, documents[:, None].",
    "documents[query] => {documents[0]|documents}",
    "stretches: Each stretch is compared only with itself, so a document that comes again counts as a new one: "
    "compare the numbers themselves, documents[:, None] == documents.",
    f"allowed = {SAME} => stretch = np.cumsum(np.diff(documents, prepend=documents[:1]) != 0)\n"
    "    allowed = stretch[query] == stretch[key]",
    *FLOAT_MASK,
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
