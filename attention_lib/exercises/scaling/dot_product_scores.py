"""`dot_product_scores(query, key)` returns the dot product of every query with every key.

`(..., L, d_k)` and `(..., S, d_k)` → `(..., L, S)`.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.random import Generator

from attention_lib.checks.calls.case import Case
from attention_lib.checks.exercise import Exercise, known_mistakes
from attention_lib.exercises.parts.cases import in_float32
from attention_lib.exercises.parts.magnitudes import products_magnitude
from attention_lib.lessons.scaling import dot_product_scores

HINTS = (
    "Entry i, j of the result is (query[i] * key[j]).sum(): row i with row j.",
    "A matrix product takes rows with columns, so the keys must lie as columns: (d_k, S).",
    "key.T reverses all axes. np.swapaxes(key, -1, -2) swaps the last two and leaves the batch "
    "alone.",
)


def cases(rng: Generator) -> Iterator[Case]:
    yield Case(np.array([[1.0, 0.0], [1.0, 2.0], [-1.0, 1.0]]), np.array([[3.0, 1.0], [0.0, 4.0]]))
    yield Case(rng.normal(size=(2, 5)), rng.normal(size=(3, 5)))
    yield Case(rng.normal(size=(5, 2)), rng.normal(size=(7, 2)))
    yield Case(rng.normal(size=(2, 3, 7)), rng.normal(size=(2, 5, 7)))
    yield Case(rng.normal(size=(2, 3, 6, 7)), rng.normal(size=(2, 3, 5, 7)))
    # All sizes equal: here a missing or misplaced transpose gives numbers, not an error.
    yield Case(rng.normal(size=(3, 3, 3)), rng.normal(size=(3, 3, 3)))
    yield Case(*in_float32((rng.normal(size=(5, 3)), rng.normal(size=(2, 3)))))
    yield Case(rng.normal(size=(1, 6)), rng.normal(size=(5, 6)))


def plain(query, key):
    scores = query @ key.mT
    return scores


DISTANCES = "((query[..., :, None, :] - key[..., None, :, :]) ** 2).sum(axis=-1)"

MISTAKES = known_mistakes(
    plain,
    "keys-not-transposed: The keys are not transposed: row i of query meets row j of key, so use "
    "query @ np.swapaxes(key, -1, -2).",
    "key.mT => key",
    "key-t-reverses-batch: key.T reverses the batch dimensions as well: swap the last two axes "
    "only, with key.mT or np.swapaxes(key, -1, -2).",
    "key.mT => key.T",
    "transposed: The result is transposed: queries are its rows and keys its columns, (..., L, S).",
    "query @ key.mT => key @ query.mT",
    "queries-transposed: The queries are transposed: keep them as they are and transpose the keys.",
    "query @ key.mT => query.mT @ key",
    "np-dot: Every batch item of the queries meets every one of the keys: @ keeps each with its own.",
    "query @ key.mT => np.dot(query, key.mT)",
    "entry-by-entry: Queries and keys are multiplied entry by entry: a dot product sums over d_k.",
    "query @ key.mT => query * key",
    "matching-pairs-only: Query i meets key i only: each query needs a dot product with each key.",
    "query @ key.mT => (query * key).sum(axis=-1)",
    "already-scaled: The scores are already divided by √d_k: that is the next exercise. Here they "
    "are plain dot products.",
    "return scores => return scores / math.sqrt(query.shape[-1])",
    "means: These are means over the d_k products: a dot product is their sum.",
    "return scores => return scores / query.shape[-1]",
    "cosines: These are cosines: dot products keep the lengths of the vectors.",
    "query, key): => query, key):\n"
    "    query, key = (x / np.linalg.norm(x, axis=-1, keepdims=True) for x in (query, key))",
    "softmax-weights: These are softmax weights: return the scores themselves.",
    "return scores => return softmax(scores)",
    "distances: These are distances between vectors: a score is their dot product.",
    f"query @ key.mT => {DISTANCES}",
    f"query @ key.mT => -{DISTANCES}",
    f"query @ key.mT => np.sqrt({DISTANCES})",
    "first-item-only: Only the first batch item is scored: leading dimensions must be kept.",
    "query @ key.mT => query[(0,) * (query.ndim - 2)] @ key[(0,) * (key.ndim - 2)].mT",
)

EXERCISE = Exercise(
    name="dot_product_scores",
    points=1,
    minutes=4,
    reference=dot_product_scores,
    cases=cases,
    magnitude=products_magnitude,
    hints=HINTS,
    mistakes=MISTAKES,
)
