"""`grouped_query_attention(query, key, value, mask=None)` lets query heads share keys and values.

`query` has shape `(..., H, L, d)`, `key` `(..., G, S, d)` and `value` `(..., G, S, d_v)`, where G
divides H: the H/G consecutive query heads from g · H/G on use group g. The scale is 1/√d. The mask
is boolean or float and broadcast to `(..., H, L, S)`. The result is the output alone,
`(..., H, L, d_v)`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from attention_lib.checks.calls.case import Answer, Case
from attention_lib.checks.exercise import Exercise, composable, known_mistakes
from attention_lib.exercises.parts.attention import (
    attend,
    attention_magnitude,
    mask_mistakes,
    masked_by,
    output_with,
)
from attention_lib.exercises.parts.cases import draw_mask, in_float32
from attention_lib.exercises.parts.heads import (
    BEYOND_LARGE_NEGATIVES,
    axis_mistakes,
    overflow_mistake,
)
from attention_lib.lessons.attention import attention
from attention_lib.lessons.multihead import grouped_query_attention

HINTS = (
    "With H query heads and G groups, H // G consecutive query heads share a group. For "
    "H = 6 and G = 2: which group does each of the heads 0 to 5 use?",
    "np.repeat(key, H // G, axis=-3) gives every query head a key head of its own. The values "
    "need the same. What does np.repeat do to [0, 1], and what does np.tile?",
    "After that it is attention as in lesson 05; return its output alone.",
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


def repeated(array: NDArray, heads: int) -> NDArray:
    return np.repeat(array, heads // array.shape[-3], axis=-3)


def tiled(array: NDArray, heads: int) -> NDArray:
    return array[..., np.arange(heads) % array.shape[-3], :, :]


def divided_by_groups(array: NDArray, heads: int) -> NDArray:
    return array[..., np.arange(heads) // array.shape[-3], :, :]


def magnitude(query: NDArray, key: NDArray, value: NDArray, mask: NDArray | None = None) -> NDArray:
    shared = (repeated(array, query.shape[-3]) for array in (key, value))
    return attention_magnitude(query, *shared, mask)[0]


Share = Callable[[NDArray, int], NDArray]


@composable
def groups_with(
    share: Share = repeated,
    share_values: Share | None = None,
    scale: Callable[[NDArray, NDArray, NDArray], float | None] = lambda query, key, value: None,
    attend: Answer = attend,
) -> Answer:
    """Make grouped attention from parts; a mistake replaces some of them.

    `share` gives every query head keys and values of its own; `share_values` replaces it for the
    values.
    """

    def answer(
        query: NDArray, key: NDArray, value: NDArray, mask: NDArray | None = None
    ) -> NDArray:
        heads = query.shape[-3]
        shared = share(key, heads), (share_values or share)(value, heads)
        return attend(query, *shared, mask, scale(query, key, value))

    return answer


def of_first_head(mask: NDArray) -> NDArray:
    return mask[..., :1, :, :] if mask.ndim > 2 else mask


def mask_without_groups(
    query: NDArray, key: NDArray, value: NDArray, mask: NDArray | None = None
) -> NDArray:
    """Give the scores an axis for the groups, and the mask none."""
    *leading, heads, length, size = query.shape
    query = query.reshape(*leading, key.shape[-3], -1, length, size)
    output = attend(query, key[..., None, :, :], value[..., None, :, :], mask)
    return output.reshape(*leading, heads, length, value.shape[-1])


MISTAKES = known_mistakes(
    "groups-take-turns: The groups take turns through the query heads (0, 1, 0, 1): consecutive "
    "heads share one (0, 0, 1, 1).",
    groups_with(tiled),
    "divided-by-groups: Query head h uses group h // G here: divide by the number of heads in a group, "
    "h // (H // G).",
    groups_with(divided_by_groups),
    "values-not-shared: The keys are shared rightly, the values are not: value head h // (H / G) "
    "belongs to query head h, as for the keys.",
    groups_with(repeated, tiled),
    "keys-not-shared: The values are shared rightly, the keys are not: key head h // (H / G) "
    "belongs to query head h, as for the values.",
    groups_with(tiled, repeated),
    "first-group-only: All query heads use the first group: query head h uses group h // (H / G).",
    groups_with(lambda array, heads: np.repeat(array[..., :1, :, :], heads, axis=-3)),
    "groups-averaged: The groups are averaged: query head h uses group h // (H / G) alone.",
    groups_with(lambda array, heads: np.repeat(array.mean(axis=-3, keepdims=True), heads, axis=-3)),
    "groups-reversed: The groups are used in reverse order: query head 0 uses group 0.",
    groups_with(lambda array, heads: repeated(array[..., ::-1, :, :], heads)),
    "never-scaled: The scores are not scaled: divide them by √d.",
    groups_with(scale=lambda query, key, value: 1.0),
    "root-of-another-size: You scale by the root of another size than d, query.shape[-1].",
    groups_with(scale=lambda query, key, value: 1 / math.sqrt(value.shape[-1])),
    groups_with(scale=lambda query, key, value: 1 / math.sqrt(key.shape[-2])),
    groups_with(scale=lambda query, key, value: 1 / math.sqrt(query.shape[-2])),
    groups_with(scale=lambda query, key, value: 1 / math.sqrt(query.shape[-3])),
    groups_with(scale=lambda query, key, value: 1 / math.sqrt(key.shape[-3])),
    groups_with(scale=lambda query, key, value: 1 / math.sqrt(query.shape[-3] * query.shape[-1])),
    "divided-by-d: The scores are divided by d: it is the root, √d.",
    groups_with(scale=lambda query, key, value: 1 / query.shape[-1]),
    "pair-returned: Output and weights come back: return the output alone.",
    groups_with(attend=attention),
    "weights-returned: These are the weights: return the output, the weights times the values.",
    groups_with(attend=lambda *args: attention(*args)[1]),
    *mask_mistakes(lambda **parts: groups_with(attend=output_with(**parts))),
    "mask-of-first-head: All query heads get the mask of the first one: where the mask has an axis for "
    "the heads, head h has its own, mask[..., h, :, :].",
    groups_with(attend=output_with(masked=masked_by(of_first_head))),
    "mask-without-groups: The mask does not follow the scores into groups: broadcast it to (..., "
    "H, L, S), then reshape it as you reshape the query.",
    mask_without_groups,
    *axis_mistakes(groups_with),
    *overflow_mistake(groups_with),
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
