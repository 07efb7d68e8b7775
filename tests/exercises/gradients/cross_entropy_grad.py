"""Right and wrong answers to `cross_entropy_grad`."""

import math

import numpy as np

import attention_lib
from attention_lib.lessons.softmax import softmax
from attention_lib.lessons.stability import log_softmax, logsumexp
from tests.exercises.gradients.numerical_gradient import differences
from tests.exercises.parts import as_float


def right_gradient_textbook(scores, targets):
    gradient = softmax(scores)
    gradient[np.arange(len(targets)), targets] -= 1
    return gradient / len(targets)


def right_gradient_by_one_hot(scores, targets):
    weights = softmax(scores)
    return (weights - np.eye(scores.shape[1], dtype=weights.dtype)[targets]) / scores.shape[0]


def right_gradient_by_loops(scores, targets):
    n, classes = scores.shape
    result = np.zeros(scores.shape, scores.dtype if scores.dtype.kind == "f" else float)
    for i in range(n):
        row = [float(s) for s in scores[i]]
        powers = [math.exp(s - max(row)) for s in row]
        for k in range(classes):
            result[i, k] = (powers[k] / sum(powers) - (k == targets[i])) / n
    return result


def right_gradient_from_logarithms(scores, targets):
    gradient = np.exp(log_softmax(scores))
    np.put_along_axis(
        gradient, targets[:, None], np.take_along_axis(gradient, targets[:, None], 1) - 1, 1
    )
    gradient /= len(targets)
    return gradient


def right_gradient_through_the_weights(scores, targets):
    """Carry −1/(N p) of the right class back through softmax, where p is not too small."""
    weights = np.exp(scores - logsumexp(scores, keepdims=True))
    right = np.arange(scores.shape[1]) == targets[:, None]
    return np.where(right, weights - 1, weights) / len(targets)


def right_gradient_by_comparison(scores, targets):
    classes = np.arange(scores.shape[1])
    gradient = softmax(scores) - (targets[:, None] == classes)
    return gradient * (1 / len(targets))


def one_hot(scores, targets):
    return np.eye(scores.shape[1], dtype=as_float(scores).dtype)[targets]


def loss_gradient(scores, targets):
    return (softmax(as_float(scores)) - one_hot(scores, targets)) / len(targets)


def wrong_loss_gradient_by_differences(scores, targets):
    def loss(moved):
        return float(attention_lib.cross_entropy(moved, targets))

    return differences(loss, scores.astype(float)).astype(as_float(scores).dtype)


def wrong_pulls_down_its_scores(scores, targets):
    result = loss_gradient(scores, targets)
    scores[np.arange(len(targets)), targets] -= 1
    return result


WRONG = {
    "1 after the division": lambda s, t: softmax(as_float(s)) / len(t) - one_hot(s, t),
    "divided by N - 1": lambda s, t: loss_gradient(s, t) * len(t) / max(len(t) - 1, 1),
    "targets from 1": lambda s, t: loss_gradient(s, t - 1),
    "sorted targets": lambda s, t: loss_gradient(s, np.sort(t)),
    "clipped": lambda s, t: np.clip(loss_gradient(s, t), -0.4, 0.4),
    "scores clipped at 500": lambda s, t: loss_gradient(np.clip(as_float(s), -500, 500), t),
    "twice": lambda s, t: 2 * loss_gradient(s, t),
    "weights floored": lambda s, t: np.where(
        one_hot(s, t) > 0, loss_gradient(s, t), np.maximum(loss_gradient(s, t), 1e-12)
    ),
    "through float32": lambda s, t: np.float64(loss_gradient(s.astype(np.float32), t)),
}
