"""Right and wrong answers to `next_word_loss`."""

import numpy as np

from tests.exercises.parts import as_float, log_softmax, remembered_by_shape


def right_textbook(scores, tokens):
    logs = log_softmax(as_float(scores)[..., :-1, :])
    return -np.take_along_axis(logs, tokens[..., 1:, None], axis=-1).mean()


def right_from_all_rows(scores, tokens):
    """Score every row against the next word, wrapped around, and leave the last out of the mean."""
    logs = log_softmax(as_float(scores))
    following = np.roll(tokens, -1, axis=-1)[..., None]
    return -np.take_along_axis(logs, following, axis=-1)[..., :-1, 0].mean(dtype=float)


def of_rows(scores, tokens):
    return -np.take_along_axis(log_softmax(as_float(scores)), tokens[..., None], -1)[..., 0]


WRONG = {
    "wrapped the other way": lambda s, t: of_rows(s, np.roll(t, 1, axis=-1)).mean(),
    "two words ahead": lambda s, t: of_rows(s, np.roll(t, -2, axis=-1))[..., :-1].mean(),
    "median": lambda s, t: np.median(of_rows(s[..., :-1, :], t[..., 1:])),
    "last sequence left out": lambda s, t: of_rows(s[:-1], t[1:] if t.ndim == 1 else t[:-1]).mean(),
    "smoothed": lambda s, t: -np.log(np.exp(-of_rows(s[..., :-1, :], t[..., 1:])) + 1e-9).mean(),
    "rounded": lambda s, t: round(float(right_textbook(s, t)), 9),
    "remembered": remembered_by_shape(right_textbook),
}
