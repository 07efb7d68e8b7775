"""Right and wrong answers to `copying_score`."""

import numpy as np


def right_by_argmax(embedding, w_v, w_o, unembedding):
    circuit = embedding @ w_v @ w_o @ unembedding
    return np.mean(np.argmax(circuit, axis=1) == np.arange(len(circuit)))


def right_after_centering(embedding, w_v, w_o, unembedding):
    """What is added to all scores of a row alike changes none of their order."""
    unembedding = unembedding - unembedding.mean(axis=1, keepdims=True)
    return np.array(right_by_argmax(embedding, w_v, w_o, unembedding))


def wrong_normalized_words(embedding, w_v, w_o, unembedding):
    unembedding = unembedding / np.linalg.norm(unembedding, axis=0)
    return right_by_argmax(embedding, w_v, w_o, unembedding)


def wrong_scales_its_matrix(embedding, w_v, w_o, unembedding):
    w_v *= 2.0 if w_v.dtype.kind == "f" else 2
    return right_by_argmax(embedding, w_v, w_o, unembedding)


WRONG = {
    "per cent": lambda e, v, o, u: 100 * right_by_argmax(e, v, o, u),
    "one word too many": lambda e, v, o, u: right_by_argmax(e, v, o, u) * len(e) / (len(e) + 1),
    "rounded": lambda e, v, o, u: round(right_by_argmax(e, v, o, u), 1),
    "always 0 or 1": lambda e, v, o, u: float(right_by_argmax(e, v, o, u) > 0.5),
    "an array": lambda e, v, o, u: np.array([right_by_argmax(e, v, o, u)]),
}
