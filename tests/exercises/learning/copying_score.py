"""Right and wrong answers to `copying_score`."""

import numpy as np

import attention_lib


def right_by_argmax(embedding, w_v, w_o, unembedding):
    circuit = embedding @ w_v @ w_o @ unembedding
    return np.mean(np.argmax(circuit, axis=1) == np.arange(len(circuit)))


def right_by_diagonal(embedding, w_v, w_o, unembedding):
    circuit = (embedding @ w_v) @ (w_o @ unembedding)
    return float((np.diag(circuit) == circuit.max(axis=-1)).mean())


def right_word_by_word(embedding, w_v, w_o, unembedding):
    copied = 0
    for word, vector in enumerate(embedding):
        scores = vector @ w_v @ w_o @ unembedding
        copied += all(scores[word] > score for other, score in enumerate(scores) if other != word)
    return copied / len(embedding)


def right_by_einsum(embedding, w_v, w_o, unembedding):
    added = np.einsum("vd,de,ef,fw->wv", embedding, w_v, w_o, unembedding)
    ranks = (added > np.diag(added)).sum(axis=0)
    return np.count_nonzero(ranks == 0) / ranks.size


def right_after_centering(embedding, w_v, w_o, unembedding):
    """What is added to all scores of a row alike changes none of their order."""
    unembedding = unembedding - unembedding.mean(axis=1, keepdims=True)
    return np.array(right_by_argmax(embedding, w_v, w_o, unembedding))


def wrong_among_the_first_two(embedding, w_v, w_o, unembedding):
    circuit = embedding @ w_v @ w_o @ unembedding
    return np.mean((circuit > np.diag(circuit)[:, None]).sum(axis=1) < 2)


def wrong_normalized_words(embedding, w_v, w_o, unembedding):
    unembedding = unembedding / np.linalg.norm(unembedding, axis=0)
    return right_by_argmax(embedding, w_v, w_o, unembedding)


def wrong_scales_its_matrix(embedding, w_v, w_o, unembedding):
    w_v *= 2.0 if w_v.dtype.kind == "f" else 2
    return right_by_argmax(embedding, w_v, w_o, unembedding)


WRONG = {
    "positive and largest": lambda e, v, o, u: np.mean(
        (np.diag(e @ v @ o @ u) == (e @ v @ o @ u).max(axis=1)) & (np.diag(e @ v @ o @ u) > 9)
    ),
    "largest of row and column": lambda e, v, o, u: np.mean(
        (np.diag(e @ v @ o @ u) == (e @ v @ o @ u).max(axis=1))
        & (np.diag(e @ v @ o @ u) == (e @ v @ o @ u).max(axis=0))
    ),
    "per cent": lambda e, v, o, u: 100 * right_by_argmax(e, v, o, u),
    "one word too many": lambda e, v, o, u: right_by_argmax(e, v, o, u) * len(e) / (len(e) + 1),
    "rounded": lambda e, v, o, u: round(right_by_argmax(e, v, o, u), 1),
    "always 0 or 1": lambda e, v, o, u: float(right_by_argmax(e, v, o, u) > 0.5),
    "an array": lambda e, v, o, u: np.array([right_by_argmax(e, v, o, u)]),
    "the library's": lambda *args: vars(attention_lib)["copying_score"](*args),
}
