"""`decode_step(query, key, value, cache=None)` attends from one new token to all tokens so far.

`query` and `key` have shape `(..., 1, d)`, `value` `(..., 1, d_v)`. `cache` is None in the first
step, later the pair `(keys, values)` that the last step returned. The result is a pair
`(output, cache)`: the output, `(..., 1, d_v)`, of attention with the scale 1/√d, and the keys,
`(..., t, d)`, and values, `(..., t, d_v)`, of all t steps so far, this one included and last. The
cache passed in is not changed. A loop of steps, each with the cache of the step before, equals causal
attention, also where two such loops take turns. Whether a cache of integers stays one is left open.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from attention_lib.checks.calls.case import Answer, Case
from attention_lib.checks.exercise import Exercise, known_mistakes
from attention_lib.exercises.parts.attention import attention_magnitude
from attention_lib.exercises.parts.cases import in_float32
from attention_lib.exercises.parts.heads import OWN_CACHE
from attention_lib.lessons.attention import attention, causal_mask
from attention_lib.lessons.multihead import decode_step
from attention_lib.lessons.softmax import softmax

Cache = tuple[NDArray, NDArray]

HINTS = (
    "Put the new key below the cached keys, and the new value below the cached values: "
    "np.concatenate along the axis of steps. Which axis is that, whatever the batch?",
    "With cache=None there is nothing to put them below: the keys so far are key itself.",
    "The new word may attend to all steps so far and to itself. What is left for a causal mask "
    "to forbid?",
    "Return output, (keys, values): the longer arrays. np.concatenate makes new ones, so the "
    "cache passed in stays as it was.",
)


def cases(rng: Generator) -> Iterator[Case]:
    yield Case(np.array([[1.0, 0.0]]), np.array([[2.0, 1.0]]), np.array([[3.0]]))
    yield Case(
        np.array([[2.0, 0.0]]),
        np.array([[0.0, 1.0]]),
        np.array([[5.0]]),
        (np.array([[1.0, 0.0], [2.0, 2.0]]), np.array([[1.0], [3.0]])),
    )
    yield draw_token(rng, (), None, 3, 5)
    yield draw_token(rng, (2,), None, 5, 2)
    yield draw_token(rng, (), 1, 3, 2)
    yield draw_token(rng, (), 4, 3, 5)
    yield draw_token(rng, (2,), 1, 5, 6)
    yield draw_token(rng, (3,), 3, 3, 3)  # square: here a wrong axis fits as well
    yield draw_token(rng, (2, 3), 5, 6, 2)
    query, key, value, cache = draw_token(rng, (2,), 4, 3, 6).args
    yield Case(query, key, value, cache=cache)
    yield Case(*in_float32((query, key, value)), tuple(in_float32(cache)))
    yield Case(*in_float32((query, key, value)))
    yield Case(1e3 * query, key, value, cache)
    integers = [rng.integers(-2, 3, (1, size)) for size in (3, 3, 2)]
    earlier = tuple(rng.integers(-2, 3, (4, size)) for size in (3, 2))
    right, (keys, values) = decode_step(*integers, earlier)
    yield Case(*integers, earlier, verify=functools.partial(equals_floats, right, keys, values))


def equals_floats(right: NDArray, keys: NDArray, values: NDArray, result: Any) -> str | None:
    """Judge a step of whole numbers; whether the cache stays whole is left to the answer."""
    try:
        output, cache = result
        fits = (
            np.asarray(output).dtype == np.float64
            and np.shape(output) == right.shape
            and np.allclose(output, right, rtol=1e-11, atol=1e-11)
            and all(map(np.array_equal, cache, (keys, values)))
            and len(cache) == 2
        )
    except (TypeError, ValueError):
        fits = False
    return None if fits else "For integers decode_step should give what it gives for floats."


def draw_token(
    rng: Generator, leading: tuple[int, ...], steps: int | None, size: int, value_size: int
) -> Case:
    """Draw one step after `steps` earlier ones; None: the first, without a cache."""
    new = tuple(rng.normal(size=(*leading, 1, width)) for width in (size, size, value_size))
    if steps is None:
        return Case(*new)
    cache = tuple(rng.normal(size=(*leading, steps, width)) for width in (size, value_size))
    return Case(*new, cache)


def magnitude(
    query: NDArray, key: NDArray, value: NDArray, cache: Cache | None = None
) -> tuple[NDArray, Cache]:
    _, (keys, values) = decode_step(query, key, value, cache)
    return attention_magnitude(query, keys, values)[0], (np.abs(keys), np.abs(values))


STEPS = 6
LOOP_DIFFERS = (
    "Called in a loop, each step with the cache the one before returned, it does not equal causal "
    "attention: take the earlier steps from the cache passed in, and from nowhere else."
)
CACHE_CHANGES = (
    "The cache passed in is changed by a later step: leave it as it is and return a new one."
)


def differs_in_a_loop(answer: Answer, rng: Generator) -> str | None:
    """Decode two pairs of sentences in turns, and hold both to causal attention."""
    texts = [[rng.normal(size=(2, STEPS, size)) for size in (5, 5, 3)] for _ in range(2)]
    right = [attention(*text, causal_mask(STEPS))[0] for text in texts]
    caches: list[Any] = [None, None]
    for step in range(STEPS):
        for number, text in enumerate(texts):
            before = caches[number]
            copies = None if before is None else [part.copy() for part in before]
            token = (part[:, step : step + 1].copy() for part in text)
            output, caches[number] = answer(*token, before)
            if copies is not None and not all(map(np.array_equal, before, copies)):
                return CACHE_CHANGES
            if not np.allclose(output, right[number][:, step : step + 1], rtol=1e-9, atol=1e-9):
                return LOOP_DIFFERS
    for (_, *keys_and_values), cache in zip(texts, caches, strict=True):
        if not all(map(np.array_equal, cache, keys_and_values)):
            return LOOP_DIFFERS
    return None


def plain(query, key, value, cache=None):
    keys, values = key, value
    if cache is not None:
        keys = np.concatenate([cache[0], key], axis=-2)
        values = np.concatenate([cache[1], value], axis=-2)
    seen = keys, values
    scale = 1 / math.sqrt(query.shape[-1])
    scores = query @ seen[0].mT * scale
    weights = softmax(scores)
    output = weights @ seen[1]
    stored = keys, values
    return output, stored


SEEN, STORED = "seen = keys, values => seen =", "stored = keys, values => stored ="

MISTAKES = known_mistakes(
    plain,
    "cache-unused: The cache is not used: the new token attends to the cached keys and values too.",
    f"{SEEN} key, value",
    f"{SEEN} key, value && {STORED} key, value",
    "itself-missing: The new token misses itself: add its key and value before you attend.",
    f"{SEEN} cache or (key, value)",
    "causal-from-top-left: A causal mask that starts at the top left leaves the new token nothing "
    "but the first key: every key so far is allowed here, so no mask is needed.",
    f"{SEEN} keys[..., :1, :], values[..., :1, :]",
    "cache-unchanged: The cache is returned unchanged: return it with this step's key and value.",
    f"{STORED} {{cache|cache or (key, value)}}",
    "cache-of-one-step: The cache returned holds only this step: return the keys and values of "
    "all steps so far.",
    f"{STORED} key, value",
    "cache-not-returned: The cache is not returned: return output, (keys, values).",
    "return output, stored => return output",
    "three-results: Three results are returned: return two, the output and the pair (keys, values).",
    "return output, stored => return output, *stored",
    "values-first-in-cache: The cache has the values first: return output, (keys, values).",
    f"{STORED} values, keys",
    "cache-first: The cache comes first: return output, (keys, values).",
    "return output, stored => return stored, output",
    "newest-first: The new step stands first in the cache: steps are kept in order, newest last.",
    "[cache[0], key] => [key, cache[0]] && [cache[1], value] => [value, cache[1]]",
    "first-step-twice: In the first step the new token is in the cache twice: without a cache "
    "the keys and values are only key and value.",
    "keys, values = key, value => keys, values = cache = cache or (key, value)",
    "output-stored: The output is cached in place of the value: cache the values as they came.",
    f"{STORED} keys, np.concatenate([values[..., :-1, :], output], axis=-2)",
    "weights-returned: The weights are returned in place of the output: the output is the weights "
    "times the values.",
    "weights @ seen[1] => weights",
    "pair-returned: The output of attention is a pair, output and weights: return the output "
    "only, with the cache.",
    "weights @ seen[1] => weights @ seen[1], weights",
    "never-scaled: The scores are not scaled: divide them by √d.",
    "1 / math.sqrt(query.shape[-1]) => 1.0",
    "root-of-another-size: You scale by the root of another size than d, query.shape[-1].",
    "query.shape[-1] => {values.shape[-1]|keys.shape[-2]}",
    "divided-by-d: The scores are divided by d: it is the root, √d.",
    "math.sqrt(query.shape[-1]) => query.shape[-1]",
    "softmax-over-query: Softmax runs over the one query, so that every weight is 1: it must run "
    "over the keys, the last axis.",
    "softmax(scores) => softmax(scores, -2)",
    "plain-mean: The values are averaged alike: weigh them by softmax of the query's scores.",
    "softmax(scores) => np.full_like(scores, 1 / scores.shape[-1])",
    "exp-overflows: The exponentials overflow for large scores: use the stable softmax of lesson "
    "02, or attention.",
    "softmax(scores) => np.exp(scores) / np.sum(np.exp(scores), axis=-1, keepdims=True)",
    f"loop-differs: {LOOP_DIFFERS}",
    f"keys, values = key, value => {OWN_CACHE}keys, values = key, value && stored = => stored = plain.own =",
    measured=("loop-differs",),
)

EXERCISE = Exercise(
    name="decode_step",
    points=3,
    minutes=8,
    reference=decode_step,
    signature="decode_step(query, key, value, cache=None)",
    cases=cases,
    magnitude=magnitude,
    probes=(differs_in_a_loop,),
    hints=HINTS,
    mistakes=MISTAKES,
)
