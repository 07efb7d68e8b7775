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

import inspect
import math
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from attention_lib.checks.calls.case import Answer, Case
from attention_lib.checks.exercise import Exercise, composable, known_mistakes
from attention_lib.exercises.multihead.decode_step import Cache, grown
from attention_lib.exercises.multihead.grouped_query_attention import (
    divided_by_groups,
    repeated,
    tiled,
)
from attention_lib.exercises.multihead.rotary_embedding import (
    by_halves,
    rotation_with,
    side_by_side,
)
from attention_lib.exercises.multihead.rotary_embedding import magnitude as rotation_magnitude
from attention_lib.exercises.parts.attention import attend, attention_magnitude
from attention_lib.exercises.parts.by_name import by_name
from attention_lib.exercises.parts.cases import in_float32
from attention_lib.exercises.parts.heads import (
    HEADS_IN_TURNS,
    SPLIT_WITHOUT_SWAP,
    merge,
    merge_by_reshape,
    overflow_mistake,
    split,
    split_by_reshape,
    split_interleaved,
)
from attention_lib.lessons.multihead import decoder_attention

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


def causal(length: int, total: int, ahead: int = 0) -> NDArray:
    """Allow the last of `length` queries all of `total` keys, and each before it one less."""
    return np.tri(length, total, total - length + ahead, dtype=bool)


@by_name(decoder_attention)
def magnitude(x, w_q, w_k, w_v, w_o, num_heads, num_groups, positions, cache, base):
    counts = num_heads, num_groups, num_groups
    weights = w_q, w_k, w_v
    query, key, value = (split(x @ w, n) for w, n in zip(weights, counts, strict=True))
    sizes = [split(np.abs(x) @ np.abs(w), n) for w, n in zip(weights, counts, strict=True)]
    query_size, key_size = (rotation_magnitude(size, positions, base) for size in sizes[:2])
    query, key = (rotated(part, positions, base) for part in (query, key))
    old_sizes = cache and tuple(map(np.abs, cache))
    keys, values = (repeated(part, num_heads) for part in grown(key, value, cache))
    grown_sizes = grown(key_size, sizes[2], old_sizes)
    every_size = query_size, *(repeated(part, num_heads) for part in grown_sizes)
    mask = causal(x.shape[-2], keys.shape[-2])
    output = attention_magnitude(query, keys, values, mask, sizes=every_size)[0]
    return merge(output) @ np.abs(w_o), grown_sizes


class Layer(NamedTuple):
    """The arguments of one call that a mistake may look at, and the new keys and values."""

    x: NDArray
    num_heads: int
    num_groups: int
    positions: NDArray
    base: float
    cache: Cache | None
    plain_key: NDArray  # split, not rotated
    key: NDArray
    value: NDArray

    @property
    def total(self) -> int:
        return self.key.shape[-2] + (0 if self.cache is None else self.cache[0].shape[-2])

    @property
    def length(self) -> int:
        return self.x.shape[-2]


Turn = Callable[[NDArray, NDArray, float], NDArray]


def rotated_with(rotate: Answer) -> Turn:
    """Rotate in the dtype of x, without the functions that an answer may not call."""
    return lambda x, positions, base: rotate(x, positions, base).astype(x.dtype, copy=False)


rotated = rotated_with(rotation_with())
rotated_by_base_10000 = rotated_with(rotation_with(fixed_base=10000.0))
rotated_by_halves = rotated_with(rotation_with(take=by_halves, join=side_by_side))


def unturned(x: NDArray, positions: NDArray, base: float) -> NDArray:
    return x


def right_cache(new: Layer) -> Cache:
    return grown(new.key, new.value, new.cache)


def causal_of(new: Layer, ahead: int = 0) -> NDArray:
    return causal(new.length, new.total, ahead)


@composable
def layer_with(
    *,
    order: tuple[int, int, int] = (0, 1, 2),
    split: Callable[[NDArray, int], NDArray] = split,
    before_split: Turn = unturned,
    turn_query: Turn = rotated,
    turn_key: Turn = rotated,
    turn_value: Turn = unturned,
    place: Callable[[NDArray, int], NDArray] = lambda positions, cached: positions,
    look: Callable[[Layer], Cache] = right_cache,
    allow: Callable[[Layer], NDArray | None] = causal_of,
    share: Callable[[NDArray, int], NDArray] = repeated,
    scale: Callable[[Layer], float | None] = lambda new: None,
    attend: Answer = attend,
    merge: Callable[[NDArray], NDArray] = merge,
    finish: Callable[[NDArray, NDArray], NDArray] = np.matmul,
    keep: Callable[[Layer], Any] = right_cache,
    result: Callable[[NDArray, Any], Any] = lambda output, cache: (output, cache),
) -> Answer:
    """Make the layer from parts; a mistake replaces some of them.

    `place` turns the positions given, and the number of cached words, into those to rotate by;
    `look` gives the keys and values to attend to, and `keep` those to return.
    """

    @by_name(decoder_attention)
    def answer(x, w_q, w_k, w_v, w_o, num_heads, num_groups, positions, cache, base):
        places = place(positions, 0 if cache is None else cache[0].shape[-2])
        w_q, w_k, w_v = ((w_q, w_k, w_v)[i] for i in order)
        query = split(before_split(x @ w_q, places, base), num_heads)
        plain_key = split(before_split(x @ w_k, places, base), num_groups)
        value = turn_value(split(x @ w_v, num_groups), places, base)
        key = turn_key(plain_key, places, base)
        new = Layer(x, num_heads, num_groups, positions, base, cache, plain_key, key, value)
        shared = (share(part, num_heads) for part in look(new))
        mixed = attend(turn_query(query, places, base), *shared, allow(new), scale(new))
        return result(finish(merge(mixed), w_o), keep(new))

    return answer


def turned_again(new: Layer) -> Cache:
    """Rotate the keys of the cache once more, with the new ones, by their places in it."""
    keys, values = grown(new.plain_key, new.value, new.cache)
    return rotated(keys, np.arange(keys.shape[-2]), new.base), values


def in_front(new: Layer) -> Cache:
    """Put the new words before the cached ones."""
    if new.cache is None:
        return new.key, new.value
    return grown(*new.cache, (new.key, new.value))


def by_positions(new: Layer) -> NDArray:
    """Allow the new words whose position is not larger, and all cached ones."""
    allowed = np.ones((new.length, new.total), dtype=bool)
    allowed[:, new.total - new.length :] = new.positions[:, None] >= new.positions
    return allowed


PARAMETERS = tuple(inspect.signature(decoder_attention).parameters)


class CacheOfItsOwn:
    """Go on with the last cache it returned where that has the length of the one passed in."""

    def __init__(self) -> None:
        self.own: Cache | None = None

    def __call__(self, *args: Any, **named: Any) -> tuple[NDArray, Cache]:
        given = dict(zip(PARAMETERS, args, strict=False)) | named
        cache = given.get("cache")
        if cache is not None and self.own and self.own[0].shape == cache[0].shape:
            cache = self.own
        output, self.own = layer_with()(**(given | {"cache": cache}))
        return output, self.own


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


MISTAKES = known_mistakes(
    "nothing-rotated: Nothing is rotated: queries and keys turn by positions, after the split.",
    layer_with(turn_query=unturned, turn_key=unturned),
    "keys-not-rotated: The keys are not rotated: rotate the new ones by their positions, before "
    "they go into the cache.",
    layer_with(turn_key=unturned),
    "queries-not-rotated: The queries are not rotated: they turn by positions, as the keys do.",
    layer_with(turn_query=unturned),
    "values-rotated: The values are rotated too: positions belong into the scores; only queries "
    "and keys turn.",
    layer_with(turn_value=rotated),
    "rotated-before-split: Rotation comes before the split, with the speeds of vectors of another "
    "size: split first, then rotate each head's d components.",
    layer_with(before_split=rotated, turn_query=unturned, turn_key=unturned),
    "pairs-of-halves: The pairs (i, i + d/2) are rotated: here they are neighbors, (2i, 2i + 1).",
    layer_with(turn_query=rotated_by_halves, turn_key=rotated_by_halves),
    "base-fixed: The base is always 10,000: rotate with the base that is given.",
    layer_with(turn_query=rotated_by_base_10000, turn_key=rotated_by_base_10000),
    "wrong-way: The rotation goes the wrong way: (a, b) becomes (a cos − b sin, a sin + b cos).",
    layer_with(place=lambda positions, cached: -positions),
    "positions-restart: The positions restart at 0 with every call: rotate by the positions given.",
    layer_with(place=lambda positions, cached: np.arange(len(positions))),
    "positions-from-cache: Words are numbered by their places in the cache: rotate by positions.",
    layer_with(place=lambda positions, cached: cached + np.arange(len(positions))),
    "cached-words-added: The number of cached words is added to the positions: they count from "
    "the start of the text already.",
    layer_with(place=lambda positions, cached: cached + positions),
    "unrotated-keys-cached: The keys returned are not rotated: the cache keeps them as the scores "
    "need them, each turned by its own position.",
    layer_with(keep=lambda new: grown(new.plain_key, new.value, new.cache)),
    "rotated-again: The cached keys are rotated again: they went in rotated. Rotate only new ones.",
    layer_with(look=turned_again),
    layer_with(look=turned_again, keep=turned_again),
    layer_with(look=turned_again, keep=lambda new: grown(new.plain_key, new.value, new.cache)),
    "mask-from-top-left: The mask starts at the top left corner, as if the first new word were "
    "the first of the text: np.tri(L, t, t - L, dtype=bool) lets it see all cached words.",
    layer_with(allow=lambda new: np.tri(new.length, new.total, dtype=bool)),
    "mask-missing: There is no mask: a new word must not see the new words after it.",
    layer_with(allow=lambda new: None),
    "mask-missing-with-cache: With a cache there is no mask: several new words may come at once, and "
    "none of them may see those after it.",
    layer_with(allow=lambda new: None if new.cache else causal_of(new)),
    "mask-of-numbers: The mask holds 1 and 0, which are added to the scores: make it boolean, True "
    "where attention is allowed.",
    layer_with(allow=lambda new: causal_of(new).astype(float)),
    "itself-missing: No word sees itself: the mask's diagonal is one place too far left.",
    layer_with(allow=lambda new: causal_of(new, -1)),
    "one-word-ahead: Each word sees one too many: the mask's diagonal is one place too far right.",
    layer_with(allow=lambda new: causal_of(new, 1)),
    "mask-inverted: The mask is inverted: True means that attention is allowed.",
    layer_with(allow=lambda new: ~causal_of(new)),
    "mask-by-positions: The mask follows the positions: they serve the rotation only, and the "
    "order of the words decides who sees whom.",
    layer_with(allow=by_positions),
    layer_with(allow=lambda new: np.arange(new.total) <= new.positions[:, None]),
    layer_with(allow=lambda new: np.tri(new.length, new.total, new.positions[0], dtype=bool)),
    "cache-unused: The new words attend to themselves alone: put their keys and values behind "
    "those of the cache first.",
    layer_with(
        look=lambda new: (new.key, new.value), allow=lambda new: causal(new.length, new.length)
    ),
    layer_with(
        look=lambda new: (new.key, new.value),
        allow=lambda new: causal(new.length, new.length),
        keep=lambda new: (new.key, new.value),
    ),
    "groups-take-turns: The groups take turns through the query heads (0, 1, 0, 1): consecutive "
    "heads share one (0, 0, 1, 1).",
    layer_with(share=tiled),
    "divided-by-groups: Query head h uses group h // G here: divide by the number of heads in a group, "
    "h // (H // G).",
    layer_with(share=divided_by_groups),
    "first-group-only: All query heads use the first group: query head h uses group h // (H / G).",
    layer_with(share=lambda array, heads: np.repeat(array[..., :1, :, :], heads, axis=-3)),
    f"split-without-swap: {SPLIT_WITHOUT_SWAP}",
    layer_with(split=split_by_reshape, merge=merge_by_reshape),
    layer_with(split=split_by_reshape),
    "merge-without-swap: The heads are merged by a reshape alone, which mixes up the positions: "
    "swap the axes of heads and positions first.",
    layer_with(merge=merge_by_reshape),
    f"heads-take-turns: {HEADS_IN_TURNS}",
    layer_with(split=split_interleaved),
    "root-of-width: The scores are divided by √D: each head has d = D/H, and 1/√d is its scale.",
    layer_with(scale=lambda new: 1 / math.sqrt(new.x.shape[-1])),
    "never-scaled: The scores are not scaled: each head divides them by √d.",
    layer_with(scale=lambda new: 1.0),
    "divided-by-d: The scores are divided by d: it is the root, √d, and once is enough; attention "
    "does it already.",
    layer_with(scale=lambda new: 1 / new.key.shape[-1]),
    "w-o-missing: w_o is forgotten: the merged heads are still to be multiplied by it.",
    layer_with(finish=lambda merged, w_o: merged),
    "w-o-transposed: w_o is transposed: it stands on the right as it is, merged @ w_o.",
    layer_with(finish=lambda merged, w_o: merged @ w_o.T),
    "keys-values-exchanged: Keys and values have changed their projections: keys come from w_k, "
    "values from w_v.",
    layer_with(order=(0, 2, 1)),
    "cache-of-copies: The cache holds a copy of keys and values for each query head: keep the G "
    "heads as they are, and repeat them for the scores alone. Sharing is to save this memory.",
    layer_with(keep=lambda new: tuple(repeated(part, new.num_heads) for part in right_cache(new))),
    "cache-unchanged: The cache comes back as it was: return it with the new keys and values.",
    layer_with(keep=lambda new: new.cache),
    layer_with(keep=lambda new: new.cache or (new.key, new.value)),
    "cache-of-new-words: The cache returned holds the new words alone: return the keys and values "
    "of all words so far.",
    layer_with(keep=lambda new: (new.key, new.value)),
    "newest-first: The new words stand first in the cache: words are kept in order, newest last.",
    layer_with(keep=in_front),
    layer_with(look=in_front, keep=in_front),
    "values-first-in-cache: The cache has the values first: return output, (keys, values).",
    layer_with(keep=lambda new: right_cache(new)[::-1]),
    "cache-not-returned: The cache is not returned: return output, (keys, values).",
    layer_with(result=lambda output, cache: output),
    "three-results: Three results come back: return two, the output and the pair (keys, values).",
    layer_with(result=lambda output, cache: (output, *cache)),
    "cache-first: The cache comes first: return output, (keys, values).",
    layer_with(result=lambda output, cache: (cache, output)),
    *overflow_mistake(layer_with),
    f"pieces-differ: {PIECES_DIFFER}",
    CacheOfItsOwn(),
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
