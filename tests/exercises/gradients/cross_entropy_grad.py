"""Right and wrong answers to `cross_entropy_grad`."""

import numpy as np

import attention_lib
from attention_lib.lessons.softmax import softmax
from tests.exercises.gradients.numerical_gradient import differences
from tests.exercises.parts import as_float


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
