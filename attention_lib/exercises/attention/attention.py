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
from collections.abc import Iterator

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from attention_lib.checks.calls.case import Answer, Case
from attention_lib.checks.exercise import Exercise, known_mistakes
from attention_lib.exercises.parts.attention import attention_magnitude
from attention_lib.exercises.parts.cases import in_float32
from attention_lib.exercises.parts.choices import EPSILONS
from attention_lib.exercises.parts.hidden_nan import remark_on_hidden_nan
from attention_lib.lessons.attention import attention

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


def plain(query, key, value, mask=None, scale=None):
    default = 1 / math.sqrt(query.shape[-1])
    factor = default if scale is None else scale
    scores = query @ key.mT * factor
    if mask is None:
        pass
    elif mask.dtype == bool:
        scores = np.where(mask, scores, -np.inf)
    else:
        scores = scores + mask.astype(scores.dtype)
    maximum = np.max(scores, axis=-1, keepdims=True)
    maximum = np.where(np.isneginf(maximum), 0.0, maximum)
    powers = np.exp(scores - maximum)
    total = np.sum(powers, axis=-1, keepdims=True)
    weights = powers / np.where(total == 0, 1.0, total)
    output = weights @ value
    return output, weights


FACTOR = "default if scale is None else scale"
FILLS = "{-1e9|-1e4|-1e5|-1e6|-1e8|-1e10|-1e12|-1e20|-1e30}"
NOT_MASKED = "np.where(mask, scores, -np.inf) => scores"
ADDED = "scores + mask.astype(scores.dtype)"
SCALED_LAST = " * factor =>  && maximum = np.max => scores = scores * factor\n    maximum = np.max"
MAXIMUM_FIRST = (
    "if mask is None: => first = np.max(scores, axis=-1, keepdims=True)\n    if mask is None: && "
    "scores - maximum => scores - first"
)
TOTAL = "np.where(total == 0, 1.0, total)"
WEIGHTS = f"powers / {TOTAL}"
OUTPUT, RESULT = "output =", "return output, weights => return"
IF_BOOLEAN = "if mask is not None and mask.dtype == bool"
IF_ALLOWED = f"(True if mask is None else mask {IF_BOOLEAN} else mask > -np.inf)"
MASKED_AGAIN = f"{IF_BOOLEAN}:\n        weights = weights * mask"
DIVIDED_AGAIN = "weights = weights / np.sum(weights, axis=-1, keepdims=True)"
EMPTY = "np.isneginf(scores).all(axis=-1, keepdims=True)"
EQUAL = f"np.where({EMPTY}, 1 / scores.shape[-1], {WEIGHTS})"

MISTAKES = known_mistakes(
    plain,
    "default-scale-missing: The scores are not scaled when scale is None: multiply them by 1/√d_k.",
    "1 / math.sqrt(query.shape[-1]) => 1.0",
    "never-scaled: The scores are never scaled: multiply by scale, or by 1/√d_k when it is None.",
    f"{FACTOR} => 1.0",
    "scaled-twice: The scale is taken twice: multiply by it once.",
    f"{FACTOR} => ({FACTOR}) ** 2",
    "root-of-d-v: The scores are divided by √d_v: d_k, the length of a query, is query.shape[-1].",
    "query.shape[-1] => value.shape[-1]",
    "root-of-keys: The scores are divided by √S, the number of keys: d_k, the length of a query, "
    "is query.shape[-1].",
    "query.shape[-1] => {key.shape[-2]|len(key)}",
    "root-of-queries: The scores are divided by √L, the number of queries: d_k, the length of a "
    "query, is query.shape[-1].",
    "query.shape[-1] => {query.shape[-2]|len(query)}",
    "d-k-from-axis-1: d_k is taken from axis 1, which is right without a batch only: it is the "
    "last axis, query.shape[-1].",
    "query.shape[-1] => query.shape[1]",
    "divided-by-d-k: The scores are divided by d_k: divide by its square root.",
    "math.sqrt(query.shape[-1]) => query.shape[-1]",
    "multiplied-by-root: The scores are multiplied by √d_k: the default scale is 1/√d_k.",
    "1 / math.sqrt => math.sqrt",
    "constant-scale: The default scale is the same number for every d_k: it is 1/√d_k.",
    "1 / math.sqrt(query.shape[-1]) => {1 / 2|1 / 4|1 / 8|1 / 64|2.0|1 / math.sqrt(2)|512**-0.5}",
    "scale-ignored: scale is ignored: when it is given, multiply by it in place of 1/√d_k.",
    "else scale => else default",
    "zero-scale-ignored: A scale of 0 is treated as no scale: ask for `scale is None`, since 0 "
    "counts as false.",
    "scale is None => not scale",
    "scale-on-top: scale comes on top of 1/√d_k: when it is given, it takes its place.",
    "else scale => else default * scale",
    "divided-by-scale: You divide by scale: multiply by it. The default is 1/√d_k, not √d_k.",
    "else scale => else 1 / np.float64(scale)",
    "scaled-after-softmax: The weights are scaled after softmax: scale the scores before it.",
    f" * factor =>  && {OUTPUT} => weights = weights * factor\n    {OUTPUT}",
    "float-mask-scaled: A float mask is scaled with the scores: scale them first, then add it.",
    SCALED_LAST,
    " * factor =>  && maximum = np.max => scores = np.where(np.isneginf(scores), scores, "
    "np.where(np.isneginf(scores), 0, scores) * factor)\n    maximum = np.max",
    f"{SCALED_LAST} && {WEIGHTS} => np.nan_to_num(softmax(scores))",
    "mask-ignored: The mask is ignored: forbidden keys get weight.",
    "mask is None => True",
    "mask-inverted: The boolean mask is inverted: True is where attention is allowed.",
    "np.where(mask => np.where(~mask",
    f"np.where(mask => np.where(~mask && {ADDED} => np.where(mask, -np.inf, scores)",
    "float-mask-ignored: A float mask is ignored: its numbers are added to the scaled scores.",
    f"{ADDED} => scores",
    "boolean-mask-ignored: A boolean mask is ignored: where it is False, the score becomes -inf.",
    NOT_MASKED,
    "float-mask-as-boolean: A float mask is treated as a boolean one, by which of its numbers are 0: "
    "ask for mask.dtype == bool, and add the others to the scores.",
    f"{ADDED} => np.where(mask, scores, -np.inf)",
    f"{ADDED} => np.where(mask, -np.inf, scores)",
    "only-float64-added: Only a mask of one dtype is added: ask for mask.dtype == bool, and add every "
    "other mask.",
    "mask.dtype == bool => mask.dtype != {float|scores.dtype}",
    "only-inf-of-float-mask: Of a float mask only the -inf is used: its other numbers are added "
    "to the scaled scores.",
    f"{ADDED} => np.where(mask > -np.inf, scores, -np.inf)",
    f"{ADDED} => np.where(mask >= 0, scores, -np.inf)",
    "float-mask-multiplied: A float mask is multiplied into the scores: add it.",
    f"{ADDED} => {{scores * mask|np.where(np.isnan(scores * mask), -np.inf, scores * mask)}}",
    "boolean-mask-added: A boolean mask is added to the scores as 0 and 1: where it is False, the "
    "score becomes -inf.",
    f"{NOT_MASKED} + mask",
    "forbidden-scores-zero: Forbidden scores become 0, and exp(0) is 1: make them -inf.",
    "-np.inf => 0.0",
    "empty-row-nan: A row with nothing allowed gives NaN, of -inf - (-inf) or of 0 / 0: its weights and "
    "its output should be zeros.",
    f"{WEIGHTS} => softmax(scores)",
    "empty-row-weights-nan: In a row with nothing allowed the weights are still NaN: they are "
    "zeros, like the output.",
    f"{WEIGHTS} => softmax(scores) && {RESULT} np.nan_to_num(output), weights",
    "empty-row-equal-weights: A row with nothing allowed gets equal weights: it gets zeros, and "
    "so does its output.",
    f"{WEIGHTS} => {EQUAL}",
    f"{WEIGHTS} => {EQUAL} && {RESULT} output, np.where({EMPTY}, 0.0, weights)",
    f"{WEIGHTS} => {EQUAL} && {RESULT} np.where({EMPTY}, 0.0, output), weights",
    "large-number-for-inf: A large negative number is not -inf: a row with nothing allowed gives "
    "weight to forbidden keys. Use -inf, and give such a row zeros.",
    f"-np.inf => {FILLS}",
    f"{NOT_MASKED} + np.where(mask, 0.0, {FILLS})",
    f"-np.inf => {FILLS} && + mask => + np.maximum(mask, {FILLS})",
    "-np.inf => np.finfo(scores.dtype).min",
    "masked-after-softmax: The mask is applied after softmax: forbidden keys still took their "
    "share of the sum. Mask the scores.",
    f"{NOT_MASKED} && {OUTPUT} => {MASKED_AGAIN}\n    {OUTPUT}",
    f"mask is None => True && {OUTPUT} => weights = weights * {IF_ALLOWED}\n    {OUTPUT}",
    "masked-and-divided-again: Forbidden scores still take part in the maximum: under a far larger one, "
    "all that the mask leaves underflows to 0. Mask the scores first; where nothing is allowed, subtract "
    "0 and divide by 1.",
    f"{NOT_MASKED} && {OUTPUT} => {MASKED_AGAIN}\n        {DIVIDED_AGAIN}\n    {OUTPUT}",
    f"{NOT_MASKED} && + mask => + np.where(np.isneginf(mask), 0.0, mask) && {OUTPUT} => weights = "
    f"weights * {IF_ALLOWED}\n    {DIVIDED_AGAIN}\n    weights = np.nan_to_num(weights)\n    {OUTPUT}",
    f"{NOT_MASKED} && {OUTPUT} => {MASKED_AGAIN}\n        {DIVIDED_AGAIN}\n"
    f"    weights = np.nan_to_num(weights)\n    {OUTPUT}",
    "softmax-over-queries: The weights sum to 1 over queries: softmax runs over the keys, axis=-1.",
    f"{WEIGHTS} => softmax(scores, -2)",
    "np.max(scores, axis=-1 => np.max(scores, axis=-2 && np.sum(powers, axis=-1 => np.sum(powers, axis=-2",
    "softmax-over-everything: All weights together sum to 1: every query needs weights that sum "
    "to 1, along the last axis.",
    f"{WEIGHTS} => softmax(scores, None)",
    f"scores - maximum => scores && {WEIGHTS} => powers / np.sum(powers)",
    "exp-overflows: exp overflows for large scores: subtract the row's maximum first.",
    f"scores - maximum => scores && {TOTAL} => total",
    f"scores - maximum => scores && {WEIGHTS} => np.nan_to_num(powers / total)",
    "scores - maximum => scores",
    "one-maximum: One maximum is subtracted from all rows: a row far below it underflows to 0. Every "
    "row needs its own.",
    f"scores - maximum => scores - np.max(scores) && {TOTAL} => total",
    "scores - maximum => scores - max(np.max(scores), -1e30)",
    "maximum-before-mask: The maximum is taken before the mask: under a far larger forbidden "
    "score every allowed exponential underflows to 0. Mask the scores first; where nothing is allowed, "
    "subtract 0 and divide by 1.",
    MAXIMUM_FIRST,
    f"{MAXIMUM_FIRST} && {TOTAL} => total",
    "constant-in-sum: A small constant is added to every sum, so the weights do not sum to 1. "
    "Treat rows with nothing allowed apart.",
    f"{TOTAL} => (total + {EPSILONS})",
    "softmax-twice: Softmax is applied twice: the weights are the softmax of the scores, once.",
    f"{WEIGHTS} => softmax({WEIGHTS})",
    "no-softmax: There is no softmax: weights are the softmax of the scores, along the last axis.",
    f"{WEIGHTS} => scores",
    f"{WEIGHTS} => scores / np.sum(scores, axis=-1, keepdims=True)",
    "only-largest: The key with the largest score takes all the weight: softmax gives every "
    "allowed key its share.",
    f"{WEIGHTS} => np.eye(scores.shape[-1])[np.argmax(scores, axis=-1)]",
    "output-alone: Only the output is returned: return the pair (output, weights).",
    f"{RESULT} output",
    "weights-alone: Only the weights are returned: return the pair (output, weights).",
    f"{RESULT} weights",
    "pair-reversed: The pair is reversed: return (output, weights).",
    f"{RESULT} weights, output",
    "scores-for-weights: The second result is the scores: return their softmax, the weights.",
    f"{RESULT} output, scores",
    "product-reversed: The product is reversed: use weights @ value.",
    "weights @ value => value @ weights",
    "entry-by-entry: Values are multiplied entry by entry: weights @ value sums over the keys.",
    "weights @ value => weights * value",
    "query-or-key-mixed: The queries or the keys are mixed, not the values: use weights @ value.",
    "weights @ value => weights @ {key|query}",
    "keys-not-transposed: The keys are not transposed: row i of query meets row j of key, so use "
    "query @ np.swapaxes(key, -1, -2).",
    "key.mT => key",
    "keys-reshaped: The keys are reshaped, which tears their rows apart: swap their last two "
    "axes, with key.mT or np.swapaxes(key, -1, -2).",
    "key.mT => key.reshape(key.mT.shape)",
    "key-t-reverses-batch: key.T reverses the batch dimensions as well: swap the last two axes "
    "only, with key.mT or np.swapaxes(key, -1, -2).",
    "key.mT => key.T",
    "scores-transposed: The scores are transposed: queries are their rows, keys their columns.",
    "query @ key.mT => key @ query.mT",
    "first-item-only: Only the first batch item is computed: leading dimensions must be kept.",
    "default = => query, key, value = (x[(0,) * (x.ndim - 2)] for x in (query, key, value))\n    default =",
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
