"""`multi_head_attention(x, w_q, w_k, w_v, w_o, num_heads, mask=None)` attends in several heads.

`x` has shape `(..., L, D)`; `w_q`, `w_k`, `w_v` and `w_o` have shape `(D, D)`, each multiplies from
the right, and there are no biases. Queries, keys and values are split into H = `num_heads` heads of
D/H columns; each head attends by itself, with the scale 1/√(D/H); the merged heads are multiplied
by `w_o`. The result has shape `(..., L, D)`. The mask is boolean or float, `(L, L)` or
`(..., L, L)`: it has no head axis and is the same for all heads.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from attention_lib.checks.calls.case import Case
from attention_lib.checks.exercise import Exercise, known_mistakes
from attention_lib.exercises.parts.attention import (
    WEIGHTS,
    attention_magnitude,
    masking_mistakes,
)
from attention_lib.exercises.parts.cases import draw_mask, in_float32
from attention_lib.exercises.parts.heads import (
    BEYOND_LARGE_NEGATIVES,
    EXP_OVERFLOWS,
    HEADS_IN_TURNS,
    SOFTMAX_OVER_WRONG_AXIS,
    SPLIT_WITHOUT_SWAP,
)
from attention_lib.lessons.multihead import merge_heads, multi_head_attention, split_heads
from attention_lib.lessons.stability import masked_softmax

HINTS = (
    "Four steps: project x with w_q, w_k and w_v; split each of the three into heads; attend; "
    "merge the heads and project with w_o.",
    "attention from lesson 05 takes heads as one more batch dimension, and scales by the size "
    "of a head, the last size of the query it is given. It returns two results.",
    "The scores have shape (..., H, L, L) and the mask (..., L, L): give the mask an axis of "
    "length 1 for the heads, mask[..., None, :, :]. Without a mask there is nothing to do.",
)

MORE_THAN_EXP_TAKES = 40.0  # a factor on x that makes scores of thousands


def cases(rng: Generator) -> Iterator[Case]:
    one, other = np.eye(4), np.array([[0.0, 1, 0, 0], [1, 0, 0, 0], [0, 0, 0, 2], [0, 0, 1, 0]])
    x = np.array([[1.0, 0.0, 2.0, 1.0], [0.0, 3.0, 1.0, -1.0], [1.0, 1.0, 0.0, 2.0]])
    yield Case(x, one, one, other, one, 2)
    yield draw_layer(rng, (), 3, 6, 2)
    yield draw_layer(rng, (), 3, 9, 3)  # square: here a wrong order of axes fits as well
    yield draw_layer(rng, (2,), 5, 6, 3)
    yield draw_layer(rng, (2, 3), 2, 10, 5)
    yield draw_layer(rng, (), 5, 6, 2, np.tri(5, dtype=bool))
    yield draw_layer(rng, (2,), 3, 6, 3, np.tri(3, dtype=bool))
    # As many sentences as heads: a mask laid along the wrong axis fits as well.
    yield draw_layer(rng, (2,), 3, 4, 2, draw_mask(rng, (2, 3, 3)))
    yield draw_layer(rng, (3,), 5, 6, 3, draw_mask(rng, (3, 5, 5)))
    yield draw_layer(rng, (2, 3), 5, 6, 3, draw_mask(rng, (2, 3, 5, 5)))
    yield draw_layer(
        rng, (2,), 3, 10, 2, np.where(np.tri(3, dtype=bool), rng.normal(size=(3, 3)), -np.inf)
    )
    yield draw_layer(rng, (2,), 5, 8, 4, rng.normal(size=(5, 5)))
    yield Case(*in_float32(draw_layer(rng, (2,), 5, 6, 2).args))
    yield draw_layer(rng, (), 5, 6, 1)
    yield draw_layer(rng, (), 5, 3, 3)
    integers = (rng.integers(-2, 3, shape) for shape in ((3, 4), (4, 4), (4, 4), (4, 4), (4, 4)))
    yield Case(*integers, 2)
    x, w_q, *others = draw_layer(rng, (2,), 3, 6, 2).args
    yield Case(MORE_THAN_EXP_TAKES * x, w_q, *others)
    yield Case(MORE_THAN_EXP_TAKES * x, w_q, *others, mask=np.tri(3, dtype=bool))
    yield Case(x, BEYOND_LARGE_NEGATIVES * w_q, *others, mask=np.tri(3, dtype=bool))
    yield Case(x, -BEYOND_LARGE_NEGATIVES * w_q, *others, mask=np.tri(3, dtype=bool))


def draw_layer(
    rng: Generator,
    leading: tuple[int, ...],
    length: int,
    width: int,
    heads: int,
    mask: NDArray | None = None,
) -> Case:
    weights = (1.5 * rng.normal(size=(width, width)) / math.sqrt(width) for _ in range(4))
    keywords = {} if mask is None else {"mask": mask}
    return Case(rng.normal(size=(*leading, length, width)), *weights, heads, **keywords)


def magnitude(x, w_q, w_k, w_v, w_o, num_heads, mask=None):
    projections = (w_q, w_k, w_v)
    heads = [split_heads(x @ weight, num_heads) for weight in projections]
    sizes = tuple(split_heads(np.abs(x) @ np.abs(weight), num_heads) for weight in projections)
    mask = None if mask is None else mask[..., None, :, :]
    return merge_heads(attention_magnitude(*heads, mask, sizes=sizes)[0]) @ np.abs(w_o)


def plain(x, w_q, w_k, w_v, w_o, num_heads, mask=None):
    size = x.shape[-1] // num_heads
    projected = [x @ weight for weight in (w_q, w_k, w_v)]
    pieces = [part.reshape(*x.shape[:-1], num_heads, size) for part in projected]
    query, key, value = [np.swapaxes(part, -2, -3) for part in pieces]
    scale = 1 / math.sqrt(size)
    scores = query @ key.mT * scale
    if mask is not None:
        mask = mask[..., None, :, :]
        scores = np.where(mask, scores, -np.inf) if mask.dtype == bool else scores + mask
    weights = masked_softmax(scores, scores > -np.inf)
    output = weights @ value
    merged = np.swapaxes(output, -2, -3).reshape(x.shape)
    return merged @ w_o


SPLIT_BY_RESHAPE = (
    "(*x.shape[:-1], num_heads, size) => (*x.shape[:-2], num_heads, x.shape[-2], size) && "
    "np.swapaxes(part, -2, -3) => part"
)
SPLIT_INTERLEAVED = (
    "num_heads, size) for => size, num_heads) for && "
    "np.swapaxes(part, -2, -3) => np.moveaxis(part, -1, -3)"
)
MERGED = "np.swapaxes(output, -2, -3)"

MISTAKES = known_mistakes(
    plain,
    "w-o-missing: w_o is forgotten: the merged heads are still to be multiplied by it.",
    "merged @ w_o => merged",
    "root-of-width: The scores are divided by √D: each head has d = D/H, and 1/√d is its scale.",
    "math.sqrt(size) => math.sqrt(x.shape[-1])",
    "never-scaled: The scores are not scaled: each head divides them by √(D/H).",
    "1 / math.sqrt(size) => 1.0",
    "root-of-another-size: You divide the scores by the root of the number of heads or of "
    "positions: it is the root of the size of a head, D/H.",
    "math.sqrt(size) => math.sqrt({num_heads|x.shape[-2]})",
    "divided-by-size: The scores are divided by D/H: it is the root, √(D/H), and once is enough; "
    "attention does it already.",
    "math.sqrt(size) => size",
    f"split-without-swap: {SPLIT_WITHOUT_SWAP}",
    f"{SPLIT_BY_RESHAPE} && {MERGED} => output",
    SPLIT_BY_RESHAPE,
    "merge-without-swap: The heads are merged only by a reshape, which mixes up the positions: "
    "swap the axes of heads and positions first.",
    f"{MERGED} => output",
    f"heads-take-turns: {HEADS_IN_TURNS}",
    f"{SPLIT_INTERLEAVED} && {MERGED} => np.moveaxis(output, -3, -1)",
    SPLIT_INTERLEAVED,
    "merged-columns-take-turns: The columns of the heads take turns in the merged array: all "
    "columns of head 0 come first, then those of head 1.",
    f"{MERGED} => np.moveaxis(output, -3, -1)",
    "heads-attend-to-heads: The heads of one position attend to each other: swap the axes to "
    "(..., H, L, D/H), so that the positions do.",
    f"np.swapaxes(part, -2, -3) => part && {MERGED} => output",
    "one-head: This is one head of size D: split query, key and value into num_heads heads.",
    "size = x => num_heads = 1\n    size = x",
    "not-projected: Query, key and value are split without their projections: multiply x by w_q, "
    "w_k and w_v first.",
    "x @ weight => x",
    "matrices-transposed: The matrices are transposed: multiply by them as they are, x @ w_q.",
    "x @ weight => x @ weight.T",
    "x @ weight => x @ weight.T && merged @ w_o => merged @ w_o.T",
    "w-o-transposed: w_o is transposed: it stands on the right as it is, merged @ w_o.",
    "merged @ w_o => merged @ w_o.T",
    "projections-exchanged: Projections are exchanged: w_q makes queries, w_k keys, w_v values.",
    "(w_q, w_k, w_v)] => {(w_k, w_q, w_v)|(w_q, w_v, w_k)|(w_v, w_k, w_q)|(w_k, w_v, w_q)|(w_v, w_q, w_k)}]",
    "keys-as-values: Keys and values are projected alike: keys come from w_k, values from w_v.",
    "(w_q, w_k, w_v)] => (w_q, {w_k, w_k|w_v, w_v})]",
    "residual-added: x is added to the result: here only the output of the heads is asked for.",
    "return => return x +",
    "mask-against-heads: The mask lies along the wrong axes: sentence 2's mask meets head 2. Its last "
    "two axes need one for the heads before them, of length 1: mask[..., None, :, :].",
    "mask[..., None, :, :] => mask",
    "mask-head-axis-misplaced: The axis of the heads is put after the first one of the mask, "
    "where it belongs with one batch dimension only: mask[..., None, :, :] puts it before the "
    "last two.",
    "mask[..., None, :, :] => {mask if mask.ndim < 3 else mask[:, None]|mask[:, None]}",
    *masking_mistakes(),
    *SOFTMAX_OVER_WRONG_AXIS,
    "no-softmax: The scores are mixed without softmax: turn each row into weights first.",
    f"{WEIGHTS} => scores",
    *EXP_OVERFLOWS,
)

EXERCISE = Exercise(
    name="multi_head_attention",
    points=4,
    minutes=11,
    reference=multi_head_attention,
    signature="multi_head_attention(x, w_q, w_k, w_v, w_o, num_heads, mask=None)",
    cases=cases,
    magnitude=magnitude,
    hints=HINTS,
    mistakes=MISTAKES,
    built_on=("split_heads", "merge_heads"),
)
