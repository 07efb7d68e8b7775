"""`decoder_block(x, weights, num_heads, num_groups, positions, cache=None, base=10000.0)` is one block.

`x` has shape `(..., L, D)`: the vectors of the L newest words. `weights` is a dict of arrays:
`attention_gain` `(D,)`, `w_q` `(D, D)`, `w_k`, `w_v` `(D, G·d)`, `w_o` `(D, D)`, `feed_forward_gain` `(D,)`,
`w_gate`, `w_up` `(D, F)`, `w_down` `(F, D)`. h is `x` plus lesson 06's `decoder_attention` of
`rms_norm(x, attention_gain)`. The result is a pair `(x, cache)`: h plus `gated_feed_forward` of
`rms_norm(h, feed_forward_gain)`, of shape `(..., L, D)`, and the attention's new cache. Nothing passed in
is changed. The answer uses its own `rms_norm` and `gated_feed_forward`, or writes them out.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from attention_lib.checks.calls.case import Case
from attention_lib.checks.exercise import Exercise, known_mistakes
from attention_lib.exercises.model.gated_feed_forward import plain as gated
from attention_lib.exercises.model.rms_norm import plain as normalized
from attention_lib.lessons.model import Weights, decoder_block
from attention_lib.lessons.multihead import Cache, decoder_attention

HINTS = (
    "Twice the same pattern: normalize a copy of the vectors, let a part work on it, and add what it "
    "returns to the vectors that were not normalized.",
    "The second part reads the vectors after the first was added. decoder_attention returns a pair: the "
    "output, and the cache that you return.",
    "lib.decoder_attention takes ten arguments, in this order: the normalized vectors, w_q, w_k, w_v, "
    "w_o, num_heads, num_groups, positions, cache, base.",
)


def cases(rng: Generator) -> Iterator[Case]:
    yield draw_block(rng, (), 2, 4, 3, (2, 1))
    yield draw_block(rng, (), 3, 8, 5, (4, 2))
    yield draw_block(rng, (2,), 3, 12, 7, (3, 1), cached=4)
    yield draw_block(rng, (), 1, 8, 6, (2, 2), cached=5)
    yield draw_block(rng, (2, 2), 2, 8, 3, (4, 2), cached=3)
    yield draw_block(rng, (), 4, 8, 8, (2, 1), base=float(rng.uniform(100.0, 900.0)))
    yield draw_block(rng, (), 3, 12, 5, (2, 1), cached=2, base=500.0)
    yield draw_block(rng, (), 5, 8, 6, (4, 1), cached=6, places=rng.permutation(20)[:5])
    yield in_float32(draw_block(rng, (), 3, 8, 6, (4, 2), cached=4))
    yield in_float32(draw_block(rng, (2,), 4, 8, 5, (2, 2)))


def draw_weights(rng: Generator, width: int, inner: int, heads: tuple[int, int]) -> Weights:
    """Draw the weights of a block, with H query heads over G groups."""
    of_groups = heads[1] * (width // heads[0])
    shapes = {"w_q": (width, width), "w_k": (width, of_groups), "w_v": (width, of_groups)}
    shapes |= {"w_o": (width, width), "w_gate": (width, inner), "w_up": (width, inner)}
    shapes |= {"w_down": (inner, width)}
    weights = {
        name: 1.5 * rng.normal(size=shape) / math.sqrt(shape[0]) for name, shape in shapes.items()
    }
    gains = ("attention_gain", "feed_forward_gain")
    return weights | {name: rng.uniform(0.5, 2.0, width) for name in gains}


def draw_cache(
    rng: Generator, leading: tuple[int, ...], cached: int, width: int, heads: tuple[int, int]
) -> Cache:
    shape = (*leading, heads[1], cached, width // heads[0])
    return rng.normal(size=shape), rng.normal(size=shape)


def draw_block(
    rng: Generator,
    leading: tuple[int, ...],
    length: int,
    width: int,
    inner: int,
    heads: tuple[int, int],
    *,
    cached: int = 0,
    base: float | None = None,
    places: NDArray | None = None,
) -> Case:
    x = 2.0 * rng.normal(size=(*leading, length, width))
    weights = draw_weights(rng, width, inner, heads)
    places = np.arange(cached, cached + length) if places is None else places
    named = {} if base is None else {"base": base}
    if not cached:
        return Case(x, weights, *heads, places, **named)
    return Case(x, weights, *heads, places, draw_cache(rng, leading, cached, width, heads), **named)


def in_float32(case: Case) -> Case:
    x, weights, *others = case.args
    small = {name: array.astype(np.float32) for name, array in weights.items()}
    if len(others) == 4:
        others[3] = tuple(part.astype(np.float32) for part in others[3])
    return Case(x.astype(np.float32), small, *others, **case.kwargs)


def magnitude(x, weights, num_heads, num_groups, positions, cache=None, base=10000.0):
    """Size the result by the sizes of what is added, and the cache by those of its entries."""
    result, (keys, values) = decoder_block(
        x, weights, num_heads, num_groups, positions, cache, base
    )
    inside = np.abs(normalized(x, weights["attention_gain"]))
    of_keys, of_values = inside @ np.abs(weights["w_k"]), inside @ np.abs(weights["w_v"])
    mixed = of_values.max() if cache is None else max(of_values.max(), np.abs(cache[1]).max())
    scores = (inside @ np.abs(weights["w_q"])).max() * max(of_keys.max(), np.abs(keys).max())
    output = mixed * (1 + scores) * np.abs(weights["w_o"]).sum(0).max()
    h = np.abs(x).max() + output
    up = (np.abs(weights["feed_forward_gain"]) * math.sqrt(x.shape[-1])) @ np.abs(weights["w_up"])
    down = (up.max() ** 2) * np.abs(weights["w_down"]).sum(0).max()
    far = 1 + np.abs(positions).max()
    return (h + down) * np.ones_like(result), (
        far * (np.abs(keys) + of_keys.max()),
        np.abs(values) + of_values.max(),
    )


def plain(x, weights, num_heads, num_groups, positions, cache=None, base=10000.0):
    w = weights
    y = normalized(x, w["attention_gain"])
    matrices = w["w_q"], w["w_k"], w["w_v"], w["w_o"]
    mixed, cache = decoder_attention(y, *matrices, num_heads, num_groups, positions, cache, base)
    h = x + mixed
    z = normalized(h, w["feed_forward_gain"])
    more = gated(z, w["w_gate"], w["w_up"], w["w_down"])
    return h + more, cache


MISTAKES = known_mistakes(
    plain,
    "attention-not-added: What attention returns takes the place of x: add it to x.",
    "h = x + mixed => h = mixed",
    "feed-forward-not-added: What the feed-forward layer returns takes the place of h: add it to h.",
    "h + more => more",
    "x-lost: The feed-forward layer's result is added to x: add it to h, which has attention's in it.",
    "h + more => x + more",
    "feed-forward-reads-x: The feed-forward layer reads x: it should read h, to which attention was added.",
    'normalized(h, w["feed_forward_gain"]) => normalized(x, w["feed_forward_gain"])',
    "feed-forward-reads-attention: The feed-forward layer reads what attention returned: it should read "
    "h, which is x plus that.",
    'normalized(h, w["feed_forward_gain"]) => normalized(mixed, w["feed_forward_gain"])',
    "normalized-added: The normalized vectors are added to: x itself stays, and each part's result is "
    "added to it.",
    "h = x + mixed => h = y + mixed",
    "h + more => z + more",
    "h = x + mixed => h = y + mixed && h + more => z + more",
    "attention-not-normalized: Attention reads x as it is: normalize it with attention_gain first.",
    'normalized(x, w["attention_gain"]) => x',
    "feed-forward-not-normalized: The feed-forward layer reads h as it is: normalize it with "
    "feed_forward_gain first.",
    'normalized(h, w["feed_forward_gain"]) => h',
    "never-normalized: Nothing is normalized: each part reads a normalized copy.",
    'normalized(x, w["attention_gain"]) => x && normalized(h, w["feed_forward_gain"]) => h',
    "normalized-after: The sums are normalized, after each part: normalize what a part reads, and leave "
    "the sum as it is.",
    'y = normalized(x, w["attention_gain"]) => y = x && h = x + mixed => h = normalized(x + mixed, '
    'w["attention_gain"]) && z = normalized(h, w["feed_forward_gain"]) => z = h && return h + more => '
    'return normalized(h + more, w["feed_forward_gain"])',
    "gains-exchanged: The gains are exchanged: attention_gain is for what attention reads.",
    '(x, w["attention_gain"]) => (x, w["feed_forward_gain"]) && (h, w["feed_forward_gain"]) => '
    '(h, w["attention_gain"])',
    "one-gain-for-both: Both parts use one gain: each has its own.",
    '(x, w["attention_gain"]) => (x, w["feed_forward_gain"])',
    '(h, w["feed_forward_gain"]) => (h, w["attention_gain"])',
    "base-not-handed-on: The base is not handed on: decoder_attention takes it last.",
    "cache, base) => cache)",
    "cache-not-handed-on: The cache is not handed on: attention sees only the new words.",
    "positions, cache, base) => positions, None, base)",
    "positions-restart: The positions begin at 0 again: hand on the positions given.",
    "positions, cache, base) => np.arange(x.shape[-2]), cache, base)",
    "keys-values-exchanged: w_k and w_v are exchanged.",
    'w["w_k"], w["w_v"] => w["w_v"], w["w_k"]',
    "gate-and-up-exchanged: w_gate and w_up are exchanged: the gate comes first.",
    'w["w_gate"], w["w_up"] => w["w_up"], w["w_gate"]',
    "feed-forward-first: The feed-forward layer comes first: attention does, and the feed-forward layer "
    "reads what it has left.",
    'y = normalized(x, w["attention_gain"]) => x = x + gated(normalized(x, w["feed_forward_gain"]), '
    'w["w_gate"], w["w_up"], w["w_down"])\n    y = normalized(x, w["attention_gain"]) && h + more => h',
    "feed-forward-missing: The feed-forward layer is missing.",
    "h + more => h",
    "attention-missing: Attention is missing from the result: add what it returns to x.",
    "h = x + mixed => h = x",
    "cache-not-returned: The cache is not returned: return (x, cache).",
    "return h + more, cache => return h + more",
    "old-cache-returned: The cache is returned unchanged: return the one that attention returned.",
    "mixed, cache = decoder_attention => mixed, _ = decoder_attention",
    "cache-first: The cache comes first: return (x, cache).",
    "return h + more, cache => return cache, h + more",
)

EXERCISE = Exercise(
    name="decoder_block",
    points=3,
    minutes=7,
    reference=decoder_block,
    cases=cases,
    magnitude=magnitude,
    hints=HINTS,
    mistakes=MISTAKES,
    built_on=("rms_norm", "gated_feed_forward"),
)
