"""Right and wrong answers to `draw_word`."""

import math

import numpy as np

from attention_lib.lessons.scaling import softmax_with_temperature
from tests.exercises.model.top_p import right_by_loops as top


def weights_of(scores, temperature, p):
    return top(softmax_with_temperature(scores.astype(float), temperature), p)


def right_by_argmax(scores, temperature, p, u):
    return int(np.argmax(np.cumsum(weights_of(scores, temperature, p)) > u))


def right_by_searchsorted(scores, temperature, p, u):
    return np.searchsorted(np.cumsum(weights_of(scores, temperature, p)), u, side="right")


def right_among_the_kept(scores, temperature, p, u):
    weights = weights_of(scores, temperature, p)
    words = np.flatnonzero(weights)
    return words[np.sum(np.cumsum(weights[words]) <= u)]


def wrong_at_random(scores, temperature, p, u):
    weights = weights_of(scores, temperature, p)
    return int(np.random.default_rng(0).choice(len(scores), p=weights / weights.sum()))


WRONG = {
    "of three words": lambda scores, temperature, p, u: (
        right_by_argmax(scores, temperature, p, u) % 3
    ),
    "u squared": lambda scores, temperature, p, u: right_by_argmax(scores, temperature, p, u * u),
    "in steps of a tenth": lambda scores, temperature, p, u: right_by_argmax(
        scores, temperature, p, math.floor(10 * u) / 10
    ),
}
