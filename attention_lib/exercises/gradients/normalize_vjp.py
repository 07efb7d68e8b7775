"""`normalize_vjp(scores, grad_shares)` returns the gradient of `normalize_by_sum` with respect to the scores.

Scores and the gradient with respect to their shares, both `(..., n)` → `(..., n)`. Rows lie along the last
axis, and no row sums to 0.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from attention_lib.checks.calls.case import Case
from attention_lib.checks.exercise import Exercise, known_mistakes
from attention_lib.exercises.parts.cases import in_float32
from attention_lib.lessons.gradients import normalize_vjp

HINTS = (
    "One share is q_i = s_i / Z, with Z = Σ s_j. When s_k moves, Z moves at the rate 1, whichever k it is. "
    "The top moves only when i = k.",
    "The rule for a fraction gives ∂q_i/∂s_k = (δ_ik − q_i) / Z. Here it is q_i that is subtracted, not q_k: "
    "this Jacobian is not symmetric.",
    "Now sum over i: Σ g_i (δ_ik − q_i) / Z = (g_k − Σ q_i g_i) / Z. The sum is one number for each row.",
)


def cases(rng: Generator) -> Iterator[Case]:
    yield Case(np.array([1.0, 1.0, 2.0]), np.array([1.0, 0.0, 3.0]))
    yield Case(
        np.array([[1.0, 0.0, 3.0], [2.0, -1.0, 4.0]]), np.array([[1.0, 0.0, 0.0], [2.0, -4.0, 6.0]])
    )
    yield Case(np.array([[2, 4, 4], [2, 2, 3]]), np.array([[1, 0, -1], [0, 2, 5]]))
    # Square: here a lost axis gives numbers.
    yield Case(rng.uniform(0.5, 9.0, (3, 3)), rng.normal(size=(3, 3)))
    yield Case(rng.uniform(0.5, 9.0, (2, 5)), rng.normal(size=(2, 5)))
    yield Case(rng.uniform(0.5, 9.0, (2, 5)), rng.normal(size=(2, 5)))
    yield Case(rng.uniform(0.5, 9.0, (2, 3, 5)), rng.normal(size=(2, 3, 5)))
    yield Case(rng.uniform(0.5, 9.0, (2, 1, 3, 6)), rng.normal(size=(2, 1, 3, 6)))
    yield Case(*in_float32((rng.uniform(0.5, 9.0, (3, 7)), rng.normal(size=(3, 7)))))
    yield Case(-rng.uniform(0.5, 9.0, (2, 7)), rng.normal(size=(2, 7)))  # sums below zero
    yield Case(rng.uniform(0.5, 9.0, (5, 1)), rng.normal(size=(5, 1)))  # the share is 1, whatever


def magnitude(scores: NDArray, grad_shares: NDArray) -> NDArray:
    """Size the numbers before any of them cancel: a sum of both signs is uncertain by its terms."""
    total = np.abs(scores.sum(axis=-1, keepdims=True))
    terms = np.abs(scores).sum(axis=-1, keepdims=True) / total
    mean = np.sum(np.abs(scores * grad_shares), axis=-1, keepdims=True) / total
    return (np.abs(grad_shares) + mean) * (1 + terms) / total


def plain(scores, grad_shares):
    total = np.sum(scores, axis=-1, keepdims=True)
    shares = scores / total
    mean = np.sum(shares * grad_shares, axis=-1, keepdims=True)
    above = grad_shares - mean
    return above / total


MEAN = "np.sum(shares * grad_shares, axis=-1, keepdims=True)"

MISTAKES = known_mistakes(
    plain,
    "softmax-gradient: This is softmax's gradient, q (g − Σ q g): a share is s / Z, not an exponential over "
    "Z, so its slope has 1/Z in place of the factor q.",
    "return above / total => return shares * above",
    "share-as-factor: Each entry is multiplied by its own share: that factor belongs to softmax, whose "
    "exponentials grow in proportion to themselves. A score grows at the rate 1.",
    "return above => return shares * above",
    "not-divided: The division by the row's sum is missing: it is (g − Σ q g) / Z.",
    "above / total => above",
    "mean-not-subtracted: This is g / Z: Z moves as well, and every share with it. Subtract the weighted mean "
    "Σ q g.",
    "grad_shares - mean => grad_shares",
    "jacobian-not-transposed: q_k Σ g is subtracted here: it is Σ q g. In ∂q_i/∂s_k it is q_i that is "
    "subtracted, and the sum runs over the shares i. This Jacobian is not symmetric.",
    f"{MEAN} => shares * np.sum(grad_shares, axis=-1, keepdims=True)",
    "share-subtracted: The share itself is subtracted: subtract the mean of the gradients, weighted by the "
    "shares, Σ q g.",
    f"{MEAN} => shares",
    "only-diagonal: Only the slope of each share by its own score is used: a score moves the other shares "
    "too, by way of the sum.",
    "grad_shares - mean => (1 - shares) * grad_shares",
    "scores-in-mean: The gradients are weighted by the scores: weigh them by the shares, s / Z.",
    "np.sum(shares * => np.sum(scores *",
    "divided-twice: The result is divided by Z once more: it is (g − Σ q g) / Z.",
    "above / total => above / total**2",
    "plain-mean: The plain mean of the gradients is subtracted: take the weighted one, Σ q g.",
    "np.sum(shares * => np.mean(",
    "plain-sum: The sum of the gradients is subtracted: each must be weighted by its share, Σ q g.",
    "np.sum(shares * => np.sum(",
    "sum-over-everything: The sums run over the whole array: every row has its own, axis=-1.",
    "np.sum(scores, axis=-1, keepdims=True) => np.sum(scores)",
    f"{MEAN} => np.sum(shares * grad_shares)",
    f"np.sum(scores, axis=-1, keepdims=True) => np.sum(scores) && {MEAN} => np.sum(shares * grad_shares)",
    "keepdims-missing: The sums lost their axis and do not line up with rows: use keepdims=True.",
    "shares * grad_shares, axis=-1, keepdims=True => shares * grad_shares, axis=-1",
    "scores, axis=-1, keepdims=True => scores, axis=-1",
    "axis-0: A sum runs along axis 0: each row has its own, axis=-1.",
    "scores, axis=-1, keepdims=True => scores, axis=0",
    "shares * grad_shares, axis=-1, keepdims=True => shares * grad_shares, axis=0",
    "scores, axis=-1, keepdims=True => scores, axis=0 && "
    "shares * grad_shares, axis=-1, keepdims=True => shares * grad_shares, axis=0",
    "sign-reversed: The sign is reversed: it is g_k minus the weighted mean.",
    "grad_shares - mean => mean - grad_shares",
    "mean-added: The weighted mean is added: it is subtracted, since a larger sum makes every share smaller.",
    "- mean => + mean",
    "absolute-values: You divide by the sum of absolute values: normalize_by_sum takes the plain sum, signs "
    "and all.",
    "np.sum(scores, => np.sum(np.abs(scores),",
    "weights-for-shares: These are softmax weights in place of shares: here each score is divided by the sum "
    "of the scores.",
    "scores / total => softmax(scores)",
    "shares-returned: These are the shares themselves: asked for is the gradient with respect to the scores.",
    "return above / total => return shares",
)

EXERCISE = Exercise(
    name="normalize_vjp",
    points=2,
    minutes=7,
    reference=normalize_vjp,
    cases=cases,
    magnitude=magnitude,
    hints=HINTS,
    mistakes=MISTAKES,
)
