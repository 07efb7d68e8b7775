"""Right and wrong answers to `cross_entropy`."""

import numpy as np

from tests.exercises.parts import as_float, log_softmax, softmax
from tests.exercises.stability.logsumexp import right_logsumexp_by_pairs


def right_entropy_by_indexing(scores, targets):
    return -log_softmax(scores)[np.arange(len(targets)), targets].mean()


def right_entropy_by_one_hot(scores, targets):
    chosen = np.eye(scores.shape[1], dtype=bool)[targets]
    return np.array(np.mean(right_logsumexp_by_pairs(scores) - scores[chosen]))


def losses(scores, targets):
    return -log_softmax(as_float(scores))[np.arange(len(targets)), targets]


def wrong_every_class_for_itself(scores, targets):
    right = np.eye(scores.shape[1])[targets]
    with np.errstate(all="ignore"):
        weights = softmax(as_float(scores))
        terms = right * np.log(weights) + (1 - right) * np.log(1 - weights)
    return -np.nansum(terms) / len(targets)


WRONG = {
    "divided by N - 1": lambda s, t: losses(s, t).sum() / max(len(t) - 1, 1),
    "the median": lambda s, t: np.median(losses(s, t)),
    "never above 1e30": lambda s, t: min(losses(s, t).mean(), 1e30),
    "an array": lambda s, t: losses(s, t)[:1] * 0 + losses(s, t).mean(),
    "through float32": lambda s, t: losses(s.astype(np.float32), t).mean(),
    "rounded": lambda s, t: round(float(losses(s, t).mean()), 8),
}
