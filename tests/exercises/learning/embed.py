"""Right and wrong answers to `embed`."""

import numpy as np

from tests.exercises.parts import remembered_by_shape


def right_textbook(tokens, embedding, positions):
    return embedding[tokens] + positions[: tokens.shape[-1]]


def right_by_take(tokens, embedding, positions):
    places = np.arange(tokens.shape[-1])
    return np.take(positions, places, axis=0) + np.take(embedding, tokens, axis=0)


def right_by_one_hot(tokens, embedding, positions):
    words = np.eye(len(embedding), dtype=embedding.dtype)[tokens]
    return words @ embedding + positions[: words.shape[-2]]


def right_in_loops(tokens, embedding, positions):
    out = np.empty((*tokens.shape, embedding.shape[1]), embedding.dtype)
    for index in np.ndindex(tokens.shape):
        out[index] = embedding[tokens[index]] + positions[index[-1]]
    return out


WRONG = {
    "places by word": lambda t, e, p: e[t] + p[t % len(p)],
    "last places": lambda t, e, p: e[t] + p[len(p) - t.shape[-1] :],
    "places reversed": lambda t, e, p: e[t] + p[: t.shape[-1]][::-1],
    "no places": lambda t, e, p: e[t],
    "mean": lambda t, e, p: (e[t] + p[: t.shape[-1]]) / 2,
    "place of the batch": lambda t, e, p: e[t] + p[: len(t)],
    "remembered": remembered_by_shape(right_textbook),
}
