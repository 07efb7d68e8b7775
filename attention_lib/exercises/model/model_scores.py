"""`model_scores(tokens, model, caches=None)` scores every word as the next one.

`tokens` `(L,)` holds integers, the newest words. `model` is a dict: `embedding` `(V, D)`, `blocks` (a list
of the dicts that `decoder_block` takes), `gain` `(D,)`, `num_heads`, `num_groups`, `base`. x begins as the
tokens' rows of the embedding and goes through all blocks in order. The result is a pair `(scores, caches)`:
`rms_norm(x, gain) @ embedding.T`, of shape `(L, V)`, and one cache for each block. `caches` is None at
first, later what the last call returned; it is not changed. Positions go on where the caches end, so a
text in pieces gives what it gives at once. The answer uses its own `decoder_block` and `rms_norm`, or
writes them out.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from attention_lib.checks.calls.case import Case
from attention_lib.checks.exercise import Exercise, known_mistakes
from attention_lib.exercises.model.decoder_block import draw_cache, draw_weights
from attention_lib.exercises.model.decoder_block import plain as block
from attention_lib.exercises.model.rms_norm import plain as normalized
from attention_lib.lessons.model import model_scores

HINTS = (
    'embedding[tokens] looks up a row for each token. Let it go through model["blocks"], one after the '
    "other, and keep the cache that each returns in a list.",
    "caches[i] belongs to block i. A cache's keys have shape (G, t, d): how many words have been read "
    "stands in it, and the new positions go on from there.",
    "start = 0 if caches is None else caches[0][0].shape[-2]; the positions are "
    "np.arange(start, start + len(tokens)).",
)


def cases(rng: Generator) -> Iterator[Case]:
    yield draw_model(rng, 3, 5, 4, 1, (2, 1))
    yield draw_model(rng, 4, 9, 8, 2, (4, 2))
    yield draw_model(rng, 2, 7, 8, 3, (2, 1), cached=4)
    yield draw_model(rng, 1, 11, 8, 2, (4, 1), cached=6)
    yield draw_model(rng, 5, 6, 12, 2, (3, 3), base=float(rng.uniform(100.0, 900.0)))
    yield draw_model(rng, 3, 8, 8, 2, (2, 2), cached=3, base=500.0)  # as many words as components
    yield draw_model(rng, 4, 12, 8, 3, (4, 2), cached=5, dtype=np.float32)


def draw_model(
    rng: Generator,
    length: int,
    words: int,
    width: int,
    count: int,
    heads: tuple[int, int],
    *,
    cached: int = 0,
    base: float = 10000.0,
    dtype: Any = np.float64,
) -> Case:
    """Draw a small model, and the newest words of a text."""

    def small(array: NDArray) -> NDArray:
        return array.astype(dtype)

    blocks = [draw_weights(rng, width, width + 1, heads) for _ in range(count)]
    model = {
        "embedding": small(rng.normal(size=(words, width))),
        "blocks": [{name: small(array) for name, array in one.items()} for one in blocks],
        "gain": small(rng.uniform(0.5, 2.0, width)),
        "num_heads": heads[0],
        "num_groups": heads[1],
        "base": base,
    }
    tokens = rng.integers(0, words, length)
    if not cached:
        return Case(tokens, model)
    caches = [draw_cache(rng, (), cached, width, heads) for _ in range(count)]
    return Case(tokens, model, tuple(tuple(map(small, cache)) for cache in caches))


def magnitude(tokens, model, caches=None):
    """Size scores and caches by the largest of them, times what rounding grows by in the blocks."""
    scores, after = model_scores(tokens, model, caches)
    grown = 300.0 * 4.0 ** len(model["blocks"])
    return grown * (1 + np.abs(scores).max()) * np.ones_like(scores), tuple(
        tuple(grown * (1 + np.abs(part).max()) * np.ones_like(part) for part in cache)
        for cache in after
    )


def plain(tokens, model, caches=None):
    embedding, blocks = model["embedding"], model["blocks"]
    start = 0 if caches is None else caches[0][0].shape[-2]
    positions = np.arange(len(tokens)) + start
    heads = model["num_heads"], model["num_groups"]
    x, after = embedding[tokens], []
    for i in range(len(blocks)):
        before = None if caches is None else caches[i]
        x, cache = block(x, blocks[i], *heads, positions, before, model["base"])
        after.append(cache)
    x = normalized(x, model["gain"])
    scores = x @ embedding.T
    return scores, after


MISTAKES = known_mistakes(
    plain,
    "last-norm-missing: The last normalization is missing: rms_norm(x, gain) comes before the scores.",
    'x = normalized(x, model["gain"]) => pass',
    "gain-missing: The gain of the last normalization is missing.",
    'x = normalized(x, model["gain"]) => x = normalized(x, np.ones_like(model["gain"]))',
    "normalized-first: The words are normalized before the first block: x begins as rows of the "
    "embedding, as they are.",
    'x, after = embedding[tokens], [] => x, after = normalized(embedding[tokens], model["gain"]), []',
    'x, after = embedding[tokens], [] => x, after = normalized(embedding[tokens], model["gain"]), [] && '
    'x = normalized(x, model["gain"]) => pass',
    "positions-restart: The positions begin at 0 with every call: they go on where the caches end.",
    "+ start => ",
    "one-position-off: The positions begin one place too far: with t words in the caches, the first new "
    "one stands at t.",
    "+ start => + start + 1",
    "+ start => + max(start - 1, 0)",
    "caches-unused: The caches are not handed on: each block needs its own.",
    "before = None if caches is None else caches[i] => before = None",
    "first-cache-for-all: All blocks are given the first cache: each has its own.",
    "else caches[i] => else caches[0]",
    "caches-in-reverse: The blocks get the caches from the end: block i has caches[i].",
    "else caches[i] => else caches[-1 - i]",
    "one-cache-for-all: One cache goes from block to block: each keeps its own.",
    "before = None if caches is None else caches[i] => before = caches[i] if not i and caches else "
    "None if not i else cache",
    "blocks-in-reverse: The blocks come in reverse: the first in the list is the first.",
    "x, cache = block(x, blocks[i] => x, cache = block(x, blocks[-1 - i]",
    "first-block-again: The first block is used each time: block i is blocks[i].",
    "block(x, blocks[i] => block(x, blocks[0]",
    "one-block: Only the first block is used: x goes through all of them.",
    "range(len(blocks)) => range(1)",
    "all-from-the-embedding: Every block reads the embedding: each reads what the one before returned.",
    "block(x, blocks[i] => block(embedding[tokens], blocks[i]",
    "base-not-handed-on: The model's base is not handed on to the blocks.",
    ', model["base"]) => )',
    "last-row-only: Only the scores of the last word are returned: return those after every new word, "
    "(L, V).",
    "return scores, after => return scores[-1], after",
    "return scores, after => return scores[-1:], after",
    "softmax: Softmax is taken of the scores: return the scores themselves.",
    "return scores, after => return np.exp(scores) / np.exp(scores).sum(-1, keepdims=True), after",
    "embedding-scaled: The rows of the embedding are multiplied by √D, as some models do: here they "
    "stay as they are.",
    "x, after = embedding[tokens], [] => x, after = embedding[tokens] * "
    "np.sqrt(embedding.shape[1]), []",
    "vectors-returned: These are the vectors after the last block: multiply them by embedding.T.",
    "scores = x @ embedding.T => scores = x",
    "caches-not-returned: The caches are not returned: return (scores, caches).",
    "return scores, after => return scores",
    "caches-unchanged: The caches are returned unchanged: return those that the blocks returned.",
    "return scores, after => return scores, caches",
    "last-cache-only: Only the last block's cache is returned: return one for each block.",
    "return scores, after => return scores, cache",
    "return scores, after => return scores, [cache]",
    "caches-first: The caches come first: return (scores, caches).",
    "return scores, after => return after, scores",
)

EXERCISE = Exercise(
    name="model_scores",
    points=3,
    minutes=7,
    reference=model_scores,
    cases=cases,
    magnitude=magnitude,
    hints=HINTS,
    mistakes=MISTAKES,
    built_on=("rms_norm", "gated_feed_forward", "decoder_block"),
)
