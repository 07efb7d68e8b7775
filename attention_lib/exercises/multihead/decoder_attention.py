"""`decoder_attention(x, w_q, w_k, w_v, w_o, num_heads, num_groups, positions, cache, base)` is a layer.

By default `cache` is None and `base` is 10000.0. `x` has shape `(..., L, D)`: the vectors of the L
newest words. `w_q` and `w_o` have shape `(D, D)`, `w_k` and `w_v` `(D, G · d)`, with H = `num_heads`,
G = `num_groups` (a divisor of H) and an even d = D/H. Queries are split into H heads, keys and values
into G; the H/G consecutive query heads from g · H/G on use group g, with the scale 1/√d. Queries and
keys are rotated as in `rotary_embedding`, with `base`, at `positions`, shape `(L,)`, which serve the
rotation only. `cache` is None at first, later the pair `(keys, values)` that the last call returned;
the cache passed in is not changed. Each new word attends to all cached words, to the new words before
it, and to itself. The merged heads are multiplied by `w_o`. The result is a pair `(output, cache)`:
`(..., L, D)`, and the rotated keys and the values of all t words so far, each `(..., G, t, d)`. A text
in pieces of any lengths gives what it gives at once. The answer uses its own parts, or those of
earlier lessons, and not `attention_lib`'s functions of this lesson.
"""

from __future__ import annotations

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
from attention_lib.exercises.parts.heads import (
    EXP_OVERFLOWS,
    HEADS_IN_TURNS,
    OWN_CACHE,
    SPLIT_WITHOUT_SWAP,
)
from attention_lib.exercises.parts.magnitudes import rotation_magnitude
from attention_lib.lessons.multihead import (
    decoder_attention,
    merge_heads,
    rotary_embedding,
    split_heads,
)
from attention_lib.lessons.stability import masked_softmax

HINTS = (
    "In this order: project x with w_q, w_k, w_v; split the queries into num_heads heads, keys and "
    "values into num_groups; rotate queries and keys; put the new keys and values behind those of "
    "the cache; attend; merge; multiply by w_o.",
    "All but the mask is written already: split_heads, rotary_embedding, grouped_query_attention "
    "and merge_heads are yours. rotary_embedding takes heads as one more batch dimension, and the "
    "same positions and base for all of them.",
    "With t words so far, of which L are new, row i of the mask belongs to word t - L + i. "
    "np.tri(L, t, t - L, dtype=bool) has ones up to there. Try it with L = 2 and t = 5.",
    "Return output, (keys, values): G heads each, rotated keys, values as projected. What was in "
    "the cache goes in as it is.",
)

MORE_THAN_EXP_TAKES = 1e3  # a factor on x that makes scores of thousands


def cases(rng: Generator) -> Iterator[Case]:
    one, half = np.eye(4), np.eye(4)[:, :2]
    x = np.array([[1.0, 0.0, 2.0, 0.0], [0.0, 1.0, 0.0, 1.0]])
    yield Case(x, one, half, half, one, 2, 1, np.array([0, 1]))
    earlier = np.array([[[1.0, 0.0], [0.0, 2.0], [1.0, 1.0]]])
    yield Case(x, one, half, half, one, 2, 1, np.array([3, 4]), (earlier, 2 * earlier))
    yield draw_layer(rng, (), 3, 8, (4, 2), np.arange(3))
    yield draw_layer(rng, (), 5, 12, (6, 3), np.arange(5) + 4)
    yield draw_layer(rng, (2,), 5, 12, (3, 1), np.arange(5) + 11)
    yield draw_layer(rng, (), 3, 8, (2, 2), np.arange(3) + 1)
    yield draw_layer(rng, (), 1, 12, (6, 2), np.array([4]), 4)
    yield draw_layer(rng, (2,), 3, 8, (4, 2), np.arange(3) + 5, 5)
    yield draw_layer(rng, (2, 3), 2, 24, (6, 2), np.arange(2) + 3, 3)
    yield draw_layer(rng, (4,), 4, 16, (4, 4), np.arange(4) + 4, 4)  # square: a wrong axis fits
    yield draw_layer(rng, (), 4, 8, (4, 1), np.array([30, 7, 7, 2]), 2)  # in no order, with gaps
    yield draw_layer(rng, (2,), 3, 12, (3, 3), np.array([9, 8, 20]))
    case = draw_layer(rng, (2,), 3, 8, (4, 2), np.arange(3) + 6, 6)
    *arrays, heads, groups, positions, cache = case.args
    yield Case(*in_float32(arrays), heads, groups, positions, tuple(in_float32(cache)))
    yield Case(*in_float32(arrays), heads, groups, positions)
    yield Case(*arrays, heads, groups, positions, cache=cache)
    x, *others = arrays
    yield Case(MORE_THAN_EXP_TAKES * x, *others, heads, groups, positions, cache)
    other = draw_layer(rng, (), 3, 12, (2, 1), np.arange(3) + 5, 5)
    yield Case(*other.args, 100.0)
    yield Case(*other.args[:-1], base=float(rng.uniform(300.0, 900.0)))


def draw_layer(
    rng: Generator,
    leading: tuple[int, ...],
    length: int,
    width: int,
    heads: tuple[int, int],
    positions: NDArray,
    cached: int | None = None,
) -> Case:
    """Draw new words, projections with query heads over groups, and a cache of earlier words."""
    size = width // heads[0]
    x = rng.normal(size=(*leading, length, width))
    sizes = (width, heads[1] * size, heads[1] * size, width)
    weights = (1.5 * rng.normal(size=(width, out)) / math.sqrt(width) for out in sizes)
    arguments = (x, *weights, *heads, positions)
    if cached is None:
        return Case(*arguments)
    shape = (*leading, heads[1], cached, size)
    return Case(*arguments, tuple(rng.normal(size=shape) for _ in range(2)))


def magnitude(x, w_q, w_k, w_v, w_o, num_heads, num_groups, positions, cache=None, base=10000.0):
    weights, counts = (w_q, w_k, w_v, w_o), (num_heads, num_groups)
    _, (keys, values) = decoder_attention(x, *weights, *counts, positions, cache, base)
    query = rotary_embedding(split_heads(x @ w_q, num_heads), positions, base)
    query_size, key_size, value_size = (
        split_heads(np.abs(x) @ np.abs(w), heads)
        for w, heads in ((w_q, num_heads), (w_k, num_groups), (w_v, num_groups))
    )
    query_size, key_size = (
        rotation_magnitude(size, positions, base) for size in (query_size, key_size)
    )
    sizes = [
        np.concatenate([np.abs(old), new], axis=-2)
        for old, new in zip(cache or (keys[..., :0, :],) * 2, (key_size, value_size), strict=True)
    ]
    shared = [np.repeat(a, num_heads // num_groups, axis=-3) for a in (keys, values, *sizes)]
    length, total = x.shape[-2], keys.shape[-2]
    mask = np.tri(length, total, total - length, dtype=bool)
    output, _ = attention_magnitude(query, *shared[:2], mask, sizes=(query_size, *shared[2:]))
    return merge_heads(output) @ np.abs(w_o), tuple(sizes)


PIECES = (3, 1, 4, 2)
PIECES_DIFFER = (
    "A text in pieces does not give what it gives at once: take the earlier words from the cache "
    "passed in, and from nowhere else."
)
CACHE_CHANGES = (
    "The cache passed in is changed by a later call: leave it as it is and return a new one."
)


def differs_in_pieces(answer: Answer, rng: Generator) -> str | None:
    """Hold two texts, read in pieces by turns, to what each of them gives at once."""
    total = sum(PIECES)
    drawn = [draw_layer(rng, (2,), total, 8, (4, 2), np.arange(total)).args for _ in range(2)]
    whole = [decoder_attention(*arguments) for arguments in drawn]
    caches: list[Any] = [None, None]
    end = 0
    for length in PIECES:
        begin, end = end, end + length
        for number, (x, *others, positions) in enumerate(drawn):
            before = caches[number]
            copies = None if before is None else [part.copy() for part in before]
            piece = x[:, begin:end].copy(), *others, positions[begin:end].copy()
            output, caches[number] = answer(*piece, *(() if before is None else (before,)))
            if copies is not None and not all(map(np.array_equal, before, copies)):
                return CACHE_CHANGES
            right, (keys, values) = whole[number]
            so_far = keys[..., :end, :], values[..., :end, :]
            if not np.allclose(output, right[:, begin:end], rtol=1e-9, atol=1e-9) or not all(
                np.allclose(mine, part, rtol=1e-9, atol=1e-9)
                for mine, part in zip(caches[number], so_far, strict=True)
            ):
                return PIECES_DIFFER
    return None


def plain(x, w_q, w_k, w_v, w_o, num_heads, num_groups, positions, cache=None, base=10000.0):
    def split(part, heads):
        pieces = part.reshape(*x.shape[:-1], heads, -1)
        return np.swapaxes(pieces, -2, -3)

    def turn(part, places):
        size = part.shape[-1]
        angles = places[:, None] * base ** (-np.arange(0, size, 2) / size)
        cos, sin = np.cos(angles), np.sin(angles)
        a, b = part[..., 0::2], part[..., 1::2]
        turned = np.stack([a * cos - b * sin, a * sin + b * cos], axis=-1)
        return turned.reshape(part.shape).astype(part.dtype)

    length = x.shape[-2]
    earlier = 0 if cache is None else cache[0].shape[-2]
    places = positions
    query = split(x @ w_q, num_heads)
    key = split(x @ w_k, num_groups)
    value = split(x @ w_v, num_groups)
    query = turn(query, places)
    turned = turn(key, places)
    old_keys, old_values = cache or (key[..., :0, :], value[..., :0, :])
    keys = np.concatenate([old_keys, turned], axis=-2)
    values = np.concatenate([old_values, value], axis=-2)
    seen = keys, values
    mask = np.tri(length, earlier + length, earlier, dtype=bool)
    head = np.arange(num_heads)
    group = head // (num_heads // num_groups)
    scale = 1 / math.sqrt(query.shape[-1])
    scores = query @ seen[0][..., group, :, :].mT * scale
    scores = np.where(mask, scores, -np.inf)
    weights = masked_softmax(scores, scores > -np.inf)
    output = weights @ seen[1][..., group, :, :]
    merged = np.swapaxes(output, -2, -3).reshape(x.shape)
    result = merged @ w_o
    stored = keys, values
    return result, stored


SEEN, STORED = "seen = keys, values => seen =", "stored = keys, values => stored ="
UNTURNED = "np.concatenate([old_keys, key], axis=-2)"
TURNED_AGAIN = f"turn({UNTURNED}, np.arange(earlier + length))"
CAUSAL = "np.tri(length, earlier + length, earlier, dtype=bool)"
NOT_TURNED = "turn(query, places) => query && turn(key, places) => key"
GROUP = "head // (num_heads // num_groups)"
PIECES_OF_HEADS = "part.reshape(*x.shape[:-1], heads, -1)"
SPLIT_BY_RESHAPE = (
    f"{PIECES_OF_HEADS} => part.reshape(*x.shape[:-2], heads, length, -1) && "
    "np.swapaxes(pieces, -2, -3) => pieces"
)
MERGE_BY_RESHAPE = "np.swapaxes(output, -2, -3) => output"

MISTAKES = known_mistakes(
    plain,
    "nothing-rotated: Nothing is rotated: queries and keys turn by positions, after the split.",
    NOT_TURNED,
    "keys-not-rotated: The keys are not rotated: rotate the new ones by their positions, before "
    "they go into the cache.",
    "turn(key, places) => key",
    "queries-not-rotated: The queries are not rotated: they turn by positions, as the keys do.",
    "turn(query, places) => query",
    "values-rotated: The values are rotated too: positions belong into the scores; only queries "
    "and keys turn.",
    "old_keys, old_values = => value = turn(value, places)\n    old_keys, old_values =",
    "rotated-before-split: Rotation comes before the split, with the speeds of vectors of another "
    "size: split first, then rotate each head's d components.",
    f"{NOT_TURNED} && (x @ w_q => (turn(x @ w_q, places) && (x @ w_k => (turn(x @ w_k, places)",
    "pairs-of-halves: The pairs (i, i + d/2) are rotated: here they are neighbors, (2i, 2i + 1).",
    "part[..., 0::2], part[..., 1::2] => part[..., : size // 2], part[..., size // 2 :] && "
    "np.stack => np.concatenate",
    "base-fixed: The base is always 10,000: rotate with the base that is given.",
    "* base ** => * 10000.0 **",
    "wrong-way: The rotation goes the wrong way: (a, b) becomes (a cos − b sin, a sin + b cos).",
    "places = positions => places = -positions",
    "positions-restart: The positions restart at 0 with every call: rotate by the positions given.",
    "places = positions => places = np.arange(length)",
    "positions-from-cache: Words are numbered by their places in the cache: rotate by positions.",
    "places = positions => places = earlier + np.arange(length)",
    "cached-words-added: The number of cached words is added to the positions: they count from "
    "the start of the text already.",
    "places = positions => places = earlier + positions",
    "unrotated-keys-cached: The keys returned are not rotated: the cache keeps them as the scores "
    "need them, each turned by its own position.",
    f"{STORED} {UNTURNED}, values",
    "rotated-again: The cached keys are rotated again: they went in rotated. Rotate only new ones.",
    f"{SEEN} {TURNED_AGAIN}, values",
    f"{SEEN} keys, values = {TURNED_AGAIN}, values",
    f"{SEEN} {TURNED_AGAIN}, values && {STORED} {UNTURNED}, values",
    "mask-from-top-left: The mask starts at the top left corner, as if the first new word were "
    "the first of the text: np.tri(L, t, t - L, dtype=bool) lets it see all cached words.",
    "earlier, dtype => 0, dtype",
    "mask-missing: There is no mask: a new word must not see the new words after it.",
    "np.where(mask => np.where(True",
    "mask-missing-with-cache: With a cache there is no mask: several new words may come at once, and "
    "none of them may see those after it.",
    "np.where(mask => np.where(mask | (cache is not None)",
    "mask-of-numbers: The mask holds 1 and 0, which are added to the scores: make it boolean, True "
    "where attention is allowed.",
    "np.where(mask, scores, -np.inf) => scores + mask",
    "itself-missing: No word sees itself: the mask's diagonal is one place too far left.",
    "earlier, dtype => earlier - 1, dtype",
    "one-word-ahead: Each word sees one too many: the mask's diagonal is one place too far right.",
    "earlier, dtype => earlier + 1, dtype",
    "mask-inverted: The mask is inverted: True means that attention is allowed.",
    "np.where(mask => np.where(~mask",
    "mask-by-positions: The mask follows the positions: they serve the rotation only, and the "
    "order of the words decides who sees whom.",
    f"{CAUSAL} => np.hstack([np.ones((length, earlier), bool), positions[:, None] >= positions])",
    f"{CAUSAL} => np.arange(earlier + length) <= positions[:, None]",
    "earlier, dtype => positions[0], dtype",
    "cache-unused: The new words attend only to themselves: put their keys and values behind "
    "those of the cache first.",
    f"{SEEN} turned, value && {CAUSAL} => np.tri(length, dtype=bool)",
    f"{SEEN} keys, values = turned, value && {CAUSAL} => np.tri(length, dtype=bool)",
    "groups-take-turns: The groups take turns through the query heads (0, 1, 0, 1): consecutive "
    "heads share one (0, 0, 1, 1).",
    f"{GROUP} => head % num_groups",
    "divided-by-groups: Query head h uses group h // G here: divide by the number of heads in a group, "
    "h // (H // G).",
    f"{GROUP} => head // num_groups",
    "first-group-only: All query heads use the first group: query head h uses group h // (H / G).",
    f"{GROUP} => head * 0",
    f"split-without-swap: {SPLIT_WITHOUT_SWAP}",
    f"{SPLIT_BY_RESHAPE} && {MERGE_BY_RESHAPE}",
    SPLIT_BY_RESHAPE,
    "merge-without-swap: The heads are merged only by a reshape, which mixes up the positions: "
    "swap the axes of heads and positions first.",
    MERGE_BY_RESHAPE,
    f"heads-take-turns: {HEADS_IN_TURNS}",
    f"{PIECES_OF_HEADS} => part.reshape(*x.shape[:-1], -1, heads) && "
    "np.swapaxes(pieces, -2, -3) => np.moveaxis(pieces, -1, -3)",
    "root-of-width: The scores are divided by √D: each head has d = D/H, and 1/√d is its scale.",
    "query.shape[-1] => x.shape[-1]",
    "never-scaled: The scores are not scaled: each head divides them by √d.",
    "1 / math.sqrt(query.shape[-1]) => 1.0",
    "divided-by-d: The scores are divided by d: it is the root, √d, and once is enough; attention "
    "does it already.",
    "math.sqrt(query.shape[-1]) => query.shape[-1]",
    "w-o-missing: w_o is forgotten: the merged heads are still to be multiplied by it.",
    "merged @ w_o => merged",
    "w-o-transposed: w_o is transposed: it stands on the right as it is, merged @ w_o.",
    "merged @ w_o => merged @ w_o.T",
    "keys-values-exchanged: Keys and values have changed their projections: keys come from w_k, "
    "values from w_v.",
    "length = x => w_k, w_v = w_v, w_k\n    length = x",
    "cache-of-copies: The cache holds a copy of keys and values for each query head: keep the G "
    "heads as they are, and repeat them only for the scores. Sharing is meant to save this memory.",
    f"{STORED} keys[..., group, :, :], values[..., group, :, :]",
    "cache-unchanged: The cache is returned unchanged: return it with the new keys and values.",
    f"{STORED} {{cache|cache or (turned, value)}}",
    "cache-of-new-words: The cache returned holds only the new words: return the keys and values "
    "of all words so far.",
    f"{STORED} turned, value",
    "newest-first: The new words stand first in the cache: words are kept in order, newest last.",
    f"{STORED} np.concatenate([turned, old_keys], axis=-2), np.concatenate([value, old_values], axis=-2)",
    "[old_keys, turned] => [turned, old_keys] && [old_values, value] => [value, old_values]",
    "values-first-in-cache: The cache has the values first: return output, (keys, values).",
    f"{STORED} values, keys",
    "cache-not-returned: The cache is not returned: return output, (keys, values).",
    "return result, stored => return result",
    "three-results: Three results are returned: return two, the output and the pair (keys, values).",
    "return result, stored => return result, *stored",
    "cache-first: The cache comes first: return output, (keys, values).",
    "return result, stored => return stored, result",
    *EXP_OVERFLOWS,
    f"pieces-differ: {PIECES_DIFFER}",
    f"length = x => {OWN_CACHE}length = x && stored = => stored = plain.own =",
    measured=("pieces-differ",),
)

EXERCISE = Exercise(
    name="decoder_attention",
    points=4,
    minutes=15,
    reference=decoder_attention,
    signature=(
        "decoder_attention(x, w_q, w_k, w_v, w_o, num_heads, num_groups, positions, "
        "cache=None, base=10000.0)"
    ),
    cases=cases,
    magnitude=magnitude,
    probes=(differs_in_pieces,),
    hints=HINTS,
    mistakes=MISTAKES,
    built_on=(
        "split_heads",
        "merge_heads",
        "multi_head_attention",
        "grouped_query_attention",
        "rotary_embedding",
        "decode_step",
    ),
)
