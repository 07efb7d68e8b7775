"""`attention(query, key, value, mask=None, scale=None)` mixes the values by softmax of the scores.

`query` has shape `(..., L, d_k)`, `key` `(..., S, d_k)` and `value` `(..., S, d_v)`. The result is
the pair `(output, weights)`, of shapes `(..., L, d_v)` and `(..., L, S)`. The scores are the dot
products times `scale`, which is 1/√d_k when None; any number is a scale, also 0 or one below 0.

The mask is broadcast to `(..., L, S)`. A boolean mask is True where attention is allowed; a float
mask is added to the scaled scores, and only -inf forbids. Its dtype may be another than that of the
rest. In a row with nothing allowed (all False or all -inf) weights and output are zeros. The weights
are right for large scores too.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from attention_lib.checks.calls.case import Answer, Case
from attention_lib.checks.exercise import Exercise, known_mistakes
from attention_lib.exercises.parts.attention import (
    Masked,
    as_booleans,
    as_numbers,
    attention_magnitude,
    attention_with,
    filled_by,
    inverse_root,
    inverted,
    is_boolean,
    masked_by,
    masked_scores,
    only_floats,
    softmax_or_zeros,
    zero_scores,
    zeroed,
)
from attention_lib.exercises.parts.by_name import by_name
from attention_lib.exercises.parts.cases import in_float32
from attention_lib.exercises.parts.hidden_nan import remark_on_hidden_nan
from attention_lib.exercises.parts.softmax import (
    EPSILONS,
    divided_by_sum,
    plain_softmax,
    plain_softmax_or_zeros,
    softmax_with_epsilon,
    softmax_with_one_maximum,
)
from attention_lib.lessons.attention import attention
from attention_lib.lessons.softmax import softmax
from attention_lib.lessons.stability import stable_softmax

HINTS = (
    "Four steps: scaled scores (..., L, S), the mask, weights along the last axis, and the "
    "weights times the values. You have written each of them in an earlier lesson.",
    "mask.dtype == bool tells the two kinds of mask apart: np.where(mask, scores, -np.inf) for "
    "booleans, scores + mask for floats. After it, -inf means forbidden for both.",
    "With every key forbidden, a row's maximum is -inf and its sum 0. "
    "lib.masked_softmax(scores, scores != -np.inf) knows what to do with it. (A score of nan says "
    "that the model has diverged. scores > -np.inf would hide it.)",
)


def cases(rng: Generator) -> Iterator[Case]:
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
    yield Case(draw(3, 6), draw(5, 6), draw(5, 2), draw(5).astype(np.float32))
    yield Case(draw(2, 3), draw(5, 3), draw(5, 6), np.zeros((2, 5), dtype=bool))  # no key at all
    # What is added is no verdict: -2000 for every key of a row forbids none of them.
    yield Case(draw(2, 6), draw(3, 6), draw(3, 5), draw(2, 3) - np.array([[0.0], [2000.0]]))
    yield Case(
        np.array([[1, 0, 2], [-1, 3, 1]]),
        np.array([[2, 1, 0], [0, 1, -1], [1, 1, 1], [0, 0, 3], [1, 0, 2]]),
        np.array([[3, -1], [0, 2], [5, 1], [-2, 2], [1, 1]]),
        np.array([True, True, False, True, True]),
    )
    integers = (rng.integers(-2, 4, size=shape) for shape in ((3, 2), (5, 2), (5, 4)))
    yield Case(*integers, rng.permutation([True, True, False, True, False]))
    added = draw(4, 6)
    added[rng.integers(4)] = -np.inf  # nothing allowed for one of the queries
    yield Case(draw(4, 3), draw(6, 3), draw(6, 2), added)
    yield Case(draw(1, 3), draw(1, 3), draw(1, 2))
    yield Case(*in_float32(draw(*shape) for shape in ((5, 3), (2, 3), (2, 6))))
    yield Case(
        *in_float32(draw(*shape) for shape in ((2, 3, 6), (2, 5, 6), (2, 5, 7))),
        np.where(rng.random((2, 3, 5)) < 0.6, draw(2, 3, 5), -np.inf),  # float64
    )
    yield Case(
        *in_float32(draw(*shape) for shape in ((3, 6), (5, 6), (5, 7))),
        np.arange(5) < np.array([[5], [0], [2]]),
        0.5,
    )
    yield from large_scores(rng)


def large_scores(rng: Generator) -> Iterator[Case]:
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


remark_on_weights = remark_on_hidden_nan(
    "attention",
    np.array([[np.nan, 1.0], [1.0, 0.0]]),
    np.array([[1.0, 0.0], [0.0, 2.0], [1.0, 1.0]]),
    np.array([[1.0], [2.0], [3.0]]),
)


def remark(answer: Answer) -> str | None:
    """Remark on weights without a NaN where a query holds one."""
    return remark_on_weights(lambda *args: answer(*args)[1])


def scaled_by(number: float) -> Answer:
    """Make attention with the same default scale whatever the shapes."""
    return attention_with(default_scale=lambda query, key, value: number)


@by_name(attention)
def weights_scaled(query, key, value, mask, scale):
    _, weights = attention(query, key, value, mask, 1.0)
    weights = weights * (inverse_root(query, key, value) if scale is None else scale)
    return weights @ value, weights


def added_in_its_dtype(scores: NDArray, mask: NDArray | None) -> NDArray:
    is_alike = mask is None or mask.dtype == scores.dtype
    return masked_scores(scores, mask if is_alike else as_booleans(mask))


def scaled_if_allowed(scores: NDArray, by: float) -> NDArray:
    return np.where(scores == -np.inf, scores, np.where(scores == -np.inf, 0, scores) * by)


def multiplied(scores: NDArray, mask: NDArray | None) -> NDArray:
    """Multiply a float mask into the scores."""
    return masked_scores(scores, mask) if mask is None or is_boolean(mask) else scores * mask


def allowed(mask: NDArray) -> NDArray:
    """Reduce a float mask to booleans: False where it is -inf."""
    return mask if is_boolean(mask) else mask > -np.inf


def uniform_where_empty(scores: NDArray) -> NDArray:
    empty = (scores == -np.inf).all(axis=-1, keepdims=True)
    return np.where(empty, 1 / scores.shape[-1], softmax_or_zeros(scores))


def fill_added(fill: float) -> Masked:
    """Add a large negative number where a boolean mask is False."""
    return lambda scores, mask: (
        scores + np.where(mask, 0.0, fill) if is_boolean(mask) else masked_scores(scores, mask)
    )


def clipped_at(fill: float) -> Masked:
    """Use a large negative number in place of -inf in float masks as well."""
    return lambda scores, mask: (
        filled_by(fill)(scores, mask)
        if mask is None or is_boolean(mask)
        else scores + mask.clip(fill)
    )


def zeroed_by_either(weights: NDArray, mask: NDArray | None) -> NDArray:
    """Put 0 in place of the weights that a mask forbids, boolean or float."""
    return weights if mask is None else np.where(allowed(mask), weights, 0.0)


def renormalized(weights: NDArray, mask: NDArray | None) -> NDArray:
    """Put 0 in place of the weights that a boolean mask forbids, and divide by the sum again."""
    return divided_by_sum(zeroed(weights, mask)) if is_boolean(mask) else weights


def shifted_before_mask(scores: NDArray, mask: NDArray | None) -> NDArray:
    return masked_scores(scores - scores.max(axis=-1, keepdims=True), mask)


def one_hot(scores: NDArray) -> NDArray:
    return softmax_or_zeros(scores) * 0 + (
        np.arange(scores.shape[-1]) == scores.argmax(-1)[..., None]
    )


def mixing(choose: Callable[[NDArray, NDArray], NDArray]) -> Answer:
    """Mix the queries or the keys in place of the values."""

    def answer(query: NDArray, key: NDArray, *others: Any, **keywords: Any) -> Any:
        _, weights = attention(query, key, *others, **keywords)
        return weights @ choose(query, key), weights

    return answer


MISTAKES = known_mistakes(
    "default-scale-missing: The scores are not scaled when scale is None: multiply them by 1/√d_k.",
    scaled_by(1.0),
    "never-scaled: The scores are never scaled: multiply by scale, or by 1/√d_k when it is None.",
    attention_with(choose_scale=lambda default, scale: 1.0),
    "scaled-twice: The scale is taken twice: multiply by it once.",
    attention_with(choose_scale=lambda default, scale: (default if scale is None else scale) ** 2),
    "root-of-d-v: The scores are divided by √d_v: d_k, the length of a query, is query.shape[-1].",
    attention_with(default_scale=lambda query, key, value: 1 / math.sqrt(value.shape[-1])),
    "root-of-keys: The scores are divided by √S, the number of keys: d_k, the length of a query, "
    "is query.shape[-1].",
    attention_with(default_scale=lambda query, key, value: 1 / math.sqrt(key.shape[-2])),
    attention_with(default_scale=lambda query, key, value: 1 / math.sqrt(len(key))),
    "root-of-queries: The scores are divided by √L, the number of queries: d_k, the length of a "
    "query, is query.shape[-1].",
    attention_with(default_scale=lambda query, key, value: 1 / math.sqrt(query.shape[-2])),
    attention_with(default_scale=lambda query, key, value: 1 / math.sqrt(len(query))),
    "d-k-from-axis-1: d_k is taken from axis 1, which is right without a batch only: it is the "
    "last axis, query.shape[-1].",
    attention_with(default_scale=lambda query, key, value: 1 / math.sqrt(query.shape[1])),
    "divided-by-d-k: The scores are divided by d_k: divide by its square root.",
    attention_with(default_scale=lambda query, key, value: 1 / query.shape[-1]),
    "multiplied-by-root: The scores are multiplied by √d_k: the default scale is 1/√d_k.",
    attention_with(default_scale=lambda query, key, value: math.sqrt(query.shape[-1])),
    "constant-scale: The default scale is the same number for every d_k: it is 1/√d_k.",
    *map(scaled_by, (1 / 2, 1 / 4, 1 / 8, 1 / 64, 2.0, 1 / math.sqrt(2), 512**-0.5)),
    "scale-ignored: scale is ignored: when it is given, multiply by it in place of 1/√d_k.",
    attention_with(choose_scale=lambda default, scale: default),
    "zero-scale-ignored: A scale of 0 is taken for no scale: ask for `scale is None`, since 0 "
    "counts as false.",
    attention_with(is_given=bool),
    "scale-on-top: scale comes on top of 1/√d_k: when it is given, it takes its place.",
    attention_with(choose_scale=lambda default, scale: default * (1.0 if scale is None else scale)),
    "divided-by-scale: You divide by scale: multiply by it. The default is 1/√d_k, not √d_k.",
    attention_with(
        choose_scale=lambda default, scale: default if scale is None else 1 / np.float64(scale)
    ),
    "scaled-after-softmax: The weights are scaled after softmax: scale the scores before it.",
    weights_scaled,
    "float-mask-scaled: A float mask is scaled with the scores: scale them first, then add it.",
    attention_with(scaled_last=np.multiply),
    attention_with(scaled_last=scaled_if_allowed),
    attention_with(
        scaled_last=np.multiply, weigh=lambda scores: np.nan_to_num(stable_softmax(scores))
    ),
    "mask-ignored: The mask is ignored: forbidden keys get weight.",
    attention_with(masked=lambda scores, mask: scores),
    "mask-inverted: The boolean mask is inverted: True is where attention is allowed.",
    attention_with(masked=masked_by(inverted)),
    "float-mask-ignored: A float mask is ignored: its numbers are added to the scaled scores.",
    attention_with(masked=lambda s, mask: masked_scores(s, mask) if is_boolean(mask) else s),
    "boolean-mask-ignored: A boolean mask is ignored: where it is False, the score becomes -inf.",
    attention_with(masked=only_floats),
    "float-mask-as-boolean: A float mask is treated as one of yes and no, by which of its numbers are 0: "
    "ask for mask.dtype == bool, and add the others to the scores.",
    attention_with(masked=masked_by(as_booleans)),
    attention_with(masked=masked_by(lambda mask: mask if is_boolean(mask) else ~as_booleans(mask))),
    "only-float64-added: Only a mask of one dtype is added: ask for mask.dtype == bool, and add every "
    "other mask.",
    attention_with(
        masked=masked_by(lambda mask: mask if mask.dtype == float else as_booleans(mask))
    ),
    attention_with(masked=added_in_its_dtype),
    "only-inf-of-float-mask: Of a float mask only the -inf is used: its other numbers are added "
    "to the scaled scores.",
    attention_with(masked=masked_by(allowed)),
    attention_with(masked=masked_by(lambda mask: mask if is_boolean(mask) else mask >= 0)),
    "float-mask-multiplied: A float mask is multiplied into the scores: add it.",
    attention_with(masked=multiplied),
    "boolean-mask-added: A boolean mask is added to the scores as 0 and 1: where it is False, the "
    "score becomes -inf.",
    attention_with(masked=masked_by(as_numbers)),
    "forbidden-scores-zero: Forbidden scores become 0, and exp(0) is 1: make them -inf.",
    attention_with(masked=zero_scores),
    "empty-row-nan: A row with nothing allowed gives NaN, of -inf - (-inf) or of 0 / 0: its weights and "
    "its output should be zeros.",
    attention_with(weigh=stable_softmax),
    "empty-row-weights-nan: In a row with nothing allowed the weights are still NaN: they are "
    "zeros, like the output.",
    attention_with(
        weigh=stable_softmax,
        result=lambda output, weights, scores: (np.nan_to_num(output), weights),
    ),
    "empty-row-equal-weights: A row with nothing allowed gets equal weights: it gets zeros, and "
    "so does its output.",
    attention_with(weigh=uniform_where_empty),
    attention_with(
        weigh=uniform_where_empty,
        result=lambda output, weights, scores: (
            output,
            np.where(scores > -np.inf, weights, 0.0),
        ),
    ),
    attention_with(
        weigh=uniform_where_empty,
        result=lambda output, weights, scores: (
            np.where((scores > -np.inf).any(axis=-1, keepdims=True), output, 0.0),
            weights,
        ),
    ),
    "large-number-for-inf: A large negative number is not -inf: a row with nothing allowed gives "
    "weight to forbidden keys. Use -inf, and give such a row zeros.",
    *(
        attention_with(masked=masked)
        for fill in (-1e9, -1e4, -1e5, -1e6, -1e8, -1e10, -1e12, -1e20, -1e30)
        for masked in (filled_by(fill), fill_added(fill), clipped_at(fill))
    ),
    attention_with(masked=lambda s, mask: filled_by(np.finfo(s.dtype).min)(s, mask)),
    "masked-after-softmax: The mask is applied after softmax: forbidden keys still took their "
    "share of the sum. Mask the scores.",
    attention_with(masked=only_floats, after_softmax=zeroed),
    attention_with(masked=lambda scores, mask: scores, after_softmax=zeroed_by_either),
    "masked-and-divided-again: Forbidden scores still take part in the maximum: under a far larger one, "
    "all that the mask leaves underflows to 0. Mask the scores first; where nothing is allowed, subtract "
    "0 and divide by 1.",
    attention_with(masked=only_floats, after_softmax=renormalized),
    attention_with(
        masked=lambda s, mask: (
            s if mask is None or is_boolean(mask) else s + np.where(allowed(mask), mask, 0.0)
        ),
        after_softmax=lambda weights, mask: np.nan_to_num(
            divided_by_sum(zeroed_by_either(weights, mask))
        ),
    ),
    attention_with(
        masked=only_floats,
        after_softmax=lambda weights, mask: np.nan_to_num(renormalized(weights, mask)),
    ),
    "softmax-over-queries: The weights sum to 1 over queries: softmax runs over the keys, axis=-1.",
    attention_with(weigh=lambda scores: stable_softmax(scores, -2)),
    attention_with(weigh=lambda scores: softmax_or_zeros(scores, -2)),
    "softmax-over-everything: All weights together sum to 1: every query needs weights that sum "
    "to 1, along the last axis.",
    attention_with(weigh=lambda scores: softmax(scores, None)),
    attention_with(weigh=lambda scores: plain_softmax(scores, None)),
    "exp-overflows: exp overflows for large scores: subtract the row's maximum first.",
    attention_with(weigh=plain_softmax),
    attention_with(weigh=lambda scores: np.nan_to_num(plain_softmax(scores))),
    attention_with(weigh=plain_softmax_or_zeros),
    "one-maximum: One maximum is subtracted from all rows: a row far below it underflows to 0. Every "
    "row needs its own.",
    attention_with(weigh=softmax_with_one_maximum),
    attention_with(weigh=lambda scores: plain_softmax_or_zeros(scores - max(scores.max(), -1e30))),
    "maximum-before-mask: The maximum is taken before the mask: under a far larger forbidden "
    "score every allowed exponential underflows to 0. Mask the scores first; where nothing is allowed, "
    "subtract 0 and divide by 1.",
    attention_with(masked=shifted_before_mask, weigh=plain_softmax_or_zeros),
    attention_with(masked=shifted_before_mask, weigh=plain_softmax),
    "constant-in-sum: A small constant is added to every sum, so the weights do not sum to 1. "
    "Treat rows with nothing allowed apart.",
    *map(lambda e: attention_with(weigh=lambda s: softmax_with_epsilon(s, e)), EPSILONS[1:]),
    "softmax-twice: Softmax is applied twice: the weights are the softmax of the scores, once.",
    attention_with(weigh=lambda scores: stable_softmax(softmax_or_zeros(scores))),
    "no-softmax: There is no softmax: weights are the softmax of the scores, along the last axis.",
    attention_with(weigh=lambda scores: scores),
    attention_with(weigh=divided_by_sum),
    "only-largest: The key with the largest score takes all the weight: softmax gives every "
    "allowed key its share.",
    attention_with(weigh=one_hot),
    "output-alone: Only the output is returned: return the pair (output, weights).",
    attention_with(result=lambda output, weights, scores: output),
    "weights-alone: Only the weights are returned: return the pair (output, weights).",
    attention_with(result=lambda output, weights, scores: weights),
    "pair-reversed: The pair is reversed: return (output, weights).",
    attention_with(result=lambda output, weights, scores: (weights, output)),
    "scores-for-weights: The second result is the scores: return their softmax, the weights.",
    attention_with(result=lambda output, weights, scores: (output, scores)),
    "product-reversed: The product is reversed: use weights @ value.",
    attention_with(mix=lambda weights, value: value @ weights),
    "entry-by-entry: Values are multiplied entry by entry: weights @ value sums over the keys.",
    attention_with(mix=lambda weights, value: weights * value),
    "query-or-key-mixed: The queries or the keys are mixed, not the values: use weights @ value.",
    mixing(lambda query, key: key),
    mixing(lambda query, key: query),
    "keys-not-transposed: The keys are not transposed: row i of query meets row j of key, so use "
    "query @ np.swapaxes(key, -1, -2).",
    attention_with(dot=lambda query, key: query @ key),
    "keys-reshaped: The keys are reshaped, which tears their rows apart: swap their last two "
    "axes, with key.mT or np.swapaxes(key, -1, -2).",
    attention_with(dot=lambda query, key: query @ key.reshape(key.mT.shape)),
    "key-t-reverses-batch: key.T reverses the batch dimensions as well: swap the last two axes "
    "only, with key.mT or np.swapaxes(key, -1, -2).",
    attention_with(dot=lambda query, key: query @ key.T),
    "scores-transposed: The scores are transposed: queries are their rows, keys their columns.",
    attention_with(dot=lambda query, key: key @ query.mT),
    "first-item-only: Only the first batch item is computed: leading dimensions must be kept.",
    lambda query, key, value, mask=None, scale=None: attention(
        *(x[(0,) * (x.ndim - 2)] for x in (query, key, value)), mask, scale
    ),
)

EXERCISE = Exercise(
    name="attention",
    points=4,
    minutes=13,
    reference=attention,
    signature="attention(query, key, value, mask=None, scale=None)",
    cases=cases,
    magnitude=attention_magnitude,
    remarks=(remark,),
    hints=HINTS,
    mistakes=MISTAKES,
)
