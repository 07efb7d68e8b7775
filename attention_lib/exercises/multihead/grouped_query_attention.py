"""`grouped_query_attention(query, key, value, mask=None)` lets query heads share keys and values.

`query` has shape `(..., H, L, d)`, `key` `(..., G, S, d)` and `value` `(..., G, S, d_v)`, where G
divides H: the H/G consecutive query heads from g · H/G on use group g. The scale is 1/√d. The mask
is boolean or float and broadcast to `(..., H, L, S)`. The result is the output alone,
`(..., H, L, d_v)`.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from attention_lib.checks.calls.case import Case
from attention_lib.checks.exercise import Exercise, known_mistakes
from attention_lib.exercises.parts.attention import attention_magnitude, masking_mistakes
from attention_lib.exercises.parts.cases import draw_mask, in_float32
from attention_lib.exercises.parts.heads import (
    BEYOND_LARGE_NEGATIVES,
    EXP_OVERFLOWS,
    SOFTMAX_OVER_WRONG_AXIS,
)
from attention_lib.lessons.multihead import grouped_query_attention
from attention_lib.lessons.stability import masked_softmax

HINTS = (
    "With H query heads and G groups, H // G consecutive query heads share a group. For "
    "H = 6 and G = 2: which group does each of the heads 0 to 5 use?",
    "np.repeat(key, H // G, axis=-3) gives every query head a key head of its own. The values "
    "need the same. What does np.repeat do to [0, 1], and what does np.tile?",
    "After that it is attention as in lesson 05; return only its output.",
)


def cases(rng: Generator) -> Iterator[Case]:
    query = np.array([[[2.0, 0.0]], [[0.0, 2.0]], [[2.0, 0.0]], [[0.0, 2.0]]])
    key = np.array([[[1.0, 0.0], [0.0, 1.0]], [[0.0, 1.0], [2.0, 0.0]]])
    value = np.array([[[1.0], [3.0]], [[10.0], [30.0]]])
    yield Case(query, key, value)
    yield draw_heads(rng, (), (4, 2), (3, 5), (6, 7))
    yield draw_heads(rng, (2,), (6, 2), (3, 5), (5, 2))
    yield draw_heads(rng, (2, 3), (6, 3), (2, 4), (3, 5))
    yield draw_heads(rng, (), (9, 3), (3, 3), (3, 3))  # square: a wrong axis fits as well
    yield draw_heads(rng, (2,), (4, 1), (3, 5), (6, 7))
    yield draw_heads(rng, (2,), (3, 3), (2, 5), (6, 7))
    yield draw_heads(rng, (), (6, 3), (5, 5), (3, 2), np.tri(5, dtype=bool))
    # As many sentences as groups: a mask laid along the wrong axis fits as well.
    padding = np.arange(5) < np.array([3, 5])[:, None, None, None]
    yield draw_heads(rng, (2,), (6, 2), (3, 5), (7, 4), padding)
    yield draw_heads(rng, (2,), (4, 2), (3, 5), (2, 6), draw_mask(rng, (2, 4, 3, 5)))
    yield draw_heads(rng, (2,), (4, 2), (3, 7), (5, 2), rng.normal(size=(4, 3, 7)))
    yield draw_heads(
        rng,
        (),
        (6, 2),
        (3, 3),
        (5, 4),
        np.where(np.tri(3, dtype=bool), rng.normal(size=(3, 3)), -np.inf),
    )
    yield Case(*in_float32(draw_heads(rng, (2,), (6, 3), (5, 2), (7, 4)).args))
    yield Case(*(rng.integers(-2, 3, shape) for shape in ((4, 2, 3), (2, 5, 3), (2, 5, 2))))
    query, *others = draw_heads(rng, (2,), (4, 2), (3, 5), (6, 7)).args
    yield Case(1e3 * query, *others)
    yield Case(1e3 * query, *others, mask=draw_mask(rng, (3, 5)))
    yield Case(BEYOND_LARGE_NEGATIVES * query, *others, mask=draw_mask(rng, (3, 5)))


def draw_heads(
    rng: Generator,
    leading: tuple[int, ...],
    heads: tuple[int, int],
    lengths: tuple[int, int],
    sizes: tuple[int, int],
    mask: NDArray | None = None,
) -> Case:
    """Draw query heads over groups, queries over keys, d over d_v."""
    keywords = {} if mask is None else {"mask": mask}
    return Case(
        rng.normal(size=(*leading, heads[0], lengths[0], sizes[0])),
        rng.normal(size=(*leading, heads[1], lengths[1], sizes[0])),
        rng.normal(size=(*leading, heads[1], lengths[1], sizes[1])),
        **keywords,
    )


def magnitude(query: NDArray, key: NDArray, value: NDArray, mask: NDArray | None = None) -> NDArray:
    shared = (np.repeat(a, query.shape[-3] // a.shape[-3], axis=-3) for a in (key, value))
    return attention_magnitude(query, *shared, mask)[0]


def plain(query, key, value, mask=None):
    groups = key.shape[-3]
    head = np.arange(query.shape[-3])
    group = head // (head.size // groups)
    keys = key[..., group, :, :]
    values = value[..., group, :, :]
    scale = 1 / math.sqrt(query.shape[-1])
    scores = query @ keys.mT * scale
    if mask is not None:
        scores = np.where(mask, scores, -np.inf) if mask.dtype == bool else scores + mask
    weights = masked_softmax(scores, scores > -np.inf)
    output = weights @ values
    return output


GROUP = "head // (head.size // groups)"

MISTAKES = known_mistakes(
    plain,
    "groups-take-turns: The groups take turns through the query heads (0, 1, 0, 1): consecutive "
    "heads share one (0, 0, 1, 1).",
    f"{GROUP} => head % groups",
    "divided-by-groups: Query head h uses group h // G here: divide by the number of heads in a group, "
    "h // (H // G).",
    f"{GROUP} => head // groups",
    "values-not-shared: The keys are shared rightly, the values are not: value head h // (H / G) "
    "belongs to query head h, as for the keys.",
    "value[..., group => value[..., head % groups",
    "keys-not-shared: The values are shared rightly, the keys are not: key head h // (H / G) "
    "belongs to query head h, as for the values.",
    "key[..., group => key[..., head % groups",
    "first-group-only: All query heads use the first group: query head h uses group h // (H / G).",
    f"{GROUP} => head * 0",
    "groups-averaged: The groups are averaged: query head h uses only group h // (H / G).",
    "key[..., group, :, :] => key.mean(axis=-3, keepdims=True) && "
    "value[..., group, :, :] => value.mean(axis=-3, keepdims=True)",
    "groups-reversed: The groups are used in reverse order: query head 0 uses group 0.",
    f"{GROUP} => groups - 1 - {GROUP}",
    "never-scaled: The scores are not scaled: divide them by √d.",
    "1 / math.sqrt(query.shape[-1]) => 1.0",
    "root-of-another-size: You scale by the root of another size than d, query.shape[-1].",
    "query.shape[-1] => {value.shape[-1]|key.shape[-2]|query.shape[-2]|query.shape[-3]|key.shape[-3]}",
    "query.shape[-1] => (query.shape[-3] * query.shape[-1])",
    "divided-by-d: The scores are divided by d: it is the root, √d.",
    "math.sqrt(query.shape[-1]) => query.shape[-1]",
    "pair-returned: Output and weights are returned: return only the output.",
    "return output => return output, weights",
    "weights-returned: These are the weights: return the output, the weights times the values.",
    "return output => return weights",
    *masking_mistakes(),
    "mask-of-first-head: All query heads get the mask of the first one: where the mask has an axis for "
    "the heads, head h has its own, mask[..., h, :, :].",
    "mask is not None: => mask is not None:\n"
    "        mask = mask[..., :1, :, :] if mask.ndim > 2 else mask",
    "mask-without-groups: The mask does not follow the scores into groups: broadcast it to (..., "
    "H, L, S), then reshape it as you reshape the query.",
    "mask is not None: => mask is not None:\n"
    "        by_group = (*scores.shape[:-3], groups, -1, *scores.shape[-2:])\n"
    "        mask = np.broadcast_to(mask, scores.reshape(by_group).shape).reshape(scores.shape)",
    *SOFTMAX_OVER_WRONG_AXIS,
    *EXP_OVERFLOWS,
)

EXERCISE = Exercise(
    name="grouped_query_attention",
    points=3,
    minutes=8,
    reference=grouped_query_attention,
    signature="grouped_query_attention(query, key, value, mask=None)",
    cases=cases,
    magnitude=magnitude,
    hints=HINTS,
    mistakes=MISTAKES,
)
