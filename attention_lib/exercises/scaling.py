"""The exercises of lesson 03: the size of scores, and how sharp the weights are."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from attention_lib.checks.calls.case import Case
from attention_lib.checks.exercise import Exercise, Mistake
from attention_lib.lessons.scaling import (
    dot_product_scores,
    entropy,
    scaled_scores,
    score_std,
    softcap,
    softmax_with_temperature,
    temperature_for_entropy,
)
from attention_lib.lessons.softmax import softmax

# dot_product_scores


def _scores_cases(rng: Generator) -> Iterator[Case]:
    yield Case(np.array([[1.0, 0.0], [1.0, 2.0], [-1.0, 1.0]]), np.array([[3.0, 1.0], [0.0, 4.0]]))
    yield Case(rng.normal(size=(2, 5)), rng.normal(size=(3, 5)))
    yield Case(rng.normal(size=(5, 2)), rng.normal(size=(7, 2)))
    yield Case(rng.normal(size=(2, 3, 7)), rng.normal(size=(2, 5, 7)))
    yield Case(rng.normal(size=(2, 3, 6, 7)), rng.normal(size=(2, 3, 5, 7)))
    # All sizes equal: here a missing or misplaced transpose gives numbers, not an error.
    yield Case(rng.normal(size=(3, 3, 3)), rng.normal(size=(3, 3, 3)))
    yield Case(
        rng.normal(size=(5, 3)).astype(np.float32), rng.normal(size=(2, 3)).astype(np.float32)
    )
    yield Case(rng.normal(size=(1, 6)), rng.normal(size=(5, 6)))


def _products_size(query: NDArray, key: NDArray) -> NDArray:
    return 2.0 * np.abs(query) @ np.abs(key).mT


def _unit(vectors: NDArray) -> NDArray:
    return vectors / np.linalg.norm(vectors, axis=-1, keepdims=True)


def _square_distances(query: NDArray, key: NDArray) -> NDArray:
    return ((query[..., :, None, :] - key[..., None, :, :]) ** 2).sum(axis=-1)


DOT_PRODUCT_SCORES = Exercise(
    name="dot_product_scores",
    points=1,
    minutes=5,
    reference=dot_product_scores,
    cases=_scores_cases,
    magnitude=_products_size,
    hints=(
        "Entry i, j of the result is (query[i] * key[j]).sum(): row i with row j.",
        "A matrix product takes rows with columns, so the keys must lie as columns: (d_k, S).",
        "key.T reverses all axes. key.mT, or np.swapaxes(key, -1, -2), swaps the last two "
        "and leaves the batch alone.",
    ),
    mistakes=(
        Mistake(
            "The keys are not transposed: row i of query meets row j of key, so use "
            "query @ np.swapaxes(key, -1, -2).",
            lambda query, key: query @ key,
        ),
        Mistake(
            "key.T reverses the batch dimensions as well: swap the last two axes only, with "
            "key.mT or np.swapaxes(key, -1, -2).",
            lambda query, key: query @ key.T,
        ),
        Mistake(
            "The result is transposed: queries are its rows and keys its columns, (..., L, S).",
            lambda query, key: key @ query.mT,
        ),
        Mistake(
            "Here the queries are transposed: keep them as they are and transpose the keys.",
            lambda query, key: query.mT @ key,
        ),
        Mistake(
            "np.dot pairs every batch item with every other: @ keeps the batch dimensions together.",
            lambda query, key: np.dot(query, key.mT),
        ),
        Mistake(
            "Queries and keys are multiplied entry by entry: a dot product also sums over d_k.",
            lambda query, key: query * key,
        ),
        Mistake(
            "Query i meets key i only: every query needs its dot product with every key.",
            lambda query, key: (query * key).sum(axis=-1),
        ),
        Mistake(
            "The scores are already divided by √d_k: that is the next exercise. Here they are plain "
            "dot products.",
            lambda query, key: query @ key.mT / math.sqrt(query.shape[-1]),
        ),
        Mistake(
            "These are means over the d_k products: a dot product is their sum.",
            lambda query, key: query @ key.mT / query.shape[-1],
        ),
        Mistake(
            "These are cosines: dot products keep the lengths of the vectors.",
            lambda query, key: _unit(query) @ _unit(key).mT,
        ),
        Mistake(
            "These are softmax weights: return the scores themselves.",
            lambda query, key: softmax(query @ key.mT),
        ),
        Mistake(
            "These are distances between vectors: a score is their dot product.",
            _square_distances,
            lambda query, key: -_square_distances(query, key),
            lambda query, key: np.sqrt(_square_distances(query, key)),
        ),
        Mistake(
            "Only the first batch item is scored: leading dimensions must be kept.",
            lambda query, key: query[(0,) * (query.ndim - 2)] @ key[(0,) * (key.ndim - 2)].mT,
        ),
    ),
)

# score_std


def _std_cases(rng: Generator) -> Iterator[Case]:
    yield Case(64)
    yield Case(9, 2.0)
    yield Case(100, component_std=0.5)
    yield Case(1, 3.0)
    yield Case(2)
    yield Case(4096, 0.1)
    yield Case(int(rng.integers(5, 999)), float(rng.uniform(0.2, 3.0)))
    yield Case(int(rng.integers(5, 999)), component_std=float(rng.uniform(1.2, 3.0)))


def _std_size(d_k: int, component_std: float = 1.0) -> float:
    return math.sqrt(d_k) * component_std**2 * (1 + d_k)  # d_k variances may be added one by one


SCORE_STD = Exercise(
    name="score_std",
    points=1,
    minutes=5,
    reference=score_std,
    cases=_std_cases,
    magnitude=_std_size,
    hints=(
        "One product of two components has variance σ² · σ² when σ is component_std.",
        "A dot product adds d_k independent products, and their variances add. The standard "
        "deviation is the square root of that sum.",
    ),
    mistakes=(
        Mistake(
            "This is the variance: the standard deviation is its square root.",
            lambda d_k, component_std=1.0: d_k * component_std**4,
        ),
        Mistake(
            "component_std is ignored: each product of two components has variance σ⁴.",
            lambda d_k, component_std=1.0: math.sqrt(d_k),
        ),
        Mistake(
            "σ enters once only: both vectors have components of this size, and their product has "
            "standard deviation σ².",
            lambda d_k, component_std=1.0: math.sqrt(d_k) * component_std,
        ),
        Mistake(
            "This grows like d_k: variances add, standard deviations do not. Take the square root "
            "of d_k.",
            lambda d_k, component_std=1.0: d_k * component_std**2,
            lambda d_k, component_std=1.0: d_k * component_std,
            lambda d_k, component_std=1.0: d_k,
        ),
        Mistake(
            "σ⁴ is the variance of one product: under the square root it becomes σ².",
            lambda d_k, component_std=1.0: math.sqrt(d_k) * component_std**4,
        ),
        Mistake(
            "The variance of one product is σ² times σ², that is σ⁴, and not σ².",
            lambda d_k, component_std=1.0: math.sqrt(d_k * component_std),
            lambda d_k, component_std=1.0: math.sqrt(2 * d_k) * component_std,
        ),
        Mistake(
            "This is the scale that undoes the growth: the standard deviation itself is asked for.",
            lambda d_k, component_std=1.0: 1 / math.sqrt(d_k),
            lambda d_k, component_std=1.0: 1 / (math.sqrt(d_k) * component_std**2),
        ),
        Mistake(
            "This is the standard deviation after dividing by √d_k: here the plain dot product is "
            "meant.",
            lambda d_k, component_std=1.0: component_std**2,
        ),
    ),
)

# scaled_scores


def _scaled_cases(rng: Generator) -> Iterator[Case]:
    yield Case(np.array([[1.0, 2.0], [0.0, 1.0], [3.0, -1.0]]), np.array([[2.0, 2.0], [4.0, 0.0]]))
    yield Case(rng.normal(size=(2, 5)), rng.normal(size=(3, 5)))
    yield Case(rng.normal(size=(2, 5)), rng.normal(size=(3, 5)), scale=0.3)
    yield Case(rng.normal(size=(5, 3)), rng.normal(size=(2, 3)), -2.0)
    yield Case(rng.normal(size=(3, 6)), rng.normal(size=(5, 6)), scale=0.0)
    yield Case(rng.normal(size=(2, 3, 7)), rng.normal(size=(2, 5, 7)))
    yield Case(rng.normal(size=(2, 3, 5, 6)), rng.normal(size=(2, 3, 7, 6)))
    yield Case(rng.normal(size=(3, 3, 3)), rng.normal(size=(3, 3, 3)))  # see dot_product_scores
    yield Case(np.array([[1, 2, 0], [3, 1, 1]]), np.array([[2, 1, 5], [0, 4, 1]]))
    yield Case(
        rng.normal(size=(5, 3)).astype(np.float32), rng.normal(size=(2, 3)).astype(np.float32)
    )
    yield Case(
        rng.normal(size=(2, 7)).astype(np.float32),
        rng.normal(size=(3, 7)).astype(np.float32),
        scale=0.3,
    )


def _scaled_size(query: NDArray, key: NDArray, scale: float | None = None) -> NDArray:
    scale = 1 / math.sqrt(query.shape[-1]) if scale is None else scale
    return abs(scale) * _products_size(query, key)


def _scaled_by(
    default: Callable[[NDArray, NDArray], float], query: NDArray, key: NDArray, scale: float | None
) -> NDArray:
    return query @ key.mT * (float(default(query, key)) if scale is None else scale)


def _root(query: NDArray, key: NDArray) -> float:
    return 1 / math.sqrt(query.shape[-1])


SCALED_SCORES = Exercise(
    name="scaled_scores",
    points=2,
    minutes=6,
    reference=scaled_scores,
    cases=_scaled_cases,
    magnitude=_scaled_size,
    hints=(
        "The dot products come first, as in the exercise before; then one multiplication.",
        "d_k is the length of a query, query.shape[-1]. Only when scale is None do you use it.",
        "math.sqrt(d_k) is a Python number and leaves float32 scores in float32; np.sqrt(d_k) is a "
        "float64 number and turns them into float64.",
    ),
    mistakes=(
        Mistake(
            "The scores are not scaled when scale is None: multiply by 1/√d_k there.",
            lambda query, key, scale=None: _scaled_by(lambda q, k: 1.0, query, key, scale),
        ),
        Mistake(
            "You divide by d_k: divide by its square root.",
            lambda query, key, scale=None: _scaled_by(
                lambda q, k: 1 / q.shape[-1], query, key, scale
            ),
        ),
        Mistake(
            "You multiply by √d_k: the default scale is 1/√d_k.",
            lambda query, key, scale=None: _scaled_by(
                lambda q, k: math.sqrt(q.shape[-1]), query, key, scale
            ),
        ),
        Mistake(
            "This is the square root of the number of keys, S: take that of d_k, query.shape[-1].",
            lambda query, key, scale=None: _scaled_by(
                lambda q, k: 1 / math.sqrt(k.shape[-2]), query, key, scale
            ),
            lambda query, key, scale=None: _scaled_by(
                lambda q, k: 1 / math.sqrt(len(k)), query, key, scale
            ),
        ),
        Mistake(
            "This is the square root of the number of queries, L: take that of d_k, query.shape[-1].",
            lambda query, key, scale=None: _scaled_by(
                lambda q, k: 1 / math.sqrt(q.shape[-2]), query, key, scale
            ),
            lambda query, key, scale=None: _scaled_by(
                lambda q, k: 1 / math.sqrt(len(q)), query, key, scale
            ),
        ),
        Mistake(
            "d_k is taken from axis 1, which is right without a batch only: it is the last axis, "
            "query.shape[-1].",
            lambda query, key, scale=None: _scaled_by(
                lambda q, k: 1 / math.sqrt(q.shape[1]), query, key, scale
            ),
        ),
        Mistake(
            "The default scale is the same number for every d_k: it is 1/√d_k.",
            *(
                lambda query, key, scale=None, by=by: _scaled_by(lambda q, k: by, query, key, scale)
                for by in (1 / 2, 1 / 8, 1 / 64, 1 / math.sqrt(512), 1 / math.sqrt(2))
            ),
        ),
        Mistake(
            "scale is ignored: when it is given, multiply by it in place of 1/√d_k.",
            lambda query, key, scale=None: _scaled_by(_root, query, key, None),
        ),
        Mistake(
            "A scale of 0 is taken for no scale: ask for `scale is None`, since 0 counts as false.",
            lambda query, key, scale=None: _scaled_by(_root, query, key, scale or None),
        ),
        Mistake(
            "scale comes on top of 1/√d_k: when it is given, it takes its place.",
            lambda query, key, scale=None: (
                _scaled_by(_root, query, key, None) * (1.0 if scale is None else scale)
            ),
        ),
        Mistake(
            "You divide by scale: multiply by it. The default is 1/√d_k, not √d_k.",
            lambda query, key, scale=None: (
                query
                @ key.mT
                / (math.sqrt(query.shape[-1]) if scale is None else np.float64(scale))
            ),
            lambda query, key, scale=None: query @ key.mT / (scale or math.sqrt(query.shape[-1])),
        ),
        Mistake(
            "The keys are not transposed: use query @ np.swapaxes(key, -1, -2).",
            lambda query, key, scale=None: (
                query @ key * (_root(query, key) if scale is None else scale)
            ),
        ),
        Mistake(
            "key.T reverses the batch dimensions as well: swap the last two axes only, with "
            "key.mT or np.swapaxes(key, -1, -2).",
            lambda query, key, scale=None: (
                query @ key.T * (_root(query, key) if scale is None else scale)
            ),
        ),
        Mistake(
            "These are cosines: divide by √d_k, not by the lengths of the vectors.",
            lambda query, key, scale=None: (
                _unit(query) @ _unit(key).mT if scale is None else scaled_scores(query, key, scale)
            ),
        ),
        Mistake(
            "These are softmax weights: return the scaled scores themselves.",
            lambda query, key, scale=None: softmax(scaled_scores(query, key, scale)),
        ),
    ),
)

# entropy


def _entropy_cases(rng: Generator) -> Iterator[Case]:
    yield Case(np.array([0.25, 0.25, 0.25, 0.25]))
    yield Case(np.array([[0.5, 0.5, 0.0], [0.0, 1.0, 0.0]]))
    yield Case(np.array([0.0, 0.0, 1.0]))
    yield Case(np.array([[0.1, 0.5], [0.2, 0.5], [0.7, 0.0]]), axis=0)
    yield Case(softmax(rng.normal(size=(3, 3))))  # square: here a lost axis gives numbers
    yield Case(softmax(rng.normal(size=(3, 3)), axis=0), 0)
    yield Case(softmax(3.0 * rng.normal(size=(2, 5, 3)), axis=1), axis=1)
    yield Case(softmax(rng.normal(size=(2, 3, 5, 6)), axis=-2), axis=-2)
    yield Case(softmax(rng.normal(size=(5, 7))).astype(np.float32))
    yield Case(np.array([[0.75, 0.0, 0.25], [1.0, 0.0, 0.0]], np.float32))
    yield Case(np.array([[1.0 - 3e-13, 1e-13, 2e-13], [1.0, 1e-200, 0.0]]))
    yield Case(softmax(rng.normal(size=(6, 1))))


def _entropy_size(weights: NDArray, axis: int = -1) -> NDArray:
    logs = np.log(np.where(weights == 0, 1.0, weights))
    return (weights * (1.0 + np.abs(logs))).sum(axis=axis)


def _with_constant(weights: NDArray, axis: int, epsilon: float) -> NDArray:
    return -(weights * np.log(weights + epsilon)).sum(axis=axis)


def _with_floor(weights: NDArray, axis: int, epsilon: float) -> NDArray:
    floored = np.maximum(weights, epsilon)
    return -(floored * np.log(floored)).sum(axis=axis)


def _with_floor_inside(weights: NDArray, axis: int, epsilon: float) -> NDArray:
    return -(weights * np.log(np.maximum(weights, epsilon))).sum(axis=axis)


EPSILONS = (1e-3, 1e-4, 1e-5, 1e-6, 1e-7, 1e-8, 1e-9, 1e-10, 1e-12)

ENTROPY = Exercise(
    name="entropy",
    points=2,
    minutes=7,
    reference=entropy,
    signature="entropy(weights, axis=-1)",
    cases=_entropy_cases,
    magnitude=_entropy_size,
    hints=(
        "Each weight p adds -p log p, with the natural logarithm, and the sum runs along axis.",
        "log(0) is -inf, and 0 times -inf is NaN. A weight of 0 should add 0.",
        "np.where(weights > 0, weights, 1) puts a 1, whose logarithm is 0, in place of every 0 "
        "before the logarithm is taken.",
    ),
    mistakes=(
        Mistake(
            "A weight of 0 gives NaN: log(0) is -inf, and 0 times -inf is NaN. Put a 1 in place of "
            "each 0 before the logarithm.",
            lambda weights, axis=-1: -(weights * np.log(weights)).sum(axis=axis),
        ),
        Mistake(
            "The sign is missing: the logarithm of a weight is negative, so the sum needs a minus.",
            lambda weights, axis=-1: -entropy(weights, axis),
        ),
        Mistake(
            "This is the entropy in bits: use the natural logarithm, np.log, which gives nats.",
            lambda weights, axis=-1: entropy(weights, axis) / math.log(2),
        ),
        Mistake(
            "This is the entropy with logarithms to base 10: use np.log, which gives nats.",
            lambda weights, axis=-1: entropy(weights, axis) / math.log(10),
        ),
        Mistake(
            "This is one number for the whole array: every row along axis has its own entropy.",
            lambda weights, axis=-1: entropy(weights, None),
        ),
        Mistake(
            "You always sum along the last axis: use the axis you are given.",
            lambda weights, axis=-1: entropy(weights, -1),
        ),
        Mistake(
            "You always sum along axis 0: use the axis you are given.",
            lambda weights, axis=-1: entropy(weights, 0),
        ),
        Mistake(
            "These are means of -p log p: entropy is their sum.",
            lambda weights, axis=-1: entropy(weights, axis) / weights.shape[axis],
        ),
        Mistake(
            "These are the terms -p log p: add them up along axis.",
            lambda weights, axis=-1: -weights * np.log(np.where(weights > 0, weights, 1.0)),
        ),
        Mistake(
            "The logarithms are summed without their weights: each counts p times, -p log p.",
            lambda weights, axis=-1: -np.log(np.where(weights > 0, weights, 1.0)).sum(axis=axis),
            lambda weights, axis=-1: -np.log(weights).sum(axis=axis),
        ),
        Mistake(
            "A small constant is added to the weights, or put in place of them: that changes the "
            "entropy. Treat a weight of exactly 0 apart.",
            *(
                lambda weights, axis=-1, e=epsilon, way=way: way(weights, axis, e)
                for epsilon in EPSILONS
                for way in (_with_constant, _with_floor, _with_floor_inside)
            ),
        ),
        Mistake(
            "The entropy is divided by log n: leave it in nats.",
            lambda weights, axis=-1: (
                entropy(weights, axis) / max(math.log(weights.shape[axis]), 1e-300)
            ),
            lambda weights, axis=-1: entropy(weights, axis) / np.log(weights.shape[axis]),
        ),
        Mistake(
            "This is the exponential of the entropy, the effective number of entries: return the "
            "entropy itself.",
            lambda weights, axis=-1: np.exp(entropy(weights, axis)),
        ),
        Mistake(
            "This is 1 minus the sum of squares, another measure of spread: entropy sums -p log p.",
            lambda weights, axis=-1: 1.0 - (weights**2).sum(axis=axis),
        ),
        Mistake(
            "The weights are put through softmax first: they are weights already.",
            lambda weights, axis=-1: entropy(softmax(weights, axis), axis),
        ),
        Mistake(
            "The summed axis is kept: there is one number for each row, without keepdims.",
            lambda weights, axis=-1: np.expand_dims(entropy(weights, axis), axis),
        ),
    ),
)

# softmax_with_temperature


def _temperature_cases(rng: Generator) -> Iterator[Case]:
    yield Case(np.array([1.0, 0.0, 1.0]), 0.5)
    yield Case(np.array([2.0, 4.0, 3.0]), 10.0)
    yield Case(np.array([[2, -4, 3], [2, 2, 7]]), 2)
    yield Case(np.array([2.0, 4.0, 4.0]), 0.0, raises=ValueError)
    yield Case(np.array([2.0, 4.0, 4.0]), -1.0, raises=ValueError)
    yield Case(rng.normal(0.0, 3.0, (2, 5)), temperature=1.0)
    yield Case(rng.normal(0.0, 3.0, (3, 3)), 0.7)  # square: here a lost axis gives numbers
    yield Case(rng.normal(0.0, 3.0, (3, 3)), 1.6, axis=0)
    yield Case(rng.normal(0.0, 3.0, (2, 3, 5)), 2.5, 1)
    yield Case(rng.normal(0.0, 3.0, (2, 5, 3, 6)), 3.0, axis=-2)
    yield Case((2.0 * rng.normal(size=(3, 7))).astype(np.float32), 1.5)
    yield Case((2.0 * rng.normal(size=(5, 2))).astype(np.float32), 0.8, axis=0)
    # Quotients far beyond exp's reach, and rows that need a maximum each.
    yield Case(np.array([[30.0, 29.0, 30.0], [-30.0, -30.5, -30.0]]), 0.01)
    yield Case(np.array([[3000.0, 2997.0, 2999.0], [-5000.0, -5001.0, -5004.0]]), 2.0)
    yield Case(np.array([[900.0, 898.0, 899.0], [880.0, 890.0, 885.0]]), 1.125)
    # High scores at a temperature as high: at temperature 1 all but one weight would be 0.
    yield Case(np.array([0.0, -4000.0, -7000.0]), 2000.0)
    yield Case(np.array([3.0, 1.0, 2.0]), 1e-6)
    yield Case(np.array([4e-8, 1e-8, 3e-8]), 2e-8)
    yield Case(np.array([5e8, -2e8, 9e8]), 4e8)
    yield Case(np.array([5.0, -1.0, 2.0]), -0.25, raises=ValueError)


def _tempered_size(scores: NDArray, temperature: float, axis: int = -1) -> NDArray:
    largest = np.abs(scores / temperature).max(axis=axis, keepdims=True)
    return softmax_with_temperature(scores, temperature, axis) * (1.0 + largest)


def _refuse(temperature: float) -> None:
    if temperature <= 0:
        raise ValueError("The temperature must be positive.")


def _tempered(
    change: Callable[[NDArray, float], NDArray], scores: NDArray, temperature: float, axis: int
) -> NDArray:
    _refuse(temperature)
    return softmax(change(scores, temperature), axis)


def _unshifted(scores: NDArray, temperature: float, axis: int) -> NDArray:
    _refuse(temperature)
    exponentials = np.exp(scores / temperature)
    return exponentials / exponentials.sum(axis=axis, keepdims=True)


def _shifted_by(shift: NDArray, scores: NDArray, temperature: float, axis: int) -> NDArray:
    _refuse(temperature)
    exponentials = np.exp(scores / temperature - shift)
    return exponentials / exponentials.sum(axis=axis, keepdims=True)


def _power(scores: NDArray, temperature: float, axis: int) -> NDArray:
    _refuse(temperature)
    powers = softmax(scores, axis) ** (1 / temperature)
    return powers / powers.sum(axis=axis, keepdims=True)


def _divided_after(scores: NDArray, temperature: float, axis: int) -> NDArray:
    _refuse(temperature)
    return softmax(scores, axis) / temperature


def _unchecked(scores: NDArray, temperature: float, axis: int) -> NDArray:
    with np.errstate(all="ignore"):
        quotients = scores / temperature
        exponentials = np.exp(quotients - quotients.max(axis=axis, keepdims=True))
        return exponentials / exponentials.sum(axis=axis, keepdims=True)


def _hard(scores: NDArray, axis: int) -> NDArray:
    ties = (scores == scores.max(axis=axis, keepdims=True)).astype(float)
    return ties / ties.sum(axis=axis, keepdims=True)


def _hard_at_zero(scores: NDArray, temperature: float, axis: int) -> NDArray:
    if temperature < 0:
        raise ValueError("The temperature must not be negative.")
    if temperature == 0:
        return _hard(scores, axis)
    return softmax_with_temperature(scores, temperature, axis)


def _no_error_at_zero(scores: NDArray, temperature: float, axis: int) -> NDArray:
    if temperature < 0:
        raise ValueError("The temperature must not be negative.")
    return _unchecked(scores, temperature, axis)


def _no_error_below_zero(scores: NDArray, temperature: float, axis: int) -> NDArray:
    if temperature == 0:
        raise ValueError("The temperature must not be 0.")
    return _unchecked(scores, temperature, axis)


SOFTMAX_WITH_TEMPERATURE = Exercise(
    name="softmax_with_temperature",
    points=2,
    minutes=7,
    reference=softmax_with_temperature,
    signature="softmax_with_temperature(scores, temperature, axis=-1)",
    cases=_temperature_cases,
    magnitude=_tempered_size,
    hints=(
        "Divide the scores by the temperature, then take the softmax of lesson 02, along axis.",
        "A small temperature makes large quotients: subtract each row's maximum before np.exp.",
        'raise ValueError("...") comes first: `if temperature <= 0:`.',
    ),
    mistakes=(
        Mistake(
            "The scores are multiplied by the temperature: divide by it.",
            lambda scores, temperature, axis=-1: _tempered(np.multiply, scores, temperature, axis),
        ),
        Mistake(
            "The temperature changes nothing: divide the scores by it before softmax.",
            lambda scores, temperature, axis=-1: _tempered(
                lambda s, t: s, scores, temperature, axis
            ),
        ),
        Mistake(
            "The temperature is added to or subtracted from the scores, which changes no weight: "
            "divide the scores by it.",
            lambda scores, temperature, axis=-1: softmax(scores - temperature, axis),
        ),
        Mistake(
            "The weights are divided by the temperature: divide the scores, before softmax.",
            lambda scores, temperature, axis=-1: _divided_after(scores, temperature, axis),
        ),
        Mistake(
            "You divide by the square root of the temperature: divide by the temperature itself.",
            lambda scores, temperature, axis=-1: _tempered(
                lambda s, t: s / math.sqrt(t), scores, temperature, axis
            ),
        ),
        Mistake(
            "exp overflows or underflows before the division: subtract each row's largest quotient "
            "first.",
            lambda scores, temperature, axis=-1: _unshifted(scores, temperature, axis),
        ),
        Mistake(
            "The maximum subtracted is that of the scores, but the quotients have another: subtract "
            "first and divide then, or take the maximum of the quotients.",
            lambda scores, temperature, axis=-1: _shifted_by(
                scores.max(axis=axis, keepdims=True), scores, temperature, axis
            ),
        ),
        Mistake(
            "One maximum is subtracted from the whole array: a row far below it underflows to 0/0. "
            "Take each row's own maximum, along axis.",
            lambda scores, temperature, axis=-1: _shifted_by(
                (scores / temperature).max() if temperature > 0 else 0.0, scores, temperature, axis
            ),
        ),
        Mistake(
            "Weights at temperature 1 are raised to the power 1/T: those that underflowed to 0 stay "
            "0. Divide the scores first.",
            lambda scores, temperature, axis=-1: _power(scores, temperature, axis),
        ),
        Mistake(
            "You always work along the last axis: use the axis you are given.",
            lambda scores, temperature, axis=-1: softmax_with_temperature(scores, temperature, -1),
        ),
        Mistake(
            "These are the weights of softmax over the whole array: the sum must run along axis only.",
            lambda scores, temperature, axis=-1: softmax_with_temperature(
                scores, temperature, None
            ),
        ),
        Mistake(
            "A temperature of 0 gives the largest score everything, the limit: the contract asks for "
            "a ValueError there.",
            lambda scores, temperature, axis=-1: _hard_at_zero(scores, temperature, axis),
        ),
        Mistake(
            "A temperature of 0 or below must raise ValueError: check it first.",
            lambda scores, temperature, axis=-1: _unchecked(scores, temperature, axis),
        ),
        Mistake(
            "A temperature of 0 must raise ValueError too: ask for temperature <= 0.",
            lambda scores, temperature, axis=-1: _no_error_at_zero(scores, temperature, axis),
        ),
        Mistake(
            "A negative temperature must raise ValueError too: ask for temperature <= 0.",
            lambda scores, temperature, axis=-1: _no_error_below_zero(scores, temperature, axis),
        ),
        Mistake(
            "These are the quotients' exponentials: divide each by the sum of its row.",
            lambda scores, temperature, axis=-1: (
                softmax_with_temperature(scores, temperature, axis)
                / softmax_with_temperature(scores, temperature, axis).max(axis=axis, keepdims=True)
            ),
        ),
    ),
)

# temperature_for_entropy

CLOSE_ENOUGH = 2e-6  # nats: the contract's 1e-6, and room for a learner's own rounding


def _entropy_cases_for_temperature(rng: Generator) -> Iterator[Case]:
    yield _reached(np.array([3.0, 1.0, 0.0]), 0.5)
    yield _reached(np.array([2.0, 4.0, 3.0, 7.0, 1.0]), 1.2)
    yield _reached(np.array([3, 1, 0, -2]), 1.0)
    for outside in (0.0, -0.5, math.log(8), 3.0):
        yield Case(_spaced(rng, 8, 1.0), outside, raises=ValueError)
    yield _reached(np.array([0.0, -1.0]), math.log(2) - 1e-5)
    yield _reached(_spaced(rng, 5, 1e-3), 0.9)
    yield _reached(_spaced(rng, 7, 1e3), 0.3)
    yield _reached(_spaced(rng, 6, 1.0) + 500.0, 1.1)
    yield _reached(_spaced(rng, 12, 1e-3), 1e-3)  # temperatures near 1e-4
    yield _reached(_spaced(rng, 9, 1e3), math.log(9) - 1e-4)  # and near 1e5
    # Two scores close together at the top: between their gap and the others nothing happens.
    yield _reached(np.array([-5.0, 1.0, 0.999]), 0.4)
    yield _reached(_spaced(rng, 31, 3.0), float(rng.uniform(0.5, 3.0)))


def _spaced(rng: Generator, count: int, gap: float) -> NDArray:
    """Draw distinct scores in random order, neighbors about `gap` apart."""
    scores = gap * np.cumsum(rng.uniform(0.5, 1.5, count))
    return rng.permutation(scores - scores.mean())


def _reached(scores: NDArray, target: float) -> Case:
    return Case(scores, target, verify=lambda got: _entropy_verdict(scores, target, got))


def _entropy_verdict(scores: NDArray, target: float, got: object) -> str | None:
    number = np.asarray(got)
    if number.ndim or number.dtype.kind not in "fiu":
        return "temperature_for_entropy should return one number, the temperature."
    temperature = float(number)
    if not 0 < temperature < math.inf:
        return (
            f"temperature_for_entropy returned {temperature}: a temperature is above 0 and finite."
        )
    reached = _entropy_at(scores, temperature)
    if abs(reached - target) <= CLOSE_ENOUGH:
        return None
    told = f"At the temperature {temperature:.6g} the entropy is {reached:.7g}, not {target:.7g}"
    if math.isclose(temperature, target, abs_tol=1e-5):
        return f"{told}: you returned an entropy. Return the temperature that leads to it."
    misses = {
        1 / temperature: "you returned 1/T: return what the scores are divided by.",
        temperature
        * np.ptp(scores): "the scores were divided by their range: multiply by it again.",
        temperature
        * np.std(scores): "the scores were divided by their spread: multiply by it again.",
    }
    for other, reason in misses.items():
        if abs(_entropy_at(scores, other) - target) <= CLOSE_ENOUGH:
            return f"{told}: {reason}"
    if abs(reached / math.log(2) - target) <= 1e-5:
        return f"{told}: your entropy is in bits. Count it in nats, with np.log."
    if abs(reached - target) <= 0.02:
        return f"{told}: close, but 1e-6 nats are asked for. Go on until they are reached."
    if reached < target:
        return f"{told}: the temperature is too low. Does the search reach high enough, with no NaN on the way?"
    return f"{told}: the temperature is too high. Does the search reach low enough, with no NaN on the way?"


def _entropy_at(scores: NDArray, temperature: float) -> float:
    if not 0 < temperature < math.inf:
        return math.nan
    return float(entropy(softmax_with_temperature(scores, temperature)))


def _temperature_of(scores: NDArray, target: float) -> float:
    """Return the answer for a target inside, and a temperature at the edge for one outside."""
    limit = math.log(scores.size)
    return temperature_for_entropy(scores, min(max(target, 1e-9), limit * (1 - 1e-9)))


def _changed_target(change: Callable[[float, int], float], scores: NDArray, target: float) -> float:
    if not 0 < target < math.log(scores.size):
        raise ValueError("The target is outside.")
    return _temperature_of(scores, change(target, scores.size))


def _halved(
    scores: NDArray, target: float, low: float, high: float, steps: int = 100, upward: bool = True
) -> float:
    if not 0 < target < math.log(scores.size):
        raise ValueError("The target is outside.")
    for _ in range(steps):
        middle = (low + high) / 2
        if (_entropy_at(scores, middle) < target) == upward:
            low = middle
        else:
            high = middle
    return middle


TEMPERATURE_FOR_ENTROPY = Exercise(
    name="temperature_for_entropy",
    points=3,
    minutes=12,
    reference=temperature_for_entropy,
    cases=_entropy_cases_for_temperature,
    hints=(
        "Entropy rises with the temperature. So if it is too low at some T, which side is the answer?",
        "Keep a low and a high temperature with the answer between them. Try the middle, and let it "
        "replace the one or the other. A hundred halvings are plenty.",
        "Where to begin: double high until its entropy is above the target, halve low until its "
        "entropy is below.",
        "Refuse a target of 0 or below, and of np.log(len(scores)) or above, before you search: no "
        "temperature reaches them.",
    ),
    mistakes=(
        Mistake(
            "This is 1/T, the factor on the scores: return what they are divided by.",
            lambda scores, target: 1 / temperature_for_entropy(scores, target),
        ),
        Mistake(
            "Your entropy is in bits: count it in nats, with np.log.",
            lambda scores, target: _changed_target(lambda t, n: t * math.log(2), scores, target),
        ),
        Mistake(
            "The target is read as a fraction of log n: it is the entropy itself, in nats.",
            lambda scores, target: _changed_target(lambda t, n: t * math.log(n), scores, target),
        ),
        Mistake(
            "The search ends at the edge of a fixed range: scores of another size need other "
            "temperatures. Widen the range until the target lies inside.",
            *(
                lambda scores, target, low=low, high=high: _halved(scores, target, low, high)
                for low, high in (
                    (0.1, 10.0),
                    (0.01, 10.0),
                    (0.01, 100.0),
                    (1e-3, 100.0),
                    (1e-3, 1e3),
                    (1e-6, 10.0),
                    (1e-6, 100.0),
                    (1e-6, 1e3),
                    (1e-9, 1e3),
                )
            ),
        ),
        Mistake(
            "The search goes the wrong way: entropy rises with the temperature, so where it is too "
            "low, go higher.",
            lambda scores, target: _halved(scores, target, 1e-6, 1e6, upward=False),
            lambda scores, target: _halved(scores, target, 1e-3, 1e3, upward=False),
        ),
        Mistake(
            "The search stops too early: go on until the entropy is within 1e-6 of the target.",
            *(
                lambda scores, target, steps=steps: _halved(scores, target, 1e-6, 1e6, steps=steps)
                for steps in (10, 20, 30)
            ),
        ),
        Mistake(
            "A target of 0 or below, or of log n or above, must raise ValueError: no temperature "
            "reaches it.",
            _temperature_of,
            lambda scores, target: (
                temperature_for_entropy(scores, target)
                if 0 < target < math.log(scores.size)
                else math.nan
            ),
        ),
        Mistake(
            "A target of log n or above must raise ValueError too: only equal weights have entropy "
            "log n, and no temperature makes them equal.",
            lambda scores, target: (
                temperature_for_entropy(scores, target)
                if target <= 0
                else _temperature_of(scores, target)
            ),
        ),
        Mistake(
            "A target of exactly log n must raise ValueError too: it is reached at no temperature.",
            lambda scores, target: (
                _temperature_of(scores, target)
                if target == math.log(scores.size)
                else temperature_for_entropy(scores, target)
            ),
        ),
        Mistake(
            "A target of exactly 0 must raise ValueError too: it is reached at no temperature.",
            lambda scores, target: (
                _temperature_of(scores, target)
                if target == 0
                else temperature_for_entropy(scores, target)
            ),
        ),
        Mistake(
            "The scores were divided by their spread before the search: the temperature must be "
            "multiplied by it again.",
            lambda scores, target: temperature_for_entropy(scores, target) / np.std(scores),
            lambda scores, target: temperature_for_entropy(scores, target) / np.ptp(scores),
        ),
        Mistake(
            "This is the entropy at temperature 1: the temperature is asked for.",
            lambda scores, target: (
                float(entropy(softmax(scores)))
                if temperature_for_entropy(scores, target)
                else math.nan
            ),
        ),
    ),
)

# softcap


def _softcap_cases(rng: Generator) -> Iterator[Case]:
    yield Case(np.array([1.0, 50.0, -1000.0, 0.0]), 50.0)
    yield Case(np.array([[3, -7, 0], [100, 25, -2]]), 20)
    yield Case(np.array([0.02, -0.004, 0.4, 300.0, -500.0]), 50.0)  # tanh near 0 and near ±1
    yield Case(rng.normal(0.0, 3.0, (2, 5)), 2.5)
    yield Case(rng.normal(0.0, 60.0, (2, 3, 7)), cap=30.0)
    yield Case(rng.normal(0.0, 0.3, (3, 6)), 0.5)
    yield Case(rng.normal(0.0, 9.0, (5, 2)).astype(np.float32), 15.0)
    yield Case(np.array([-8e307, 5e4, -2e5, 8e307]), 3.0)
    yield Case(np.array([-1.6e38, 2e4, 1.6e38], np.float32), 50.0)


def _softcap_size(scores: NDArray, cap: float) -> NDArray:
    return np.full(np.shape(scores), float(cap))


def _tanh_by_exponentials(x: NDArray) -> NDArray:
    return (np.exp(x) - np.exp(-x)) / (np.exp(x) + np.exp(-x))


SOFTCAP = Exercise(
    name="softcap",
    points=1,
    minutes=4,
    reference=softcap,
    cases=_softcap_cases,
    magnitude=_softcap_size,
    hints=(
        "np.tanh holds any number between -1 and 1. Divide by cap before it, multiply after it.",
    ),
    mistakes=(
        Mistake(
            "The scores are cut off at the cap: tanh bends them toward it and keeps their order.",
            lambda scores, cap: np.clip(scores, -cap, cap),
            lambda scores, cap: np.minimum(scores, cap),
        ),
        Mistake(
            "The result is not multiplied by cap after tanh: it stays between -1 and 1.",
            lambda scores, cap: np.tanh(scores / cap),
        ),
        Mistake(
            "The scores are not divided by cap before tanh.",
            lambda scores, cap: cap * np.tanh(scores),
        ),
        Mistake(
            "The scores are multiplied by cap before tanh: divide them by it.",
            lambda scores, cap: cap * np.tanh(scores * cap),
            lambda scores, cap: np.tanh(scores * cap) / cap,
        ),
        Mistake(
            "This is tanh of the scores: divide by cap before it and multiply by cap after it.",
            lambda scores, cap: np.tanh(scores),
        ),
        Mistake(
            "tanh multiplies the scores instead of cap: the bound is gone.",
            lambda scores, cap: scores * np.tanh(scores / cap),
        ),
        Mistake(
            "exp overflows for large scores: np.tanh does not.",
            lambda scores, cap: cap * _tanh_by_exponentials(scores / cap),
        ),
        Mistake(
            "This is cap · x / (1 + |x|): another curve with the same bound. Use np.tanh.",
            lambda scores, cap: cap * (scores / cap) / (1 + np.abs(scores / cap)),
        ),
        Mistake(
            "This is arctan: use np.tanh, the hyperbolic tangent.",
            lambda scores, cap: cap * np.arctan(scores / cap),
        ),
        Mistake(
            "This is a sigmoid, between 0 and cap: tanh lies between -1 and 1 and keeps the sign.",
            lambda scores, cap: cap / (1 + np.exp(-scores / cap)),
        ),
    ),
)

EXERCISES = (
    DOT_PRODUCT_SCORES,
    SCORE_STD,
    SCALED_SCORES,
    ENTROPY,
    SOFTMAX_WITH_TEMPERATURE,
    TEMPERATURE_FOR_ENTROPY,
    SOFTCAP,
)
