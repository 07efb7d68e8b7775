"""The exercises of lesson 05: masks, scaled dot-product attention, one sequence and two."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from attention_lib.checks.calls.case import Answer, Case
from attention_lib.checks.exercise import Exercise, Mistake
from attention_lib.lessons.attention import (
    attention,
    causal_mask,
    cross_attention,
    padding_mask,
    self_attention,
)
from attention_lib.lessons.softmax import softmax
from attention_lib.lessons.stability import masked_softmax, stable_softmax

# causal_mask


def _causal_cases(rng: Generator) -> Iterator[Case]:
    yield Case(3)
    yield Case(1)
    yield Case(2)
    yield Case(5)
    yield Case(int(rng.integers(6, 13)))


CAUSAL_MASK = Exercise(
    name="causal_mask",
    points=1,
    minutes=4,
    reference=causal_mask,
    cases=_causal_cases,
    hints=(
        "Rows are queries, columns are keys. In row 2 the columns 0, 1 and 2 are True.",
        "np.arange(length) holds the positions. As a column, with [:, None], they are those of the "
        "queries; compare it with the row. np.tri(length, dtype=bool) does the same.",
    ),
    mistakes=(
        Mistake(
            "Rows and columns are exchanged: queries are the rows, so True belongs on and below "
            "the diagonal.",
            lambda length: np.tri(length, dtype=bool).T,
        ),
        Mistake(
            "The mask is inverted: True is where attention is allowed, and the future is forbidden.",
            lambda length: ~np.tri(length, dtype=bool),
        ),
        Mistake(
            "The diagonal is missing: a position may attend to itself, so the key may be equal to "
            "the query.",
            lambda length: np.tri(length, k=-1, dtype=bool),
        ),
        Mistake(
            "Each position sees one step into the future: the last key it may see is its own.",
            lambda length: np.tri(length, k=1, dtype=bool),
        ),
        Mistake(
            "Nothing is forbidden: keys after the query must be False.",
            lambda length: np.ones((length, length), bool),
        ),
        Mistake(
            "Only the diagonal is True: the keys before the query are allowed as well.",
            lambda length: np.eye(length, dtype=bool),
        ),
        Mistake(
            "This is a float mask, to be added to scores. Here booleans are asked for: True where "
            "allowed.",
            lambda length: np.where(np.tri(length, dtype=bool), 0.0, -np.inf),
            lambda length: np.where(np.tri(length, dtype=bool), 0.0, -1e9),
        ),
    ),
)

# padding_mask


def _padding_cases(rng: Generator) -> Iterator[Case]:
    yield Case(np.array([3, 2]), 3)
    yield Case(np.array([1, 4, 0]), 5)
    yield Case(np.array([2, 2, 2]), 3)
    yield Case(np.array([6, 1, 4, 3]), 7)
    yield Case(np.array([2]), 2)
    yield Case(rng.integers(1, 6, size=3), 6)
    yield Case(rng.integers(0, 10, size=6), 9)


PADDING_MASK = Exercise(
    name="padding_mask",
    points=1,
    minutes=4,
    reference=padding_mask,
    cases=_padding_cases,
    hints=(
        "The positions are np.arange(max_length). Position p holds a real token when p is below "
        "the length.",
        "Give lengths an axis for the positions: lengths[:, None] has shape (B, 1), and a "
        "comparison with (max_length,) has shape (B, max_length).",
    ),
    mistakes=(
        Mistake(
            "The mask is inverted: True is where a real token stands, False on padding.",
            lambda lengths, max_length: np.arange(max_length) >= lengths[:, None],
        ),
        Mistake(
            "One token too many is True: positions count from 0, so the last real one is length − 1.",
            lambda lengths, max_length: np.arange(max_length) <= lengths[:, None],
        ),
        Mistake(
            "One token too few is True: position length − 1 is still a real token.",
            lambda lengths, max_length: np.arange(max_length) < lengths[:, None] - 1,
            lambda lengths, max_length: np.arange(max_length) < (lengths[:, None] - 1) % max_length,
        ),
        Mistake(
            "The padding stands in front: the real tokens come first.",
            lambda lengths, max_length: np.arange(max_length) >= max_length - lengths[:, None],
        ),
        Mistake(
            "Positions and lengths meet along one axis: give lengths an axis of its own for the "
            "positions, lengths[:, None].",
            lambda lengths, max_length: np.arange(max_length) < lengths,
        ),
        Mistake(
            "The mask is as wide as the longest sequence here: its width is max_length.",
            lambda lengths, max_length: np.arange(lengths.max()) < lengths[:, None],
        ),
        Mistake(
            "The mask is transposed: one row for each sequence, one column for each position.",
            lambda lengths, max_length: (np.arange(max_length) < lengths[:, None]).T,
        ),
        Mistake(
            "Only one position in each row is marked: every position before the length is a real "
            "token.",
            lambda lengths, max_length: np.arange(max_length) == lengths[:, None],
            lambda lengths, max_length: np.arange(max_length) == lengths[:, None] - 1,
        ),
        Mistake(
            "This is a mask for the scores of every query: here one row for each sequence is asked "
            "for, (B, max_length).",
            lambda lengths, max_length: padding_mask(lengths, max_length)[:, None, :],
            lambda lengths, max_length: padding_mask(lengths, max_length)[:, None, None, :],
        ),
        Mistake(
            "This is a float mask, to be added to scores. Here booleans are asked for: True on real "
            "tokens.",
            lambda lengths, max_length: np.where(
                np.arange(max_length) < lengths[:, None], 0.0, -np.inf
            ),
            lambda lengths, max_length: np.where(
                np.arange(max_length) < lengths[:, None], 0.0, -1e9
            ),
        ),
    ),
)

# attention


def _attention_cases(rng: Generator) -> Iterator[Case]:
    def draw(*shape: int) -> NDArray:
        return rng.normal(size=shape)

    query, key = np.array([[1.0, 0.0], [0.0, 2.0]]), np.array([[1.0, 1.0], [0.0, 2.0], [1.0, 2.0]])
    value = np.array([[2.0], [8.0], [4.0]])
    yield Case(query, key, value)
    yield Case(query, key, value, np.array([[True, True, False], [False, False, False]]))
    yield Case(query, key, value, np.array([[0.0, -np.inf, 1.0], [-np.inf] * 3]))
    yield Case(draw(2, 5), draw(3, 5), draw(3, 7))
    # All sizes equal: here a lost transpose or axis gives numbers, not an error.
    yield Case(draw(3, 3, 3), draw(3, 3, 3), draw(3, 3, 3))
    yield Case(draw(3, 3), draw(3, 3), draw(3, 3), np.tri(3, dtype=bool))
    yield Case(draw(5, 3), draw(2, 3), draw(2, 6), scale=0.3)
    yield Case(draw(5, 3), draw(2, 3), draw(2, 6), None, 0.0)
    yield Case(draw(2, 3, 5), draw(2, 6, 5), draw(2, 6, 7))
    yield Case(draw(2, 3, 5), draw(2, 6, 5), draw(2, 6, 7), np.arange(6) < np.array([[[4]], [[1]]]))
    allowed = rng.random((5, 7)) < 0.6
    allowed[1], allowed[3, 2] = False, True
    yield Case(draw(2, 3, 5, 6), draw(2, 3, 7, 6), draw(2, 3, 7, 2), mask=allowed)
    yield Case(
        draw(3, 2, 5, 2),
        draw(3, 2, 6, 2),
        draw(3, 2, 6, 7),
        np.where(rng.random((3, 1, 1, 6)) < 0.7, draw(3, 1, 1, 6), -np.inf),
        scale=-1.5,
    )
    # As many batch items as queries: the rows of this mask are queries.
    yield Case(draw(3, 3, 5), draw(3, 7, 5), draw(3, 7, 2), rng.random((3, 7)) < 0.5)
    yield Case(draw(6, 3), draw(7, 3), draw(7, 2), np.array([[True]] * 4 + [[False]] * 2))
    yield Case(draw(3, 6), draw(5, 6), draw(5, 2), draw(5))
    yield Case(draw(2, 3), draw(5, 3), draw(5, 6), np.zeros((2, 5), dtype=bool))  # no key at all
    # What is added is no verdict: -2000 for every key of a row forbids none of them.
    yield Case(draw(2, 6), draw(3, 6), draw(3, 5), draw(2, 3) - np.array([[0.0], [2000.0]]))
    yield Case(
        np.array([[1, 0, 2], [-1, 3, 1]]),
        np.array([[2, 1, 0], [0, 1, -1], [1, 1, 1], [0, 0, 3], [1, 0, 2]]),
        np.array([[3, -1], [0, 2], [5, 1], [-2, 2], [1, 1]]),
        np.array([True, True, False, True, True]),
    )
    yield Case(draw(1, 3), draw(1, 3), draw(1, 2))
    yield Case(*(draw(*shape).astype(np.float32) for shape in ((5, 3), (2, 3), (2, 6))))
    yield Case(
        *(draw(*shape).astype(np.float32) for shape in ((2, 3, 6), (2, 5, 6), (2, 5, 7))),
        np.where(rng.random((2, 3, 5)) < 0.6, 0.0, -np.inf).astype(np.float32),
    )
    yield Case(
        *(draw(*shape).astype(np.float32) for shape in ((3, 6), (5, 6), (5, 7))),
        np.arange(5) < np.array([[5], [0], [2]]),
        0.5,
    )
    yield from _large_scores(rng)


def _large_scores(rng: Generator) -> Iterator[Case]:
    """Yield scores far beyond what exp can take, exact in every order of operations."""
    # Whole numbers near 10,000 whose gaps are small.
    query = np.array([[1.0, 0.0, 0.0], [-1.0, 0.0, 0.0]], np.float32)
    key = np.zeros((4, 3), np.float32)
    key[:, 0] = [10000, 9999, 9998, 10000]
    yield Case(query, key, rng.normal(size=(4, 5)).astype(np.float32), scale=1.0)
    # Rows far apart: one maximum for all of them leaves nothing of the lower ones.
    query, key = np.array([[1e145, 0.0], [0.0, 2.0], [-1e145, 0.0]]), np.zeros((5, 2))
    key[:, 0], key[:, 1] = [1e145, 5e144, -1e145, 2e144, 0.0], [0.5, 0.25, -1.0, 0.0, 1.0]
    value = rng.normal(size=(5, 3))
    yield Case(query, key, value)
    # A forbidden score far above the allowed ones, and allowed ones far below -1e9.
    yield Case(query, key, value, np.array([False, False, True, False, False]))
    yield Case(query, key, value, np.array([[-np.inf, 0.0, 0.0, 0.0, 0.0]] * 2 + [[0.0] * 5]))


Scale = Callable[[NDArray, NDArray, NDArray], float]


def _root(query: NDArray, key: NDArray, value: NDArray) -> float:
    return 1 / math.sqrt(query.shape[-1])


def _pair_size(
    weights: NDArray, score_size: NDArray, value_size: NDArray
) -> tuple[NDArray, NDArray]:
    """Size the output and the weights: an error in any score of a row moves all its weights."""
    reach = np.where(weights > 0, np.minimum(score_size, 1e30), 0.0).max(axis=-1, keepdims=True)
    weight_size = weights * (1.0 + 2.0 * reach)
    return weight_size @ value_size, weight_size


def _bias_size(mask: NDArray | None) -> NDArray | float:
    if mask is None or mask.dtype == bool:
        return 0.0
    return np.abs(np.where(np.isfinite(mask), mask, 0.0))


def _attention_size(
    query: NDArray,
    key: NDArray,
    value: NDArray,
    mask: NDArray | None = None,
    scale: float | None = None,
) -> tuple[NDArray, NDArray]:
    _, weights = attention(query, key, value, mask, scale)
    scale = _root(query, key, value) if scale is None else scale
    score_size = abs(scale) * (np.abs(query) @ np.abs(key).mT) + _bias_size(mask)
    return _pair_size(weights, score_size, np.abs(value))


def _dot(query: NDArray, key: NDArray) -> NDArray:
    return query @ key.mT


def _cosine(query: NDArray, key: NDArray) -> NDArray:
    query, key = (x / np.linalg.norm(x, axis=-1, keepdims=True) for x in (query, key))
    return query @ key.mT


def _masked(scores: NDArray, mask: NDArray | None) -> NDArray:
    """Mask scores as the contract says."""
    if mask is None:
        return scores
    return np.where(mask, scores, -np.inf) if mask.dtype == bool else scores + mask


def _weigh(scores: NDArray) -> NDArray:
    """Weigh scores as the contract says: zeros in a row of -inf."""
    return masked_softmax(scores, scores > -np.inf)


def _plain_softmax(scores: NDArray, axis: int | None = -1) -> NDArray:
    exponentials = np.exp(scores)
    return exponentials / exponentials.sum(axis=axis, keepdims=True)


def _plain_softmax_or_zeros(scores: NDArray) -> NDArray:
    total = (exponentials := np.exp(scores)).sum(axis=-1, keepdims=True)
    return np.divide(exponentials, total, out=np.zeros_like(exponentials), where=total > 0)


def _under_one_maximum(scores: NDArray) -> NDArray:
    return _plain_softmax(scores - scores.max())


def _pipeline(
    *,
    default: Scale = _root,
    dot: Callable[[NDArray, NDArray], NDArray] = _dot,
    masked: Callable[[NDArray, NDArray | None], NDArray] = _masked,
    weigh: Callable[[NDArray], NDArray] = _weigh,
    mix: Callable[[NDArray, NDArray], NDArray] = np.matmul,
    after: Callable[[NDArray, NDArray | None], NDArray] = lambda weights, mask: weights,
    rescale: Callable[[float, float | None], float] = lambda d, s: d if s is None else s,
    result: Callable[[NDArray, NDArray, NDArray], Any] = lambda out, weights, scores: (
        out,
        weights,
    ),
) -> Answer:
    """Make attention from parts; a mistake replaces one of them.

    `rescale` picks the scale from the default and the argument, `after` gets the weights and
    the mask, and `result` the output, the weights and the masked scores.
    """

    def answer(
        query: NDArray,
        key: NDArray,
        value: NDArray,
        mask: NDArray | None = None,
        scale: float | None = None,
    ) -> Any:
        scores = masked(dot(query, key) * rescale(default(query, key, value), scale), mask)
        weights = after(weigh(scores), mask)
        return result(mix(weights, value), weights, scores)

    return answer


def _constant(number: float) -> Answer:
    return _pipeline(default=lambda query, key, value: number)


def _filled(
    fill: float, empty: Callable[[NDArray], NDArray] = stable_softmax
) -> tuple[Answer, ...]:
    """Put a large negative number in place of -inf, in the three ways seen."""

    def put(scores: NDArray, mask: NDArray | None) -> NDArray:
        if mask is None or mask.dtype != bool:
            return _masked(scores, mask)
        return np.where(mask, scores, np.array(fill, np.result_type(scores, np.float32)))

    def add(scores: NDArray, mask: NDArray | None) -> NDArray:
        return scores + np.where(mask, 0.0, fill) if _is_boolean(mask) else _masked(scores, mask)

    def clip(scores: NDArray, mask: NDArray | None) -> NDArray:
        return put(scores, mask) if mask is None or _is_boolean(mask) else scores + mask.clip(fill)

    return tuple(_pipeline(masked=masked, weigh=empty) for masked in (put, add, clip))


def _is_boolean(mask: NDArray | None) -> bool:
    return mask is not None and mask.dtype == bool


def _multiplied(scores: NDArray, mask: NDArray | None) -> NDArray:
    """Multiply a float mask into the scores."""
    return _masked(scores, mask) if mask is None or _is_boolean(mask) else scores * mask


def _only_floats(scores: NDArray, mask: NDArray | None) -> NDArray:
    return scores if _is_boolean(mask) else _masked(scores, mask)


def _only_booleans(scores: NDArray, mask: NDArray | None) -> NDArray:
    return _masked(scores, mask) if _is_boolean(mask) else scores


def _allowed_of(mask: NDArray) -> NDArray:
    return mask if mask.dtype == bool else mask > -np.inf


def _zeroed(weights: NDArray, mask: NDArray | None) -> NDArray:
    return np.where(mask, weights, 0.0) if _is_boolean(mask) else weights


def _zeroed_by_either(weights: NDArray, mask: NDArray | None) -> NDArray:
    return weights if mask is None else np.where(_allowed_of(mask), weights, 0.0)


def _renormalized(weights: NDArray, mask: NDArray | None) -> NDArray:
    kept = _zeroed(weights, mask)
    return kept / kept.sum(axis=-1, keepdims=True) if _is_boolean(mask) else weights


def _uniform_where_empty(scores: NDArray) -> NDArray:
    empty = (scores == -np.inf).all(axis=-1, keepdims=True)
    return np.where(empty, 1 / scores.shape[-1], _weigh(scores))


def _shifted_before_the_mask() -> tuple[Answer, ...]:
    def masked(scores: NDArray, mask: NDArray | None) -> NDArray:
        return _masked(scores - scores.max(axis=-1, keepdims=True), mask)

    def over_one(exponentials: NDArray) -> NDArray:
        total = exponentials.sum(axis=-1, keepdims=True)
        return exponentials / np.where(total == 0, 1.0, total)

    return (
        _pipeline(masked=masked, weigh=lambda scores: over_one(np.exp(scores))),
        _pipeline(masked=masked, weigh=_plain_softmax),
    )


def _with_epsilon(epsilon: float) -> Answer:
    def weigh(scores: NDArray) -> NDArray:
        top = scores.max(axis=-1, keepdims=True)
        exponentials = np.exp(scores - np.where(np.isfinite(top), top, 0.0))
        return exponentials / (exponentials.sum(axis=-1, keepdims=True) + epsilon)

    return _pipeline(weigh=weigh)


def _causal(scores: NDArray, mask: NDArray | None) -> NDArray:
    return np.where(np.tri(*scores.shape[-2:], dtype=bool), _masked(scores, mask), -np.inf)


def _causal_by_default(scores: NDArray, mask: NDArray | None) -> NDArray:
    return _causal(scores, mask) if mask is None else _masked(scores, mask)


def _mask_then_scale(
    query: NDArray,
    key: NDArray,
    value: NDArray,
    mask: NDArray | None = None,
    scale: float | None = None,
) -> tuple[NDArray, NDArray]:
    by = _root(query, key, value) if scale is None else scale
    weights = _weigh(_masked(_dot(query, key), mask) * by)
    return weights @ value, weights


def _scaled_afterwards(
    query: NDArray,
    key: NDArray,
    value: NDArray,
    mask: NDArray | None = None,
    scale: float | None = None,
) -> tuple[NDArray, NDArray]:
    weights = _weigh(_masked(_dot(query, key), mask))
    weights = weights * (_root(query, key, value) if scale is None else scale)
    return weights @ value, weights


def _mean_of_values(weights: NDArray, value: NDArray) -> NDArray:
    mean = value.mean(axis=-2, keepdims=True)
    return np.broadcast_to(mean, (*weights.shape[:-1], value.shape[-1])).copy()


def _one_hot(scores: NDArray) -> NDArray:
    return _weigh(scores) * 0 + (np.arange(scores.shape[-1]) == scores.argmax(-1)[..., None])


ATTENTION = Exercise(
    name="attention",
    points=4,
    minutes=15,
    reference=attention,
    signature="attention(query, key, value, mask=None, scale=None)",
    cases=_attention_cases,
    magnitude=_attention_size,
    hints=(
        "Four steps: scaled scores (..., L, S), the mask, weights along the last axis, and the "
        "weights times the values. You have written each of them in an earlier lesson.",
        "mask.dtype == bool tells the two kinds of mask apart: np.where(mask, scores, -np.inf) for "
        "booleans, scores + mask for floats. After it, -inf means forbidden for both.",
        "With every key forbidden, a row's maximum is -inf and its sum 0. "
        "attention_lib.masked_softmax(scores, scores > -np.inf) knows what to do with it.",
        "math.sqrt(d_k) is a Python number and leaves float32 in float32; np.sqrt(d_k) is a "
        "float64 number and does not.",
    ),
    mistakes=(
        Mistake(
            "The scores are not scaled when scale is None: multiply them by 1/√d_k.",
            _constant(1.0),
        ),
        Mistake(
            "The scores are not scaled at all: multiply them by scale, or by 1/√d_k when it is None.",
            _pipeline(rescale=lambda default, scale: 1.0),
        ),
        Mistake(
            "The scale is taken twice: multiply by it once.",
            _pipeline(rescale=lambda default, scale: (default if scale is None else scale) ** 2),
        ),
        Mistake(
            "The scores are divided by √d_v: d_k, the length of a query, is query.shape[-1].",
            _pipeline(default=lambda query, key, value: 1 / math.sqrt(value.shape[-1])),
        ),
        Mistake(
            "The scores are divided by √S, the number of keys: d_k, the length of a query, is "
            "query.shape[-1].",
            _pipeline(default=lambda query, key, value: 1 / math.sqrt(key.shape[-2])),
            _pipeline(default=lambda query, key, value: 1 / math.sqrt(len(key))),
        ),
        Mistake(
            "The scores are divided by √L, the number of queries: d_k, the length of a query, is "
            "query.shape[-1].",
            _pipeline(default=lambda query, key, value: 1 / math.sqrt(query.shape[-2])),
            _pipeline(default=lambda query, key, value: 1 / math.sqrt(len(query))),
        ),
        Mistake(
            "d_k is taken from axis 1, which is right without a batch only: it is the last axis, "
            "query.shape[-1].",
            _pipeline(default=lambda query, key, value: 1 / math.sqrt(query.shape[1])),
        ),
        Mistake(
            "The scores are divided by d_k: divide by its square root.",
            _pipeline(default=lambda query, key, value: 1 / query.shape[-1]),
        ),
        Mistake(
            "The scores are multiplied by √d_k: the default scale is 1/√d_k.",
            _pipeline(default=lambda query, key, value: math.sqrt(query.shape[-1])),
        ),
        Mistake(
            "The default scale is the same number for every d_k: it is 1/√d_k.",
            *map(_constant, (1 / 2, 1 / 4, 1 / 8, 1 / 64, 2.0, 1 / math.sqrt(2), 512**-0.5)),
        ),
        Mistake(
            "scale is ignored: when it is given, multiply by it in place of 1/√d_k.",
            _pipeline(rescale=lambda default, scale: default),
        ),
        Mistake(
            "A scale of 0 is taken for no scale: ask for `scale is None`, since 0 counts as false.",
            _pipeline(rescale=lambda default, scale: scale or default),
        ),
        Mistake(
            "scale comes on top of 1/√d_k: when it is given, it takes its place.",
            _pipeline(rescale=lambda default, scale: default * (1.0 if scale is None else scale)),
        ),
        Mistake(
            "You divide by scale: multiply by it. The default is 1/√d_k, not √d_k.",
            _pipeline(rescale=lambda d, scale: d if scale is None else 1 / np.float64(scale)),
            _pipeline(rescale=lambda d, scale: 1 / scale if scale else d),
        ),
        Mistake(
            "The weights are scaled after softmax: the scale belongs on the scores, before it.",
            _scaled_afterwards,
        ),
        Mistake(
            "A float mask is scaled along with the scores: scale the scores first, then add it.",
            _mask_then_scale,
        ),
        Mistake(
            "The mask is ignored: forbidden keys get weight.",
            _pipeline(masked=lambda scores, mask: scores),
        ),
        Mistake(
            "The boolean mask is read the wrong way around: True is where attention is allowed.",
            _pipeline(
                masked=lambda scores, mask: _masked(scores, ~mask if _is_boolean(mask) else mask)
            ),
            _pipeline(
                masked=lambda scores, mask: _masked(scores, ~mask if _is_boolean(mask) else mask),
                weigh=stable_softmax,
            ),
        ),
        Mistake(
            "A float mask is ignored: its numbers are added to the scaled scores.",
            _pipeline(masked=_only_booleans),
        ),
        Mistake(
            "A boolean mask is ignored: where it is False, the score becomes -inf.",
            _pipeline(masked=_only_floats),
        ),
        Mistake(
            "A float mask is treated as a boolean one, in which 0 counts as False and -inf as True: "
            "ask for mask.dtype == bool, and add the others to the scores.",
            _pipeline(masked=lambda s, mask: s if mask is None else _masked(s, mask.astype(bool))),
            _pipeline(
                masked=lambda s, mask: s if mask is None else _masked(s, mask.astype(bool)),
                weigh=stable_softmax,
            ),
            _pipeline(
                masked=lambda s, mask: (
                    s
                    if mask is None
                    else _masked(s, ~mask.astype(bool))
                    if not _is_boolean(mask)
                    else _masked(s, mask)
                )
            ),
        ),
        Mistake(
            "Of a float mask only the -inf is used: its other numbers are added to the scaled "
            "scores.",
            _pipeline(masked=lambda s, mask: s if mask is None else _masked(s, _allowed_of(mask))),
            _pipeline(
                masked=lambda s, mask: (
                    s if mask is None else _masked(s, mask if _is_boolean(mask) else mask >= 0)
                )
            ),
        ),
        Mistake(
            "A float mask is multiplied into the scores: add it.",
            _pipeline(masked=_multiplied),
            _pipeline(
                masked=_multiplied,
                weigh=stable_softmax,
            ),
        ),
        Mistake(
            "A boolean mask is added to the scores as 0 and 1: where it is False, the score becomes "
            "-inf.",
            _pipeline(masked=lambda scores, mask: scores if mask is None else scores + mask),
            _pipeline(
                masked=lambda scores, mask: scores if mask is None else scores + mask,
                weigh=stable_softmax,
            ),
        ),
        Mistake(
            "Forbidden scores become 0, and exp(0) is 1: make them -inf.",
            _pipeline(
                masked=lambda s, mask: s * mask if _is_boolean(mask) else _masked(s, mask),
            ),
        ),
        Mistake(
            "A row with nothing allowed gives NaN: its maximum is -inf and its sum 0. Its weights "
            "and its output are zeros.",
            _pipeline(weigh=stable_softmax),
        ),
        Mistake(
            "In a row with nothing allowed the weights are still NaN: they are zeros, like the "
            "output.",
            _pipeline(
                weigh=stable_softmax,
                result=lambda out, weights, scores: (np.nan_to_num(out), weights),
            ),
        ),
        Mistake(
            "A row with nothing allowed gets equal weights: it gets zeros, and so does its output.",
            _pipeline(weigh=_uniform_where_empty),
            _pipeline(
                weigh=_uniform_where_empty,
                result=lambda out, weights, scores: (out, np.where(scores > -np.inf, weights, 0.0)),
            ),
            _pipeline(
                weigh=_uniform_where_empty,
                result=lambda out, weights, scores: (
                    np.where((scores > -np.inf).any(axis=-1, keepdims=True), out, 0.0),
                    weights,
                ),
            ),
        ),
        Mistake(
            "A large negative number is not -inf: a row with nothing allowed gives weight to "
            "forbidden keys. Use -inf, and give such a row zeros.",
            *(
                answer
                for fill in (-1e9, -1e4, -1e5, -1e6, -1e8, -1e10, -1e12, -1e20, -1e30)
                for empty in (stable_softmax, _weigh)
                for answer in _filled(fill, empty)
            ),
            _pipeline(
                masked=lambda s, mask: (
                    np.where(mask, s, np.finfo(s.dtype).min)
                    if _is_boolean(mask)
                    else _masked(s, mask)
                ),
            ),
            _pipeline(
                masked=lambda s, mask: (
                    np.where(mask, s, np.finfo(s.dtype).min)
                    if _is_boolean(mask)
                    else _masked(s, mask)
                ),
                weigh=stable_softmax,
            ),
        ),
        Mistake(
            "The mask is applied after softmax: forbidden keys still took their share of the sum. "
            "Mask the scores.",
            _pipeline(masked=_only_floats, after=_zeroed),
            _pipeline(masked=_only_floats, after=_zeroed, weigh=stable_softmax),
            _pipeline(masked=lambda scores, mask: scores, after=_zeroed_by_either),
        ),
        Mistake(
            "The mask is applied after softmax, and the weights are divided by their sum again: 0/0 "
            "where a far larger score was forbidden. Mask the scores.",
            _pipeline(masked=_only_floats, after=_renormalized),
            _pipeline(
                masked=_only_floats, after=lambda w, mask: np.nan_to_num(_renormalized(w, mask))
            ),
        ),
        Mistake(
            "The weights sum to 1 over the queries: softmax runs over the keys, the last axis.",
            _pipeline(weigh=lambda scores: stable_softmax(scores, -2)),
            _pipeline(weigh=lambda scores: masked_softmax(scores, scores > -np.inf, -2)),
        ),
        Mistake(
            "Softmax runs along axis 0 or 1, which is right for some shapes only: the keys are the "
            "last axis, -1.",
            _pipeline(weigh=lambda scores: stable_softmax(scores, 0)),
            _pipeline(weigh=lambda scores: stable_softmax(scores, 1)),
            _pipeline(weigh=lambda scores: masked_softmax(scores, scores > -np.inf, 0)),
            _pipeline(weigh=lambda scores: masked_softmax(scores, scores > -np.inf, 1)),
        ),
        Mistake(
            "All weights together sum to 1: every query needs weights that sum to 1, along the last "
            "axis.",
            _pipeline(weigh=lambda scores: softmax(scores, None)),
            _pipeline(weigh=lambda scores: _plain_softmax(scores, None)),
        ),
        Mistake(
            "exp overflows for large scores: subtract the row's maximum first.",
            _pipeline(weigh=_plain_softmax),
            _pipeline(weigh=lambda scores: np.nan_to_num(_plain_softmax(scores))),
            _pipeline(weigh=_plain_softmax_or_zeros),
        ),
        Mistake(
            "One maximum is subtracted from all rows: a row far below it comes to 0/0. Every row "
            "needs its own.",
            _pipeline(weigh=_under_one_maximum),
            _pipeline(weigh=lambda scores: np.nan_to_num(_under_one_maximum(scores))),
        ),
        Mistake(
            "The maximum is taken before the mask: under a far larger forbidden score every allowed "
            "exponential underflows to 0. Mask the scores first.",
            *_shifted_before_the_mask(),
        ),
        Mistake(
            "A small constant is added to every sum, so the weights do not sum to 1. Treat rows "
            "with nothing allowed apart.",
            *map(_with_epsilon, (1e-4, 1e-5, 1e-6, 1e-7, 1e-8, 1e-9, 1e-10, 1e-12)),
        ),
        Mistake(
            "Softmax is applied twice: the weights are the softmax of the scores, once.",
            _pipeline(weigh=lambda scores: stable_softmax(_weigh(scores))),
        ),
        Mistake(
            "There is no softmax: the weights are the softmax of the scores, along the last axis.",
            _pipeline(weigh=lambda scores: scores),
            _pipeline(weigh=lambda scores: scores / scores.sum(axis=-1, keepdims=True)),
        ),
        Mistake(
            "The key with the largest score takes all the weight: softmax gives every allowed key "
            "its share.",
            _pipeline(weigh=_one_hot),
        ),
        Mistake(
            "Every output is the plain mean of the values: weigh them, weights @ value.",
            _pipeline(mix=_mean_of_values),
            _pipeline(
                weigh=lambda scores: np.full_like(scores, 1 / scores.shape[-1]),
            ),
        ),
        Mistake(
            "Keys after the query are forbidden although no mask says so: attention is causal only "
            "when it is given a causal mask.",
            _pipeline(masked=_causal),
            _pipeline(masked=_causal_by_default),
        ),
        Mistake(
            "Only the output is returned: return the pair (output, weights).",
            _pipeline(result=lambda out, weights, scores: out),
        ),
        Mistake(
            "Only the weights are returned: return the pair (output, weights).",
            _pipeline(result=lambda out, weights, scores: weights),
        ),
        Mistake(
            "The pair is reversed: return (output, weights).",
            _pipeline(result=lambda out, weights, scores: (weights, out)),
        ),
        Mistake(
            "Scores are returned in place of the weights: the second result is their softmax.",
            _pipeline(result=lambda out, weights, scores: (out, scores)),
        ),
        Mistake(
            "The weights are transposed before they meet the values: use weights @ value.",
            _pipeline(mix=lambda weights, value: weights.mT @ value),
            _pipeline(
                mix=lambda weights, value: weights.mT @ value,
                result=lambda out, weights, scores: (out, weights.mT),
            ),
        ),
        Mistake(
            "The product is reversed: use weights @ value.",
            _pipeline(mix=lambda weights, value: value @ weights),
        ),
        Mistake(
            "The values are multiplied entry by entry: weights @ value also sums over the keys.",
            _pipeline(mix=lambda weights, value: weights * value),
        ),
        Mistake(
            "The queries are mixed, or the keys, in place of the values: use weights @ value.",
            lambda query, key, value, mask=None, scale=None: (
                (w := attention(query, key, value, mask, scale)[1]) @ key,
                w,
            ),
            lambda query, key, value, mask=None, scale=None: (
                (w := attention(query, key, value, mask, scale)[1]) @ query,
                w,
            ),
        ),
        Mistake(
            "The keys are not transposed: row i of query meets row j of key, so use "
            "query @ np.swapaxes(key, -1, -2).",
            _pipeline(dot=lambda query, key: query @ key),
        ),
        Mistake(
            "The keys are reshaped, which tears their rows apart: swap their last two axes, with "
            "key.mT or np.swapaxes(key, -1, -2).",
            _pipeline(dot=lambda query, key: query @ key.reshape(key.mT.shape)),
        ),
        Mistake(
            "key.T reverses the batch dimensions as well: swap the last two axes only, with "
            "key.mT or np.swapaxes(key, -1, -2).",
            _pipeline(dot=lambda query, key: query @ key.T),
        ),
        Mistake(
            "The scores are transposed: queries are their rows and keys their columns, (..., L, S).",
            _pipeline(dot=lambda query, key: key @ query.mT),
        ),
        Mistake(
            "The scores are cosines: dot products keep the lengths of the vectors.",
            _pipeline(dot=_cosine, rescale=lambda default, scale: 1.0 if scale is None else scale),
            _pipeline(dot=_cosine),
        ),
        Mistake(
            "Only the first batch item is computed: leading dimensions must be kept.",
            lambda query, key, value, mask=None, scale=None: attention(
                *(x[(0,) * (x.ndim - 2)] for x in (query, key, value)), mask, scale
            ),
        ),
    ),
)

# self_attention and cross_attention

Projections = tuple[NDArray, NDArray, NDArray]


def _projections(rng: Generator, d: int, d_k: int, d_v: int) -> Projections:
    """Draw projections that keep vectors of size 1 at size 1."""
    return tuple(rng.normal(size=(d, size)) / math.sqrt(d) for size in (d_k, d_k, d_v))


def _self_cases(rng: Generator) -> Iterator[Case]:
    x = np.array([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]])
    w_q, w_k = np.array([[1.0, 0.0, 1.0], [0.0, 2.0, 0.0]]), np.array([[1.0, 1.0, 0], [2, 0, 1.0]])
    w_v = np.array([[2.0], [4.0]])
    yield Case(x, w_q, w_k, w_v)
    yield Case(x, w_q, w_k, w_v, np.tri(3, dtype=bool))
    yield Case(rng.normal(size=(3, 6)), *_projections(rng, 6, 5, 7))
    # All sizes equal: here a lost transpose or an exchanged matrix gives numbers.
    yield Case(rng.normal(size=(3, 3)), *_projections(rng, 3, 3, 3))
    yield Case(rng.normal(size=(3, 3, 3)), *_projections(rng, 3, 3, 3))
    yield Case(rng.normal(size=(2, 5, 3)), *_projections(rng, 3, 2, 6))
    yield Case(
        rng.normal(size=(2, 5, 3)),
        *_projections(rng, 3, 7, 2),
        mask=np.arange(5) < np.array([[[3]], [[0]]]),
    )
    bias = np.where(np.tri(5, dtype=bool), rng.normal(size=(5, 5)), -np.inf)
    yield Case(rng.normal(size=(2, 3, 5, 6)), *_projections(rng, 6, 3, 2), bias)
    yield Case(
        *(
            array.astype(np.float32)
            for array in (rng.normal(size=(5, 7)), *_projections(rng, 7, 2, 3))
        ),
        np.tri(5, dtype=bool),
    )
    yield Case(*_integers(rng, (3, 2), (2, 3), (2, 3), (2, 5)))
    # Scores far beyond what exp can take, exact in every order of operations.
    x = np.array([[1.0, 3000.0], [2.0, 3000.0], [4.0, -3000.0]])
    w_q, w_k = np.array([[0.0, 0, 0, 0], [1, 0, 0, 0]]), np.array([[0.0, 0, 0, 0], [0.5, 0, 0, 0]])
    yield Case(x, w_q, w_k, np.array([[2.0, -1.0, 0.0], [0.0, 0.0, 0.5]]))


def _integers(rng: Generator, *shapes: tuple[int, ...]) -> list[NDArray]:
    return [rng.integers(-1, 3, size=shape) for shape in shapes]


def _cross_cases(rng: Generator) -> Iterator[Case]:
    x, context = np.array([[1.0, 0.0], [0.0, 1.0]]), np.array([[1.0, 1.0], [0.0, 2.0], [2.0, 0.0]])
    w_q, w_k = np.array([[1.0, 0.0, 1.0], [0.0, 2.0, 0.0]]), np.array([[1.0, 1.0, 0], [2, 0, 1.0]])
    w_v = np.array([[2.0], [4.0]])
    yield Case(x, context, w_q, w_k, w_v)
    yield Case(x, context, w_q, w_k, w_v, np.array([[True, False, True], [False] * 3]))
    yield Case(rng.normal(size=(2, 6)), rng.normal(size=(3, 6)), *_projections(rng, 6, 5, 7))
    # As many queries as keys: here exchanged sequences give numbers.
    yield Case(rng.normal(size=(3, 3)), rng.normal(size=(3, 3)), *_projections(rng, 3, 3, 3))
    yield Case(rng.normal(size=(3, 5)), rng.normal(size=(3, 5)), *_projections(rng, 5, 2, 6))
    yield Case(
        rng.normal(size=(2, 6, 3)),
        rng.normal(size=(2, 5, 3)),
        *_projections(rng, 3, 7, 2),
        mask=np.arange(5) < np.array([[[3]], [[0]]]),
    )
    yield Case(
        rng.normal(size=(3, 2, 5, 6)),
        rng.normal(size=(3, 2, 7, 6)),
        *_projections(rng, 6, 3, 2),
        rng.normal(size=(5, 7)),
    )
    yield Case(
        *(
            array.astype(np.float32)
            for array in (
                rng.normal(size=(5, 7)),
                rng.normal(size=(3, 7)),
                *_projections(rng, 7, 2, 6),
            )
        )
    )
    # Scores far beyond what exp can take, exact in every order of operations.
    x, w_q = np.array([[1.0, 3000.0], [2.0, -3000.0]]), np.array([[0.0] * 4, [1.0, 0, 0, 0]])
    context, w_k = (
        np.array([[8.0, 1.0], [-2.0, 1.0], [1.0, 1.0], [0.0, -1.0]]),
        w_q[:, [0, 2, 1, 3]],
    )
    yield Case(x, context, w_q, w_k, np.array([[2.0, -1.0, 0.0], [0.0, 0.0, 0.5]]))


def _cross_size(
    x: NDArray,
    context: NDArray,
    w_q: NDArray,
    w_k: NDArray,
    w_v: NDArray,
    mask: NDArray | None = None,
) -> NDArray:
    _, weights = attention(x @ w_q, context @ w_k, context @ w_v, mask)
    query, key = np.abs(x) @ np.abs(w_q), np.abs(context) @ np.abs(w_k)
    score_size = query @ key.mT / math.sqrt(w_q.shape[1]) + _bias_size(mask)
    return _pair_size(weights, score_size, np.abs(context) @ np.abs(w_v))[0]


def _self_size(
    x: NDArray, w_q: NDArray, w_k: NDArray, w_v: NDArray, mask: NDArray | None = None
) -> NDArray:
    return _cross_size(x, x, w_q, w_k, w_v, mask)


def _projected(attend: Callable[..., tuple[NDArray, NDArray]]) -> Answer:
    """Make self-attention of a wrong attention."""
    return lambda x, w_q, w_k, w_v, mask=None: attend(x @ w_q, x @ w_k, x @ w_v, mask)[0]


def _crossed(attend: Callable[..., tuple[NDArray, NDArray]]) -> Answer:
    """Make cross-attention of a wrong attention."""
    return lambda x, context, w_q, w_k, w_v, mask=None: attend(
        x @ w_q, context @ w_k, context @ w_v, mask
    )[0]


def _scaled_by_width(
    x: NDArray, context: NDArray, w_q: NDArray, w_k: NDArray, w_v: NDArray, mask: NDArray | None
) -> NDArray:
    scale = 1 / math.sqrt(x.shape[-1])
    return attention(x @ w_q, context @ w_k, context @ w_v, mask, scale)[0]


SELF_ATTENTION = Exercise(
    name="self_attention",
    points=2,
    minutes=7,
    reference=self_attention,
    cases=_self_cases,
    magnitude=_self_size,
    hints=(
        "Three projections come first: the queries are x @ w_q. Keys and values are made in the "
        "same way.",
        "Your attention does the rest, mask and all. It returns a pair; here the output alone is "
        "asked for.",
    ),
    mistakes=(
        Mistake(
            "The pair (output, weights) is returned: here the output alone is asked for.",
            lambda x, w_q, w_k, w_v, mask=None: attention(x @ w_q, x @ w_k, x @ w_v, mask),
        ),
        Mistake(
            "The weights are returned: return the output.",
            lambda x, w_q, w_k, w_v, mask=None: attention(x @ w_q, x @ w_k, x @ w_v, mask)[1],
        ),
        Mistake(
            "The mask is ignored: pass it on to attention.",
            lambda x, w_q, w_k, w_v, mask=None: self_attention(x, w_q, w_k, w_v),
        ),
        Mistake(
            "The attention is causal although no mask says so: use the mask you are given, and none "
            "when it is None.",
            lambda x, w_q, w_k, w_v, mask=None: self_attention(
                x, w_q, w_k, w_v, causal_mask(x.shape[-2]) if mask is None else mask
            ),
        ),
        Mistake(
            "x is not projected: queries are x @ w_q, keys x @ w_k and values x @ w_v.",
            lambda x, w_q, w_k, w_v, mask=None: attention(x, x, x, mask)[0],
        ),
        Mistake(
            "The values are not projected: mix x @ w_v, not x.",
            lambda x, w_q, w_k, w_v, mask=None: attention(x @ w_q, x @ w_k, x, mask)[0],
        ),
        Mistake(
            "Queries and keys are made with the same matrix: queries with w_q, keys with w_k.",
            lambda x, w_q, w_k, w_v, mask=None: self_attention(x, w_q, w_q, w_v, mask),
            lambda x, w_q, w_k, w_v, mask=None: self_attention(x, w_k, w_k, w_v, mask),
        ),
        Mistake(
            "w_q and w_k are exchanged: queries are x @ w_q, keys x @ w_k.",
            lambda x, w_q, w_k, w_v, mask=None: self_attention(x, w_k, w_q, w_v, mask),
        ),
        Mistake(
            "Keys are mixed in place of values: values are x @ w_v.",
            lambda x, w_q, w_k, w_v, mask=None: self_attention(x, w_q, w_k, w_k, mask),
        ),
        Mistake(
            "The scores are divided by √d, the width of x: divide by √d_k, the width of the "
            "queries.",
            lambda x, w_q, w_k, w_v, mask=None: _scaled_by_width(x, x, w_q, w_k, w_v, mask),
        ),
        Mistake(
            "The scores are divided by √d_v: divide by √d_k, the width of the queries.",
            lambda x, w_q, w_k, w_v, mask=None: attention(
                x @ w_q, x @ w_k, x @ w_v, mask, 1 / math.sqrt(w_v.shape[-1])
            )[0],
        ),
        Mistake(
            "The scores are not scaled: divide them by √d_k, the width of the queries.",
            _projected(_constant(1.0)),
        ),
        Mistake(
            "The projections are transposed: x (..., L, d) times w_q (d, d_k), as they are.",
            lambda x, w_q, w_k, w_v, mask=None: attention(x @ w_q.T, x @ w_k.T, x @ w_v.T, mask)[0],
        ),
        Mistake(
            "x is added to the output (a residual connection): here the output alone is asked for.",
            lambda x, w_q, w_k, w_v, mask=None: x + self_attention(x, w_q, w_k, w_v, mask),
        ),
        Mistake(
            "A row with nothing allowed gives NaN: its output is zeros. Your attention, or "
            "attention_lib.masked_softmax, can see to that.",
            _projected(_pipeline(weigh=stable_softmax)),
        ),
        Mistake(
            "exp overflows for large scores: subtract the row's maximum first, or use your "
            "attention.",
            _projected(_pipeline(weigh=_plain_softmax)),
            _projected(_pipeline(weigh=_plain_softmax_or_zeros)),
        ),
        Mistake(
            "The weights sum to 1 over the queries: softmax runs over the keys, the last axis.",
            _projected(_pipeline(weigh=lambda scores: stable_softmax(scores, -2))),
            _projected(_pipeline(weigh=lambda s: masked_softmax(s, s > -np.inf, -2))),
        ),
    ),
)

CROSS_ATTENTION = Exercise(
    name="cross_attention",
    points=1,
    minutes=4,
    reference=cross_attention,
    cases=_cross_cases,
    magnitude=_cross_size,
    hints=(
        "One word has changed since self_attention: who makes the queries, and who makes the keys "
        "and values?",
        "Queries are x @ w_q; keys and values are context @ w_k and context @ w_v.",
    ),
    mistakes=(
        Mistake(
            "The pair (output, weights) is returned: here the output alone is asked for.",
            lambda x, context, w_q, w_k, w_v, mask=None: attention(
                x @ w_q, context @ w_k, context @ w_v, mask
            ),
        ),
        Mistake(
            "context is ignored: this is the self-attention of x. Keys and values come from "
            "context.",
            lambda x, context, w_q, w_k, w_v, mask=None: attention(x @ w_q, x @ w_k, x @ w_v, mask)[
                0
            ],
        ),
        Mistake(
            "x is ignored: this is the self-attention of context. Queries come from x.",
            lambda x, context, w_q, w_k, w_v, mask=None: attention(
                context @ w_q, context @ w_k, context @ w_v, mask
            )[0],
        ),
        Mistake(
            "The sequences are exchanged: queries come from x, keys and values from context.",
            lambda x, context, w_q, w_k, w_v, mask=None: attention(
                context @ w_q, x @ w_k, x @ w_v, mask
            )[0],
        ),
        Mistake(
            "The values come from x: keys and values both come from context.",
            lambda x, context, w_q, w_k, w_v, mask=None: attention(
                x @ w_q, context @ w_k, x @ w_v, mask
            )[0],
        ),
        Mistake(
            "The keys come from x: keys and values both come from context.",
            lambda x, context, w_q, w_k, w_v, mask=None: attention(
                x @ w_q, x @ w_k, context @ w_v, mask
            )[0],
        ),
        Mistake(
            "The mask is ignored: pass it on to attention.",
            lambda x, context, w_q, w_k, w_v, mask=None: cross_attention(x, context, w_q, w_k, w_v),
        ),
        Mistake(
            "w_q and w_k are exchanged: queries are x @ w_q, keys context @ w_k.",
            lambda x, context, w_q, w_k, w_v, mask=None: cross_attention(
                x, context, w_k, w_q, w_v, mask
            ),
        ),
        Mistake(
            "The scores are divided by √d, the width of x: divide by √d_k, the width of the "
            "queries.",
            lambda x, context, w_q, w_k, w_v, mask=None: _scaled_by_width(
                x, context, w_q, w_k, w_v, mask
            ),
        ),
        Mistake(
            "The scores are not scaled: divide them by √d_k, the width of the queries.",
            _crossed(_constant(1.0)),
        ),
        Mistake(
            "exp overflows for large scores: subtract the row's maximum first, or use your "
            "attention.",
            _crossed(_pipeline(weigh=_plain_softmax)),
            _crossed(_pipeline(weigh=_plain_softmax_or_zeros)),
        ),
        Mistake(
            "A row with nothing allowed gives NaN: its output is zeros. Your attention, or "
            "attention_lib.masked_softmax, can see to that.",
            _crossed(_pipeline(weigh=stable_softmax)),
        ),
    ),
)

EXERCISES = (CAUSAL_MASK, PADDING_MASK, ATTENTION, SELF_ATTENTION, CROSS_ATTENTION)
