"""The exercises of lesson 06: heads, groups, positions, caches."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from attention_lib.checks.calls.case import Answer, Case
from attention_lib.checks.exercise import Exercise, Mistake
from attention_lib.lessons.attention import attention
from attention_lib.lessons.multihead import (
    decode_step,
    grouped_query_attention,
    merge_heads,
    multi_head_attention,
    rotary_embedding,
    split_heads,
)
from attention_lib.lessons.scaling import scaled_scores
from attention_lib.lessons.stability import masked_softmax, stable_softmax

# split_heads


def _whole_cases(rng: Generator) -> Iterator[Case]:
    yield Case(np.arange(12.0).reshape(2, 6), 3)
    yield Case(np.arange(12.0).reshape(3, 4), 2)
    yield Case(rng.normal(size=(2, 5, 6)), 2)
    yield Case(rng.normal(size=(3, 3, 9)), 3)  # square: here a wrong order of axes fits as well
    yield Case(rng.normal(size=(2, 3, 5, 8)), 4)
    yield Case(rng.normal(size=(5, 6)).astype(np.float32), 3)
    yield Case(np.arange(20).reshape(5, 4), 2)
    yield Case(rng.normal(size=(2, 4, 6)), 1)
    yield Case(rng.normal(size=(3, 5)), 5)
    yield Case(rng.normal(size=(2, 6)), 4, raises=ValueError)
    yield Case(rng.normal(size=(3, 4, 5)), 2, raises=ValueError)


def _split(x: NDArray, num_heads: int) -> NDArray:
    """Split as asked for: head h has the columns from h · D/H on."""
    if x.shape[-1] % num_heads:
        raise ValueError(f"{x.shape[-1]} is not a multiple of {num_heads}")
    return np.swapaxes(x.reshape(*x.shape[:-1], num_heads, -1), -2, -3)


def _split_by_reshape(x: NDArray, num_heads: int) -> NDArray:
    *leading, length, width = x.shape
    if width % num_heads:
        raise ValueError
    return x.reshape(*leading, num_heads, length, width // num_heads)


def _split_interleaved(x: NDArray, num_heads: int) -> NDArray:
    if x.shape[-1] % num_heads:
        raise ValueError
    return np.moveaxis(x.reshape(*x.shape[:-1], -1, num_heads), -1, -3)


def _split_and_cut(x: NDArray, num_heads: int) -> NDArray:
    size = x.shape[-1] // num_heads
    return _split(x[..., : size * num_heads], num_heads)


SPLIT_HEADS = Exercise(
    name="split_heads",
    points=1,
    minutes=4,
    reference=split_heads,
    signature="split_heads(x, num_heads)",
    cases=_whole_cases,
    hints=(
        "Two steps. First cut the last axis into two: (..., L, D) becomes (..., L, H, D/H). "
        "Is that a reshape or a transpose?",
        "*leading, L, D = x.shape takes the shape apart, whatever the number of dimensions.",
        "Then let the axes of positions and heads change places: np.swapaxes(y, -2, -3).",
    ),
    mistakes=(
        Mistake(
            "One reshape straight to (..., H, L, D/H) deals whole positions out to the heads: "
            "reshape to (..., L, H, D/H), then swap the axes L and H.",
            _split_by_reshape,
        ),
        Mistake(
            "The axes of positions and heads are still to be swapped: (..., L, H, D/H) becomes "
            "(..., H, L, D/H).",
            lambda x, num_heads: np.swapaxes(_split(x, num_heads), -2, -3),
        ),
        Mistake(
            "The heads take turns through the columns: head 0 gets the first D/H columns, the "
            "next head the next. Reshape to (..., L, H, D/H), with H before D/H.",
            _split_interleaved,
        ),
        Mistake(
            "num_heads is taken for the size of a head: there are num_heads heads, each of "
            "D / num_heads columns.",
            lambda x, num_heads: _split(x, x.shape[-1] // num_heads),
        ),
        Mistake(
            "The last two axes of the result have changed places: it has shape (..., H, L, D/H).",
            lambda x, num_heads: np.swapaxes(_split(x, num_heads), -1, -2),
        ),
        Mistake(
            "The heads stand before the batch: their axis comes right before the positions, "
            "(..., H, L, D/H).",
            lambda x, num_heads: np.moveaxis(_split(x, num_heads), -3, 0),
        ),
        Mistake(
            "All axes are reversed: swap the two axes of positions and heads only.",
            lambda x, num_heads: _split_by_reshape(x.T, num_heads),
            lambda x, num_heads: x.reshape(*x.shape[:-1], num_heads, x.shape[-1] // num_heads).T,
        ),
        Mistake(
            "Columns are left out where D is not a multiple of H: raise ValueError there.",
            _split_and_cut,
        ),
    ),
)

# merge_heads


def _heads_cases(rng: Generator) -> Iterator[Case]:
    yield Case(np.arange(12.0).reshape(3, 2, 2))
    yield Case(np.arange(12.0).reshape(2, 3, 2))
    yield Case(rng.normal(size=(2, 3, 5, 4)))
    yield Case(rng.normal(size=(3, 3, 3)))  # square: here a wrong order of axes fits as well
    yield Case(rng.normal(size=(2, 3, 4, 5, 6)))
    yield Case(rng.normal(size=(3, 5, 2)).astype(np.float32))
    yield Case(np.arange(20).reshape(2, 5, 2))
    yield Case(rng.normal(size=(2, 1, 5, 3)))
    yield Case(rng.normal(size=(4, 3, 1)))


def _merge(x: NDArray) -> NDArray:
    side_by_side = np.swapaxes(x, -2, -3)
    return side_by_side.reshape(*side_by_side.shape[:-2], -1)


def _merge_by_reshape(x: NDArray) -> NDArray:
    *leading, heads, length, size = x.shape
    return x.reshape(*leading, length, heads * size)


def _merge_interleaved(x: NDArray) -> NDArray:
    columns = np.moveaxis(x, -3, -1)
    return columns.reshape(*columns.shape[:-2], -1)


MERGE_HEADS = Exercise(
    name="merge_heads",
    points=1,
    minutes=3,
    reference=merge_heads,
    signature="merge_heads(x)",
    cases=_heads_cases,
    hints=(
        "Undo the two steps of split_heads, the last one first.",
        "Swap the axes of heads and positions: (..., L, H, D/H). Now the columns of one position "
        "lie side by side, and a reshape joins the last two axes.",
    ),
    mistakes=(
        Mistake(
            "One reshape straight to (..., L, D) mixes up the positions: swap the axes of heads and "
            "positions first.",
            _merge_by_reshape,
        ),
        Mistake(
            "The columns of the heads take turns: all columns of head 0 come first, then those of "
            "head 1.",
            _merge_interleaved,
        ),
        Mistake(
            "The heads are added up: put their columns side by side.",
            lambda x: x.sum(axis=-3),
        ),
        Mistake(
            "The heads are averaged: put their columns side by side.",
            lambda x: x.mean(axis=-3),
        ),
        Mistake(
            "The heads lie one below the other: put their columns side by side, (..., L, D).",
            lambda x: x.reshape(*x.shape[:-3], -1, x.shape[-1]),
        ),
        Mistake(
            "The last two axes are still to be joined: reshape (..., L, H, D/H) to (..., L, D).",
            lambda x: np.swapaxes(x, -2, -3),
        ),
        Mistake(
            "The heads stand in reverse order: head 0 gives the first columns.",
            lambda x: _merge(x[..., ::-1, :, :]),
        ),
        Mistake(
            "All axes are reversed: swap the two axes of heads and positions only.",
            lambda x: x.T.reshape(*x.shape[:-3], x.shape[-2], -1),
        ),
    ),
)

# multi_head_attention

MORE_THAN_EXP_TAKES = 40.0  # a factor on x that makes scores of thousands
BEYOND_STAND_INS = 1e20  # a factor on queries: scores far from every number taken for -inf


def _many_heads_cases(rng: Generator) -> Iterator[Case]:
    one, other = np.eye(4), np.array([[0.0, 1, 0, 0], [1, 0, 0, 0], [0, 0, 0, 2], [0, 0, 1, 0]])
    x = np.array([[1.0, 0.0, 2.0, 1.0], [0.0, 3.0, 1.0, -1.0], [1.0, 1.0, 0.0, 2.0]])
    yield Case(x, one, one, other, one, 2)
    yield _layer(rng, (), 3, 6, 2)
    yield _layer(rng, (), 3, 9, 3)  # square: here a wrong order of axes fits as well
    yield _layer(rng, (2,), 5, 6, 3)
    yield _layer(rng, (2, 3), 2, 10, 5)
    yield _layer(rng, (), 5, 6, 2, _causal(5))
    yield _layer(rng, (2,), 3, 6, 3, _causal(3))
    # As many sentences as heads: a mask laid along the wrong axis fits as well.
    yield _layer(rng, (2,), 3, 4, 2, _some_allowed(rng, (2, 3, 3)))
    yield _layer(rng, (3,), 5, 6, 3, _some_allowed(rng, (3, 5, 5)))
    yield _layer(rng, (2, 3), 5, 6, 3, _some_allowed(rng, (2, 3, 5, 5)))
    yield _layer(rng, (2,), 3, 10, 2, np.where(_causal(3), rng.normal(size=(3, 3)), -np.inf))
    yield _layer(rng, (2,), 5, 8, 4, rng.normal(size=(5, 5)))
    yield Case(*(_single(a) for a in _layer(rng, (2,), 5, 6, 2).args))
    yield _layer(rng, (), 5, 6, 1)
    yield _layer(rng, (), 5, 3, 3)
    integers = (rng.integers(-2, 3, shape) for shape in ((3, 4), (4, 4), (4, 4), (4, 4), (4, 4)))
    yield Case(*integers, 2)
    x, w_q, *others = _layer(rng, (2,), 3, 6, 2).args
    yield Case(MORE_THAN_EXP_TAKES * x, w_q, *others)
    yield Case(MORE_THAN_EXP_TAKES * x, w_q, *others, mask=_causal(3))
    yield Case(x, BEYOND_STAND_INS * w_q, *others, mask=_causal(3))
    yield Case(x, -BEYOND_STAND_INS * w_q, *others, mask=_causal(3))


def _causal(length: int) -> NDArray[np.bool_]:
    return np.tri(length, dtype=bool)


def _some_allowed(rng: Generator, shape: tuple[int, ...]) -> NDArray[np.bool_]:
    """Draw a mask that allows and forbids something in every row."""
    return rng.permuted(np.broadcast_to(np.arange(shape[-1]) < shape[-1] // 2, shape), axis=-1)


def _single(value: Any) -> Any:
    return value.astype(np.float32) if isinstance(value, np.ndarray) else value


def _layer(
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


def _mixture_size(
    query: NDArray,
    key: NDArray,
    value: NDArray,
    mask: NDArray | None,
    sizes: tuple[NDArray, NDArray, NDArray] | None = None,
) -> NDArray:
    """Return the size of what attention adds up, given the sizes its arguments were formed at."""
    query_size, key_size, value_size = sizes or tuple(map(np.abs, (query, key, value)))
    products = scaled_scores(query_size, key_size).max(axis=-1, keepdims=True)
    if mask is not None and mask.dtype != bool:
        products = products + np.abs(np.where(np.isfinite(mask), mask, 0.0)).max()
    # A weight is as uncertain as its score: in proportion to the products summed for it.
    weights = attention(query, key, value, mask)[1] * (1 + 2 * products)
    return weights @ value_size


def _many_heads_size(
    x: NDArray,
    w_q: NDArray,
    w_k: NDArray,
    w_v: NDArray,
    w_o: NDArray,
    num_heads: int,
    mask: NDArray | None = None,
) -> NDArray:
    projections = (w_q, w_k, w_v)
    heads = [_split(x @ weight, num_heads) for weight in projections]
    sizes = tuple(_split(np.abs(x) @ np.abs(weight), num_heads) for weight in projections)
    return _merge(_mixture_size(*heads, _over_heads(mask), sizes)) @ np.abs(w_o)


def _has_no_batch(mask: NDArray | None) -> bool:
    return mask is None or mask.ndim < 3


def _over_heads(mask: NDArray | None) -> NDArray | None:
    return None if mask is None else mask[..., None, :, :]


def _attend(
    query: NDArray,
    key: NDArray,
    value: NDArray,
    mask: NDArray | None = None,
    *,
    scale: float | None = None,
    weigh: Callable[[NDArray], NDArray] = stable_softmax,
) -> NDArray:
    """Attend as asked for, or with one of the steps replaced by a wrong one."""
    scores = scaled_scores(query, key, scale)
    if mask is not None:
        scores = np.where(mask, scores, -np.inf) if mask.dtype == bool else scores + mask
    return weigh(scores) @ value


def _plain_softmax(scores: NDArray) -> NDArray:
    exponentials = np.exp(scores)
    return exponentials / exponentials.sum(axis=-1, keepdims=True)


def _plain_softmax_or_zeros(scores: NDArray) -> NDArray:
    total = (exponentials := np.exp(scores)).sum(axis=-1, keepdims=True)
    return np.divide(exponentials, total, out=np.zeros_like(exponentials), where=total != 0)


def _weighing_along(axis: int, zeros: bool = False) -> Callable[..., NDArray]:
    """Attend with softmax along a wrong axis; with `zeros` where all of it is forbidden."""

    def weigh(scores: NDArray) -> NDArray:
        if zeros:
            return masked_softmax(scores, scores > -np.inf, axis)
        return stable_softmax(scores, axis)

    return lambda *args: _attend(*args, weigh=weigh)


def _filled(fill: float) -> Callable[..., NDArray]:
    """Attend with a large negative number in place of -inf."""

    def attend(
        query: NDArray, key: NDArray, value: NDArray, mask: NDArray | None = None
    ) -> NDArray:
        scores = scaled_scores(query, key)
        if mask is not None:
            scores = np.where(mask, scores, fill) if mask.dtype == bool else scores + mask
        return stable_softmax(scores) @ value

    return attend


STAND_INS = tuple(map(_filled, (-1e4, -1e5, -1e6, -1e8, -1e9, -1e10, -1e12)))
NO_STAND_IN = (
    "A large negative number is not -inf: where the scores lie far below it, forbidden keys take "
    "their weight. Use -inf."
)


def _mask_afterwards(
    query: NDArray, key: NDArray, value: NDArray, mask: NDArray | None = None
) -> NDArray:
    if mask is None or mask.dtype != bool:
        return _attend(query, key, value, mask)
    return (stable_softmax(scaled_scores(query, key)) * mask) @ value


def _many_heads(
    x: NDArray,
    w_q: NDArray,
    w_k: NDArray,
    w_v: NDArray,
    w_o: NDArray,
    num_heads: int,
    mask: NDArray | None = None,
    *,
    split: Callable[[NDArray, int], NDArray] = _split,
    merge: Callable[[NDArray], NDArray] = _merge,
    attend: Callable[..., NDArray] = _attend,
    place: Callable[[NDArray | None], NDArray | None] = _over_heads,
    project: Callable[[NDArray, NDArray], NDArray] = np.matmul,
    finish: Callable[[NDArray, NDArray], NDArray] = np.matmul,
) -> NDArray:
    """Run several heads as asked for, or with some of the steps replaced by wrong ones."""
    query, key, value = (split(project(x, weight), num_heads) for weight in (w_q, w_k, w_v))
    return finish(merge(attend(query, key, value, place(mask))), w_o)


def _layer_with(**changes: Callable[..., Any]) -> Answer:
    def answer(
        x: NDArray,
        w_q: NDArray,
        w_k: NDArray,
        w_v: NDArray,
        w_o: NDArray,
        num_heads: int,
        mask: NDArray | None = None,
    ) -> NDArray:
        return _many_heads(x, w_q, w_k, w_v, w_o, num_heads, mask, **changes)

    return answer


def _layer_scaled(scale: Callable[[NDArray, int], float]) -> Answer:
    """Make an answer with a wrong scale, found from x and the number of heads."""

    def answer(
        x: NDArray,
        w_q: NDArray,
        w_k: NDArray,
        w_v: NDArray,
        w_o: NDArray,
        num_heads: int,
        mask: NDArray | None = None,
    ) -> NDArray:
        def attend(query: NDArray, key: NDArray, value: NDArray, mask: NDArray | None) -> NDArray:
            return _attend(query, key, value, mask, scale=scale(x, num_heads))

        return _many_heads(x, w_q, w_k, w_v, w_o, num_heads, mask, attend=attend)

    return answer


def _layer_in_order(order: tuple[int, int, int]) -> Answer:
    """Make an answer that takes the three projections for one another."""

    def answer(
        x: NDArray,
        w_q: NDArray,
        w_k: NDArray,
        w_v: NDArray,
        w_o: NDArray,
        num_heads: int,
        mask: NDArray | None = None,
    ) -> NDArray:
        weights = [(w_q, w_k, w_v)[i] for i in order]
        return _many_heads(x, *weights, w_o, num_heads, mask)

    return answer


def _inverted(mask: NDArray | None) -> NDArray | None:
    return ~mask if mask is not None and mask.dtype == bool else mask


def _as_numbers(mask: NDArray | None) -> NDArray | None:
    return None if mask is None else mask.astype(float)


def _as_booleans(mask: NDArray | None) -> NDArray | None:
    return None if mask is None else mask.astype(bool)


def _heads_at_one_position(x: NDArray, num_heads: int) -> NDArray:
    return x.reshape(*x.shape[:-1], num_heads, -1)


def _through_library(
    query: NDArray, key: NDArray, value: NDArray, mask: NDArray | None = None
) -> NDArray:
    return attention(query, key, value, mask)[0]


MULTI_HEAD_ATTENTION = Exercise(
    name="multi_head_attention",
    points=4,
    minutes=14,
    reference=multi_head_attention,
    signature="multi_head_attention(x, w_q, w_k, w_v, w_o, num_heads, mask=None)",
    cases=_many_heads_cases,
    magnitude=_many_heads_size,
    hints=(
        "Four steps: project x with w_q, w_k and w_v; split each of the three into heads; attend; "
        "merge the heads and project with w_o.",
        "attention from lesson 05 takes heads as one more batch dimension, and scales by the size "
        "of a head, the last size of the query it is given. It returns two results.",
        "The scores have shape (..., H, L, L) and the mask (..., L, L): give the mask an axis of "
        "length 1 for the heads, mask[..., None, :, :]. Without a mask there is nothing to do.",
    ),
    mistakes=(
        Mistake(
            "w_o is forgotten: the merged heads are still to be multiplied by it.",
            _layer_with(finish=lambda merged, w_o: merged),
        ),
        Mistake(
            "The scores are divided by √D: each head has its own d = D/H, and 1/√d is its scale.",
            _layer_scaled(lambda x, num_heads: 1 / math.sqrt(x.shape[-1])),
        ),
        Mistake(
            "The scores are not scaled: each head divides them by √(D/H).",
            _layer_scaled(lambda x, num_heads: 1.0),
        ),
        Mistake(
            "You divide the scores by the root of the number of heads or of positions: it is the "
            "root of the size of a head, D/H.",
            _layer_scaled(lambda x, num_heads: 1 / math.sqrt(num_heads)),
            _layer_scaled(lambda x, num_heads: 1 / math.sqrt(x.shape[-2])),
        ),
        Mistake(
            "The scores are divided by D/H: it is the root, √(D/H), and once is enough; attention "
            "does it already.",
            _layer_scaled(lambda x, num_heads: num_heads / x.shape[-1]),
        ),
        Mistake(
            "One reshape straight to (..., H, L, D/H) deals whole positions out to the heads: "
            "reshape to (..., L, H, D/H), then swap the axes L and H.",
            _layer_with(split=_split_by_reshape, merge=_merge_by_reshape),
            _layer_with(split=_split_by_reshape),
        ),
        Mistake(
            "The heads are merged by a reshape alone, which mixes up the positions: swap the axes "
            "of heads and positions first.",
            _layer_with(merge=_merge_by_reshape),
        ),
        Mistake(
            "The heads take turns through the columns: head 0 gets the first D/H columns, the "
            "next head the next. Reshape to (..., L, H, D/H), with H before D/H.",
            _layer_with(split=_split_interleaved, merge=_merge_interleaved),
            _layer_with(split=_split_interleaved),
        ),
        Mistake(
            "The columns of the heads take turns in the merged array: all columns of head 0 come "
            "first, then those of head 1.",
            _layer_with(merge=_merge_interleaved),
        ),
        Mistake(
            "The heads of one position attend to each other: swap the axes to (..., H, L, D/H), so "
            "that the positions do.",
            _layer_with(
                split=_heads_at_one_position,
                merge=lambda x: x.reshape(*x.shape[:-2], -1),
                attend=_through_library,
            ),
            _layer_with(
                split=_heads_at_one_position,
                merge=lambda x: x.reshape(*x.shape[:-2], -1),
                attend=_through_library,
                place=lambda mask: mask,
            ),
        ),
        Mistake(
            "This is one head of size D: split query, key and value into num_heads heads.",
            _layer_with(
                split=lambda x, num_heads: _split(x, 1),
            ),
        ),
        Mistake(
            "Query, key and value are split without their projections: multiply x by w_q, w_k and "
            "w_v first.",
            _layer_with(project=lambda x, weight: x),
        ),
        Mistake(
            "The weights are transposed: they stand on the right as they are, x @ w_q.",
            _layer_with(project=lambda x, weight: x @ weight.T),
            _layer_with(
                project=lambda x, weight: x @ weight.T,
                finish=lambda merged, w_o: merged @ w_o.T,
            ),
        ),
        Mistake(
            "w_o is transposed: it stands on the right as it is, merged @ w_o.",
            _layer_with(finish=lambda merged, w_o: merged @ w_o.T),
        ),
        Mistake(
            "The projections have changed places: w_q makes queries, w_k keys and w_v values.",
            *(
                _layer_in_order(order)
                for order in ((1, 0, 2), (0, 2, 1), (2, 1, 0), (1, 2, 0), (2, 0, 1))
            ),
        ),
        Mistake(
            "Keys and values are projected alike: keys come from w_k, values from w_v.",
            _layer_in_order((0, 1, 1)),
            _layer_in_order((0, 2, 2)),
        ),
        Mistake(
            "x is added to the result: here the output of the heads alone is asked for.",
            lambda x, *others, **keywords: x + _many_heads(x, *others, **keywords),
        ),
        Mistake(
            "The mask lies along the wrong axes: it has no head axis, so sentence 2's mask meets "
            "head 2. Give it an axis of length 1, mask[..., None, :, :].",
            _layer_with(place=lambda mask: mask),
            _layer_with(place=lambda mask: mask, attend=_through_library),
        ),
        Mistake(
            "The axis of the heads is put after the first one of the mask, where it belongs with one "
            "batch dimension only: mask[..., None, :, :] puts it before the last two.",
            _layer_with(place=lambda mask: mask if _has_no_batch(mask) else mask[:, None]),
            _layer_with(place=lambda mask: None if mask is None else mask[:, None]),
        ),
        Mistake(
            "The mask is ignored: it belongs to the scores, before softmax.",
            _layer_with(place=lambda mask: None),
        ),
        Mistake(
            "The mask is inverted: True means that attention is allowed.",
            _layer_with(place=lambda mask: _over_heads(_inverted(mask))),
            _layer_with(place=lambda mask: _over_heads(_inverted(mask)), attend=_through_library),
        ),
        Mistake(
            "A boolean mask is added to the scores as ones and zeros: where it is False the score "
            "becomes -inf.",
            _layer_with(place=lambda mask: _over_heads(_as_numbers(mask))),
        ),
        Mistake(
            "A mask of numbers is taken for booleans: numbers are added to the scaled scores.",
            _layer_with(place=lambda mask: _over_heads(_as_booleans(mask))),
        ),
        Mistake(
            "The mask is applied after softmax: then the rows no longer sum to 1. Mask the scores.",
            _layer_with(attend=_mask_afterwards),
        ),
        Mistake(NO_STAND_IN, *(_layer_with(attend=attend) for attend in STAND_INS)),
        Mistake(
            "Softmax runs over the queries: it must run over the keys, the last axis.",
            _layer_with(attend=_weighing_along(-2)),
            _layer_with(attend=_weighing_along(-2, zeros=True)),
        ),
        Mistake(
            "Softmax runs over the heads: it must run over the keys, the last axis.",
            _layer_with(attend=_weighing_along(-3)),
            _layer_with(attend=_weighing_along(-3, zeros=True)),
        ),
        Mistake(
            "The scores are mixed without softmax: turn each row into weights first.",
            _layer_with(attend=lambda *args: _attend(*args, weigh=lambda scores: scores)),
        ),
        Mistake(
            "The exponentials overflow for large scores: use the stable softmax of lesson 02, or "
            "attention.",
            _layer_with(attend=lambda *args: _attend(*args, weigh=_plain_softmax)),
            _layer_with(attend=lambda *args: _attend(*args, weigh=_plain_softmax_or_zeros)),
        ),
    ),
)

# grouped_query_attention


def _group_cases(rng: Generator) -> Iterator[Case]:
    query = np.array([[[2.0, 0.0]], [[0.0, 2.0]], [[2.0, 0.0]], [[0.0, 2.0]]])
    key = np.array([[[1.0, 0.0], [0.0, 1.0]], [[0.0, 1.0], [2.0, 0.0]]])
    value = np.array([[[1.0], [3.0]], [[10.0], [30.0]]])
    yield Case(query, key, value)
    yield _grouped(rng, (), (4, 2), (3, 5), (6, 7))
    yield _grouped(rng, (2,), (6, 2), (3, 5), (5, 2))
    yield _grouped(rng, (2, 3), (6, 3), (2, 4), (3, 5))
    yield _grouped(rng, (), (9, 3), (3, 3), (3, 3))  # square: a wrong axis fits as well
    yield _grouped(rng, (2,), (4, 1), (3, 5), (6, 7))
    yield _grouped(rng, (2,), (3, 3), (2, 5), (6, 7))
    yield _grouped(rng, (), (6, 3), (5, 5), (3, 2), _causal(5))
    # As many sentences as groups: a mask laid along the wrong axis fits as well.
    padding = np.arange(5) < np.array([3, 5])[:, None, None, None]
    yield _grouped(rng, (2,), (6, 2), (3, 5), (7, 4), padding)
    yield _grouped(rng, (2,), (4, 2), (3, 5), (2, 6), _some_allowed(rng, (2, 4, 3, 5)))
    yield _grouped(rng, (2,), (4, 2), (3, 7), (5, 2), rng.normal(size=(4, 3, 7)))
    yield _grouped(
        rng, (), (6, 2), (3, 3), (5, 4), np.where(_causal(3), rng.normal(size=(3, 3)), -np.inf)
    )
    yield Case(*map(_single, _grouped(rng, (2,), (6, 3), (5, 2), (7, 4)).args))
    yield Case(*(rng.integers(-2, 3, shape) for shape in ((4, 2, 3), (2, 5, 3), (2, 5, 2))))
    query, *others = _grouped(rng, (2,), (4, 2), (3, 5), (6, 7)).args
    yield Case(1e3 * query, *others)
    yield Case(1e3 * query, *others, mask=_some_allowed(rng, (3, 5)))
    yield Case(BEYOND_STAND_INS * query, *others, mask=_some_allowed(rng, (3, 5)))


def _grouped(
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


def _repeated(array: NDArray, heads: int) -> NDArray:
    return np.repeat(array, heads // array.shape[-3], axis=-3)


def _tiled(array: NDArray, heads: int) -> NDArray:
    return array[..., np.arange(heads) % array.shape[-3], :, :]


def _group_size(
    query: NDArray, key: NDArray, value: NDArray, mask: NDArray | None = None
) -> NDArray:
    heads = query.shape[-3]
    return _mixture_size(query, _repeated(key, heads), _repeated(value, heads), mask)


Share = Callable[[NDArray, int], NDArray]


def _sharing(
    key_share: Share = _repeated,
    value_share: Share | None = None,
    attend: Callable[..., NDArray] = _attend,
    place: Callable[[NDArray | None], NDArray | None] = lambda mask: mask,
) -> Answer:
    """Attend in groups as asked for, or with some of the steps replaced by wrong ones."""

    def answer(
        query: NDArray, key: NDArray, value: NDArray, mask: NDArray | None = None
    ) -> NDArray:
        heads = query.shape[-3]
        shared = key_share(key, heads), (value_share or key_share)(value, heads)
        return attend(query, *shared, place(mask))

    return answer


def _groups_scaled(scale: Callable[[NDArray, NDArray, NDArray], float]) -> Answer:
    def answer(
        query: NDArray, key: NDArray, value: NDArray, mask: NDArray | None = None
    ) -> NDArray:
        wrong = scale(query, key, value)
        return _sharing(attend=lambda *args: _attend(*args, scale=wrong))(query, key, value, mask)

    return answer


def _group_of_queries(
    query: NDArray, key: NDArray, value: NDArray, mask: NDArray | None = None
) -> NDArray:
    """Average the query heads of each group, and lose their number."""
    groups = key.shape[-3]
    query = query.reshape(*query.shape[:-3], groups, -1, *query.shape[-2:]).mean(axis=-3)
    return attention(query, key, value, mask)[0]


def _mask_without_groups(
    query: NDArray, key: NDArray, value: NDArray, mask: NDArray | None = None
) -> NDArray:
    """Give the scores an axis for the groups, and the mask none."""
    *leading, heads, length, size = query.shape
    query = query.reshape(*leading, key.shape[-3], -1, length, size)
    output = _attend(query, key[..., None, :, :], value[..., None, :, :], mask)
    return output.reshape(*leading, heads, length, value.shape[-1])


GROUPED_QUERY_ATTENTION = Exercise(
    name="grouped_query_attention",
    points=3,
    minutes=9,
    reference=grouped_query_attention,
    signature="grouped_query_attention(query, key, value, mask=None)",
    cases=_group_cases,
    magnitude=_group_size,
    hints=(
        "With H query heads and G groups, H // G consecutive query heads share a group. For "
        "H = 6 and G = 2: which group does each of the heads 0 to 5 use?",
        "np.repeat(key, H // G, axis=-3) gives every query head a key head of its own. What does "
        "it do to [0, 1], and what does np.tile?",
        "After that it is attention as in lesson 05; return its output alone.",
    ),
    mistakes=(
        Mistake(
            "The groups take turns through the query heads (0, 1, 0, 1): consecutive heads share "
            "one (0, 0, 1, 1). np.repeat does that, np.tile does not.",
            _sharing(_tiled),
        ),
        Mistake(
            "The keys are shared rightly, the values are not: value head h // (H / G) belongs to "
            "query head h, as for the keys.",
            _sharing(_repeated, _tiled),
        ),
        Mistake(
            "The values are shared rightly, the keys are not: key head h // (H / G) belongs to "
            "query head h, as for the values.",
            _sharing(_tiled, _repeated),
        ),
        Mistake(
            "All query heads use the first group: query head h uses group h // (H / G).",
            _sharing(lambda array, heads: np.repeat(array[..., :1, :, :], heads, axis=-3)),
        ),
        Mistake(
            "The groups are averaged into one: query head h uses group h // (H / G) alone.",
            _sharing(
                lambda array, heads: np.repeat(array.mean(axis=-3, keepdims=True), heads, axis=-3)
            ),
        ),
        Mistake(
            "The groups are used in reverse order: query head 0 uses group 0.",
            _sharing(lambda array, heads: _repeated(array[..., ::-1, :, :], heads)),
        ),
        Mistake(
            "The query heads of a group are averaged: each keeps its own queries, and the output "
            "has all H heads.",
            _group_of_queries,
        ),
        Mistake(
            "The scores are not scaled: divide them by √d.",
            _groups_scaled(lambda query, key, value: 1.0),
        ),
        Mistake(
            "You scale by the root of another size than d, the last one of query and key.",
            _groups_scaled(lambda query, key, value: 1 / math.sqrt(value.shape[-1])),
            _groups_scaled(lambda query, key, value: 1 / math.sqrt(key.shape[-2])),
            _groups_scaled(lambda query, key, value: 1 / math.sqrt(query.shape[-2])),
            _groups_scaled(lambda query, key, value: 1 / math.sqrt(query.shape[-3])),
            _groups_scaled(lambda query, key, value: 1 / math.sqrt(key.shape[-3])),
            _groups_scaled(
                lambda query, key, value: 1 / math.sqrt(query.shape[-3] * query.shape[-1])
            ),
        ),
        Mistake(
            "The scores are divided by d: it is the root, √d.",
            _groups_scaled(lambda query, key, value: 1 / query.shape[-1]),
        ),
        Mistake(
            "Output and weights come back: return the output alone.",
            lambda query, key, value, mask=None: attention(
                query, _repeated(key, query.shape[-3]), _repeated(value, query.shape[-3]), mask
            ),
        ),
        Mistake(
            "These are the weights: return the output, the weights times the values.",
            lambda query, key, value, mask=None: attention(
                query, _repeated(key, query.shape[-3]), _repeated(value, query.shape[-3]), mask
            )[1],
        ),
        Mistake(
            "The mask is ignored: it belongs to the scores, before softmax.",
            _sharing(place=lambda mask: None),
        ),
        Mistake(
            "The mask is inverted: True means that attention is allowed.",
            _sharing(place=_inverted),
            _sharing(place=_inverted, attend=_through_library),
        ),
        Mistake(
            "A boolean mask is added to the scores as ones and zeros: where it is False the score "
            "becomes -inf.",
            _sharing(place=_as_numbers),
        ),
        Mistake(
            "A mask of numbers is taken for booleans: numbers are added to the scaled scores.",
            _sharing(place=_as_booleans),
        ),
        Mistake(
            "The mask is applied after softmax: then the rows no longer sum to 1. Mask the scores.",
            _sharing(attend=_mask_afterwards),
        ),
        Mistake(NO_STAND_IN, *(_sharing(attend=attend) for attend in STAND_INS)),
        Mistake(
            "The mask does not follow the scores into groups: broadcast it to (..., H, L, S), then "
            "reshape it as you reshape the query.",
            _mask_without_groups,
        ),
        Mistake(
            "Softmax runs over the queries: it must run over the keys, the last axis.",
            _sharing(attend=_weighing_along(-2)),
            _sharing(attend=_weighing_along(-2, zeros=True)),
        ),
        Mistake(
            "Softmax runs over the heads: it must run over the keys, the last axis.",
            _sharing(attend=_weighing_along(-3)),
            _sharing(attend=_weighing_along(-3, zeros=True)),
        ),
        Mistake(
            "The exponentials overflow for large scores: use the stable softmax of lesson 02, or "
            "attention.",
            _sharing(attend=lambda *args: _attend(*args, weigh=_plain_softmax)),
            _sharing(attend=lambda *args: _attend(*args, weigh=_plain_softmax_or_zeros)),
        ),
    ),
)

# rotary_embedding


def _rotary_cases(rng: Generator) -> Iterator[Case]:
    yield Case(np.array([[1.0, 0.0], [1.0, 0.0], [0.0, 2.0]]), np.array([0, 1, 2]))
    yield Case(np.array([[1.0, 0.0, 2.0, 0.0], [0.0, 1.0, 0.0, 1.0]]), np.array([1, 2]))
    yield Case(rng.normal(size=(5, 6)), np.arange(5))
    yield Case(rng.normal(size=(3, 4)), np.array([7, 0, 3]))  # not the rows' own numbers
    yield Case(rng.normal(size=(6, 6)), np.arange(6) + 4)  # square: a wrong axis fits as well
    yield Case(rng.normal(size=(3, 6)), np.array([2, 5, 9]))  # as many positions as pairs
    yield Case(rng.normal(size=(2, 3, 8)), np.arange(3) + 11)
    yield Case(rng.normal(size=(2, 3, 5, 10)), np.array([4, 4, 1, 30, 2]))
    yield Case(rng.normal(size=(4, 6)), np.arange(4) + 1, base=100.0)
    yield Case(rng.normal(size=(2, 4, 8)), np.arange(4) + 1, 500.0)
    yield Case(rng.normal(size=(5, 8)).astype(np.float32), np.array([0, 1, 17, 3, 60]))
    yield Case(rng.integers(-4, 5, (3, 4)), np.array([1, 2, 5]))
    yield Case(rng.normal(size=(2, 6)), np.array([1000, 4096]))


def _hands_size(x: NDArray, positions: NDArray, base: float = 10000.0) -> NDArray:
    """Return the length of each pair, times what the angle's own rounding is worth."""
    lengths = np.hypot(x[..., 0::2], x[..., 1::2])
    powers = np.arange(0, x.shape[-1], 2) / x.shape[-1]
    angles = np.abs(positions)[:, None] * base**-powers
    return np.repeat(lengths * (1 + 2 * angles), 2, axis=-1)


Turn = Callable[[NDArray, NDArray, NDArray, NDArray], tuple[NDArray, NDArray]]


def _counter_clockwise(
    first: NDArray, second: NDArray, cos: NDArray, sin: NDArray
) -> tuple[NDArray, NDArray]:
    return first * cos - second * sin, first * sin + second * cos


def _one_after_the_other(
    first: NDArray, second: NDArray, cos: NDArray, sin: NDArray
) -> tuple[NDArray, NDArray]:
    first = first * cos - second * sin
    return first, first * sin + second * cos


def _by_pairs(x: NDArray) -> tuple[NDArray, NDArray]:
    return x[..., 0::2], x[..., 1::2]


def _by_halves(x: NDArray) -> tuple[NDArray, NDArray]:
    return x[..., : x.shape[-1] // 2], x[..., x.shape[-1] // 2 :]


def _interleave(first: NDArray, second: NDArray) -> NDArray:
    return np.stack([first, second], axis=-1).reshape(*first.shape[:-1], -1)


def _side_by_side(first: NDArray, second: NDArray) -> NDArray:
    return np.concatenate([first, second], axis=-1)


def _turning(
    turn: Turn = _counter_clockwise,
    take: Callable[[NDArray], tuple[NDArray, NDArray]] = _by_pairs,
    join: Callable[[NDArray, NDArray], NDArray] = _interleave,
    power: Callable[[NDArray, int], NDArray] = lambda pair, size: -2 * pair / size,
    place: Callable[[NDArray], NDArray] = lambda positions: positions,
    angle: Callable[[NDArray, NDArray], NDArray] = lambda places, speeds: places[:, None] * speeds,
    fixed_base: float | None = None,
) -> Answer:
    """Turn the pairs as asked for, or with some of the steps replaced by wrong ones."""

    def answer(x: NDArray, positions: NDArray, base: float = 10000.0) -> NDArray:
        size = x.shape[-1]
        speeds = (fixed_base or base) ** power(np.arange(size // 2), size)
        angles = angle(place(positions), speeds)
        return join(*turn(*take(x), np.cos(angles), np.sin(angles)))

    return answer


def _added(x: NDArray, positions: NDArray, base: float = 10000.0) -> NDArray:
    """Add sines and cosines of the angles, as absolute positions are encoded."""
    angles = positions[:, None] * base ** (-np.arange(0, x.shape[-1], 2) / x.shape[-1])
    return x + _interleave(np.sin(angles), np.cos(angles))


def _cut_to_integers(x: NDArray, positions: NDArray, base: float = 10000.0) -> NDArray:
    turned = np.empty_like(x)
    turned[...] = _turning()(x, positions, base)
    return turned


ROTARY_EMBEDDING = Exercise(
    name="rotary_embedding",
    points=3,
    minutes=12,
    reference=rotary_embedding,
    signature="rotary_embedding(x, positions, base=10000.0)",
    cases=_rotary_cases,
    magnitude=_hands_size,
    hints=(
        "There are d/2 speeds: base ** (-np.arange(0, d, 2) / d). The angles are positions times "
        "speeds, one for each position and pair, shape (L, d/2). Which of the two needs [:, None]?",
        "x[..., 0::2] has the first components of all pairs, x[..., 1::2] the second ones.",
        "With cos and sin of the angles, (a, b) becomes (a cos − b sin, a sin + b cos). Keep the "
        "old a until b is done.",
        "Write the results to their places: turned = np.empty(x.shape), turned[..., 0::2] = ... "
        "and turned[..., 1::2] = ...; float32 in should give float32 out.",
    ),
    mistakes=(
        Mistake(
            "x comes back as it was: turn each pair by its angle.",
            lambda x, positions, base=10000.0: x,
            lambda x, positions, base=10000.0: x.astype(float),
        ),
        Mistake(
            "These pairs are (i, i + d/2), one from each half: here they are neighbors, (2i, 2i + 1).",
            _turning(take=_by_halves, join=_side_by_side),
        ),
        Mistake(
            "The turned pairs are not put back in their places: first components belong in the "
            "columns 0, 2, 4, ..., second ones in 1, 3, 5, ...",
            _turning(join=_side_by_side),
        ),
        Mistake(
            "The halves of x are taken for the components of the pairs: pairs are neighbors, "
            "x[..., 0::2] and x[..., 1::2].",
            _turning(take=_by_halves),
        ),
        Mistake(
            "The pairs turn the wrong way: (a, b) becomes (a cos − b sin, a sin + b cos).",
            _turning(lambda a, b, cos, sin: (a * cos + b * sin, b * cos - a * sin)),
        ),
        Mistake(
            "A sign is wrong: (a, b) becomes (a cos − b sin, a sin + b cos).",
            _turning(lambda a, b, cos, sin: (a * cos + b * sin, a * sin + b * cos)),
            _turning(lambda a, b, cos, sin: (a * cos - b * sin, b * cos - a * sin)),
            _turning(lambda a, b, cos, sin: (a * cos + b * sin, a * sin - b * cos)),
            _turning(lambda a, b, cos, sin: (a * cos - b * sin, a * sin - b * cos)),
        ),
        Mistake(
            "Sine and cosine have changed places: (a, b) becomes (a cos − b sin, a sin + b cos).",
            _turning(lambda a, b, cos, sin: _counter_clockwise(a, b, sin, cos)),
        ),
        Mistake(
            "The second component is computed from the first one after it was turned: keep the old "
            "first component for both.",
            _turning(_one_after_the_other),
        ),
        Mistake(
            "Only one component of each pair is right: the other must turn as well, "
            "(a cos − b sin, a sin + b cos).",
            _turning(lambda a, b, cos, sin: (a * cos - b * sin, b + 0 * cos)),
            _turning(lambda a, b, cos, sin: (a + 0 * cos, a * sin + b * cos)),
        ),
        Mistake(
            "Each component is multiplied by a cosine (or a sine) alone: a turn mixes the two of a "
            "pair.",
            _turning(lambda a, b, cos, sin: (a * cos, b * cos)),
            _turning(lambda a, b, cos, sin: (a * cos, b * sin)),
            _turning(lambda a, b, cos, sin: (a * sin, b * cos)),
        ),
        Mistake(
            "The rows are turned by their own numbers 0, 1, 2, ...: use the positions given.",
            _turning(place=lambda positions: np.arange(len(positions))),
        ),
        Mistake(
            "The rows are counted from the first position given: turn each by its position itself.",
            _turning(place=lambda positions: positions - positions[0]),
        ),
        Mistake(
            "The positions are off by one: position 0 is not turned at all.",
            _turning(place=lambda positions: positions + 1),
            _turning(place=lambda positions: positions - 1),
        ),
        Mistake(
            "The exponent lacks its 2: the speed of pair i is base ** (−2i/d).",
            _turning(power=lambda pair, size: -pair / size),
        ),
        Mistake(
            "The exponent has a 2 too many: the speed of pair i is base ** (−2i/d), with i = 0, 1, "
            "2, ..., which is np.arange(0, d, 2) / d.",
            _turning(power=lambda pair, size: -4 * pair / size),
        ),
        Mistake(
            "The exponent has the wrong sign: later pairs turn more slowly, base ** (−2i/d).",
            _turning(power=lambda pair, size: 2 * pair / size),
        ),
        Mistake(
            "The exponent is not divided by d: the speed of pair i is base ** (−2i/d).",
            _turning(power=lambda pair, size: -2.0 * pair),
            _turning(power=lambda pair, size: -1.0 * pair),
        ),
        Mistake(
            "The pairs are counted from 1: the first pair has i = 0 and the speed 1.",
            _turning(power=lambda pair, size: -2 * (pair + 1) / size),
        ),
        Mistake(
            "The exponents run all the way to −1: the speed of pair i is base ** (−2i/d), and the "
            "last i is d/2 − 1.",
            _turning(power=lambda pair, size: -pair / max(len(pair) - 1, 1)),
        ),
        Mistake(
            "All pairs turn at the same speed: that of pair i is base ** (−2i/d).",
            _turning(power=lambda pair, size: 0.0 * pair),
        ),
        Mistake(
            "The base is always 10000: use the base you are given.",
            _turning(fixed_base=10000.0),
        ),
        Mistake(
            "Positions and speeds have changed places: the angles have one row a position, one "
            "column a pair.",
            _turning(angle=lambda places, speeds: places * speeds[:, None]),
        ),
        Mistake(
            "The angles are positions divided by the speeds: multiply them.",
            _turning(angle=lambda places, speeds: places[:, None] / speeds),
        ),
        Mistake(
            "The angles are taken for degrees: np.cos and np.sin take them as they are.",
            _turning(angle=lambda places, speeds: np.deg2rad(places[:, None] * speeds)),
        ),
        Mistake(
            "The angles make full turns, with a factor 2π: the angle is position · base ** (−2i/d).",
            _turning(angle=lambda places, speeds: 2 * np.pi * places[:, None] * speeds),
        ),
        Mistake(
            "Sines and cosines are added to x: here every pair is turned, and keeps its length.",
            _added,
        ),
        Mistake(
            "For integers the result is cut to whole numbers: np.empty_like and np.zeros_like copy "
            "the integer dtype. Make a float array.",
            _cut_to_integers,
        ),
    ),
)

# decode_step

Cache = tuple[NDArray, NDArray]
Step = tuple[NDArray, Cache]


def _step_cases(rng: Generator) -> Iterator[Case]:
    yield Case(np.array([[1.0, 0.0]]), np.array([[2.0, 1.0]]), np.array([[3.0]]))
    yield Case(
        np.array([[2.0, 0.0]]),
        np.array([[0.0, 1.0]]),
        np.array([[5.0]]),
        (np.array([[1.0, 0.0], [2.0, 2.0]]), np.array([[1.0], [3.0]])),
    )
    yield _token(rng, (), None, 3, 5)
    yield _token(rng, (2,), None, 5, 2)
    yield _token(rng, (), 1, 3, 2)
    yield _token(rng, (), 4, 3, 5)
    yield _token(rng, (2,), 1, 5, 6)
    yield _token(rng, (3,), 3, 3, 3)  # square: here a wrong axis fits as well
    yield _token(rng, (2, 3), 5, 6, 2)
    query, key, value, cache = _token(rng, (2,), 4, 3, 6).args
    yield Case(query, key, value, cache=cache)
    yield Case(*map(_single, (query, key, value)), tuple(map(_single, cache)))
    yield Case(*map(_single, (query, key, value)))
    yield Case(1e3 * query, key, value, cache)
    integers = [rng.integers(-2, 3, (1, size)) for size in (3, 3, 2)]
    earlier = tuple(rng.integers(-2, 3, (4, size)) for size in (3, 2))
    yield Case(*integers, earlier, verify=_equals_floats(*integers, earlier))


def _equals_floats(
    query: NDArray, key: NDArray, value: NDArray, cache: Cache
) -> Callable[[Any], str | None]:
    """Judge a step of whole numbers; whether the cache stays whole is left to the answer."""
    keys, values = _grown(key, value, cache)
    right = attention(query, keys, values)[0]

    def verify(result: Any) -> str | None:
        try:
            output, grown = result
            fits = (
                np.asarray(output).dtype == np.float64
                and np.shape(output) == right.shape
                and np.allclose(output, right, rtol=1e-11, atol=1e-11)
                and all(map(np.array_equal, grown, (keys, values)))
                and len(grown) == 2
            )
        except (TypeError, ValueError):
            fits = False
        return None if fits else "For integers decode_step should give what it gives for floats."

    return verify


def _token(
    rng: Generator, leading: tuple[int, ...], steps: int | None, size: int, value_size: int
) -> Case:
    """Draw one step after `steps` earlier ones; None: the first, without a cache."""
    new = tuple(rng.normal(size=(*leading, 1, width)) for width in (size, size, value_size))
    if steps is None:
        return Case(*new)
    cache = tuple(rng.normal(size=(*leading, steps, width)) for width in (size, value_size))
    return Case(*new, cache)


def _grown(key: NDArray, value: NDArray, cache: Cache | None) -> Cache:
    if cache is None:
        return key, value
    return tuple(np.concatenate(pair, axis=-2) for pair in zip(cache, (key, value), strict=True))


def _step_size(
    query: NDArray, key: NDArray, value: NDArray, cache: Cache | None = None
) -> tuple[NDArray, Cache]:
    keys, values = _grown(key, value, cache)
    return _mixture_size(query, keys, values, None), (np.abs(keys), np.abs(values))


def _stepping(
    combine: Callable[[NDArray, NDArray, NDArray, Cache | None, NDArray, NDArray], Any],
) -> Answer:
    """Make an answer from the arguments and the grown cache, combined wrongly."""

    def answer(query: NDArray, key: NDArray, value: NDArray, cache: Cache | None = None) -> Any:
        return combine(query, key, value, cache, *_grown(key, value, cache))

    return answer


def _step_scaled(scale: Callable[[NDArray, NDArray, NDArray], float]) -> Answer:
    return _stepping(
        lambda query, key, value, cache, keys, values: (
            _attend(query, keys, values, scale=scale(query, keys, values)),
            (keys, values),
        )
    )


def _newest_first(query: NDArray, key: NDArray, value: NDArray, cache: Cache | None = None) -> Step:
    if cache is None:
        return _attend(query, key, value), (key, value)
    keys, values = np.concatenate([key, cache[0]], -2), np.concatenate([value, cache[1]], -2)
    return _attend(query, keys, values), (keys, values)


def _without_the_new(
    query: NDArray, key: NDArray, value: NDArray, cache: Cache | None = None
) -> Step:
    return _attend(query, *(cache or (key, value))), _grown(key, value, cache)


class _Remembering:
    """Keep one cache of its own, whatever cache is passed in, as long as the shapes fit."""

    def __init__(self) -> None:
        self.own: Cache | None = None

    def __call__(
        self, query: NDArray, key: NDArray, value: NDArray, cache: Cache | None = None
    ) -> Step:
        if cache is None:
            self.own = None
        elif self.own is None or self.own[0].shape != cache[0].shape:
            self.own = cache
        self.own = _grown(key, value, self.own)
        return _attend(query, *self.own), self.own


STEPS = 6
LOOP_DIFFERS = (
    "Called in a loop, each step with the cache the one before returned, it does not equal causal "
    "attention: take the earlier steps from the cache passed in, and from nowhere else."
)
CACHE_CHANGES = (
    "The cache passed in is changed by a later step: leave it as it is and return a new one."
)


def _loop_probe(answer: Answer) -> str | None:
    """Decode two pairs of sentences in turns, and hold both to causal attention."""
    rng = np.random.default_rng(6)
    texts = [[rng.normal(size=(2, STEPS, size)) for size in (5, 5, 3)] for _ in range(2)]
    right = [attention(*text, np.tri(STEPS, dtype=bool))[0] for text in texts]
    caches: list[Any] = [None, None]
    for step in range(STEPS):
        for number, text in enumerate(texts):
            before = caches[number]
            kept = None if before is None else [part.copy() for part in before]
            token = (part[:, step : step + 1].copy() for part in text)
            output, caches[number] = answer(*token, before)
            if kept is not None and not all(map(np.array_equal, before, kept)):
                return CACHE_CHANGES
            if not np.allclose(output, right[number][:, step : step + 1], rtol=1e-9, atol=1e-9):
                return LOOP_DIFFERS
    for (_, *kept_text), cache in zip(texts, caches, strict=True):
        if not all(map(np.array_equal, cache, kept_text)):
            return LOOP_DIFFERS
    return None


DECODE_STEP = Exercise(
    name="decode_step",
    points=3,
    minutes=10,
    reference=decode_step,
    signature="decode_step(query, key, value, cache=None)",
    cases=_step_cases,
    magnitude=_step_size,
    probes=(_loop_probe,),
    hints=(
        "Put the new key below the cached keys, and the new value below the cached values: "
        "np.concatenate along the axis of steps. Which axis is that, whatever the batch?",
        "With cache=None there is nothing to put them below: the keys so far are key itself.",
        "The new token may attend to all steps so far and to itself. What is left for a causal mask "
        "to forbid?",
        "Return output, (keys, values): the longer arrays. np.concatenate makes new ones, so the "
        "cache passed in stays as it was.",
    ),
    mistakes=(
        Mistake(
            "The cache is not used: the new token must attend to the cached keys and values too.",
            _stepping(
                lambda query, key, value, cache, keys, values: (
                    _attend(query, key, value),
                    (keys, values),
                )
            ),
            lambda query, key, value, cache=None: (_attend(query, key, value), (key, value)),
        ),
        Mistake(
            "The new token does not attend to itself: add its key and value before you attend.",
            _without_the_new,
        ),
        Mistake(
            "A causal mask that starts at the top left leaves the new token nothing but the first "
            "key: every key so far is allowed here, so no mask is needed.",
            _stepping(
                lambda query, key, value, cache, keys, values: (
                    attention(query, keys, values, is_causal=True)[0],
                    (keys, values),
                )
            ),
        ),
        Mistake(
            "The cache comes back as it was: return it with this step's key and value included.",
            _stepping(
                lambda query, key, value, cache, keys, values: (
                    _attend(query, keys, values),
                    cache,
                )
            ),
            _stepping(
                lambda query, key, value, cache, keys, values: (
                    _attend(query, keys, values),
                    cache or (key, value),
                )
            ),
        ),
        Mistake(
            "The cache returned holds this step alone: return the keys and values of all steps so "
            "far.",
            _stepping(
                lambda query, key, value, cache, keys, values: (
                    _attend(query, keys, values),
                    (key, value),
                )
            ),
        ),
        Mistake(
            "The cache is not returned: return output, (keys, values).",
            _stepping(lambda query, key, value, cache, keys, values: _attend(query, keys, values)),
        ),
        Mistake(
            "Three results come back: return two, the output and the pair (keys, values).",
            _stepping(
                lambda query, key, value, cache, keys, values: (
                    _attend(query, keys, values),
                    keys,
                    values,
                )
            ),
        ),
        Mistake(
            "In the cache the values stand before the keys: return output, (keys, values).",
            _stepping(
                lambda query, key, value, cache, keys, values: (
                    _attend(query, keys, values),
                    (values, keys),
                )
            ),
        ),
        Mistake(
            "The cache comes first: return output, (keys, values).",
            _stepping(
                lambda query, key, value, cache, keys, values: (
                    (keys, values),
                    _attend(query, keys, values),
                )
            ),
        ),
        Mistake(
            "The new step stands first in the cache: steps are kept in order, the newest last.",
            _newest_first,
        ),
        Mistake(
            "The query is stored in place of the key: later tokens ask this one's key.",
            lambda query, key, value, cache=None: (
                _attend(query, *_grown(key, value, cache)),
                _grown(query, value, cache),
            ),
            lambda query, key, value, cache=None: (
                _attend(query, *_grown(query, value, cache)),
                _grown(query, value, cache),
            ),
        ),
        Mistake(
            "The output is stored in place of the value: the cache keeps the values as they came.",
            _stepping(
                lambda query, key, value, cache, keys, values: (
                    _attend(query, keys, values),
                    _grown(key, _attend(query, keys, values), cache),
                )
            ),
        ),
        Mistake(
            "The weights come back in place of the output: the output is the weights times the "
            "values.",
            _stepping(
                lambda query, key, value, cache, keys, values: (
                    attention(query, keys, values)[1],
                    (keys, values),
                )
            ),
        ),
        Mistake(
            "The output of attention is a pair, output and weights: return the output alone, beside "
            "the cache.",
            _stepping(
                lambda query, key, value, cache, keys, values: (
                    attention(query, keys, values),
                    (keys, values),
                )
            ),
        ),
        Mistake(
            "The scores are not scaled: divide them by √d.",
            _step_scaled(lambda query, keys, values: 1.0),
        ),
        Mistake(
            "You scale by the root of another size than d, the last one of query and key.",
            _step_scaled(lambda query, keys, values: 1 / math.sqrt(values.shape[-1])),
            _step_scaled(lambda query, keys, values: 1 / math.sqrt(keys.shape[-2])),
        ),
        Mistake(
            "The scores are divided by d: it is the root, √d.",
            _step_scaled(lambda query, keys, values: 1 / query.shape[-1]),
        ),
        Mistake(
            "Softmax runs over the one query, so that every weight is 1: it must run over the keys, "
            "the last axis.",
            _stepping(
                lambda query, key, value, cache, keys, values: (
                    _attend(query, keys, values, weigh=lambda scores: stable_softmax(scores, -2)),
                    (keys, values),
                )
            ),
        ),
        Mistake(
            "The values are averaged alike: weigh them by softmax of the query's scores.",
            _stepping(
                lambda query, key, value, cache, keys, values: (
                    values.mean(axis=-2, keepdims=True),
                    (keys, values),
                )
            ),
        ),
        Mistake(
            "The exponentials overflow for large scores: use the stable softmax of lesson 02, or "
            "attention.",
            _stepping(
                lambda query, key, value, cache, keys, values: (
                    _attend(query, keys, values, weigh=_plain_softmax),
                    (keys, values),
                )
            ),
        ),
        Mistake(LOOP_DIFFERS, _Remembering(), measured=True),
    ),
)

EXERCISES = (
    SPLIT_HEADS,
    MERGE_HEADS,
    MULTI_HEAD_ATTENTION,
    GROUPED_QUERY_ATTENTION,
    ROTARY_EMBEDDING,
    DECODE_STEP,
)
