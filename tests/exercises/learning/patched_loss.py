"""Right and wrong answers to `patched_loss`."""

import numpy as np

import attention_lib as lib


def right_from_the_parts(model, tokens, layer, replace):
    embedding, positions, readout, *matrices = model
    x = embedding[tokens] + positions[: tokens.shape[-1]]
    for number in range(len(matrices) // 4):
        w_q, w_k, w_v, w_o = matrices[4 * number : 4 * number + 4]
        visible = lib.causal_mask(tokens.shape[-1])
        weights = lib.attention(x @ w_q, x @ w_k, x @ w_v, visible)[1]
        if number == layer:
            weights = replace(weights)
        x = x + weights @ x @ w_v @ w_o
    rows = (x @ readout)[..., :-1, :].reshape(-1, readout.shape[-1])
    return lib.cross_entropy(rows, tokens[..., 1:].reshape(-1))


def right_by_recursion(model, tokens, layer, replace):
    def through(x, number):
        if 3 + 4 * number == len(model):
            return x
        w_q, w_k, w_v, w_o = model[3 + 4 * number :][:4]
        scores = (x @ w_q) @ (x @ w_k).mT / np.sqrt(w_q.shape[-1])
        weights = lib.masked_softmax(scores, np.tri(x.shape[-2], dtype=bool))
        if layer == number:
            weights = replace(weights)
        return through(x + weights @ (x @ w_v) @ w_o, number + 1)

    x = through(model[0][tokens] + model[1][: tokens.shape[-1]], 0)
    logs = lib.log_softmax(x @ model[2])
    return -np.take_along_axis(logs[..., :-1, :], tokens[..., 1:, None], -1).mean()


def right_with_the_difference_of_two_mixtures(model, tokens, layer, replace):
    x = np.take(model[0], tokens, axis=0) + model[1][: tokens.shape[-1]]
    for number in range(3, len(model), 4):
        w_q, w_k, w_v, w_o = model[number : number + 4]
        mask = lib.causal_mask(tokens.shape[-1])
        output, weights = lib.attention(x @ w_q, x @ w_k, x @ w_v, mask)
        change = 0 * output
        if number == 3 + 4 * layer:
            change = (replace(weights) - weights) @ (x @ w_v)
        x = x + (output + change) @ w_o
    scores = (x @ model[2])[..., :-1, :]
    right = np.take_along_axis(scores, tokens[..., 1:, None], axis=-1)[..., 0]
    return np.mean(lib.logsumexp(scores) - right)


def wrong_asks_replace_for_other_layers_too(model, tokens, layer, replace):
    """Replace in the layer and the one after it."""
    x = model[0][tokens] + model[1][: tokens.shape[-1]]
    for number in range((len(model) - 3) // 4):
        w_q, w_k, w_v, w_o = model[3 + 4 * number : 7 + 4 * number]
        mask = lib.causal_mask(tokens.shape[-1])
        weights = lib.attention(x @ w_q, x @ w_k, x @ w_v, mask)[1]
        weights = replace(weights) if number in (layer, layer + 1) else weights
        x = x + weights @ (x @ w_v) @ w_o
    rows = (x @ model[2])[..., :-1, :].reshape(-1, model[2].shape[-1])
    return lib.cross_entropy(rows, tokens[..., 1:].reshape(-1))


def wrong_changes_the_model(model, tokens, layer, replace):
    loss = right_from_the_parts(model, tokens, layer, replace)
    model[2][...] = 0
    return loss


def wrong_makes_rows_sum_to_one_again(model, tokens, layer, replace):
    def normalized(weights):
        weights = replace(weights)
        return weights / weights.sum(axis=-1, keepdims=True)

    return right_from_the_parts(model, tokens, layer, normalized)


WRONG = {
    "the cost of the change": lambda model, tokens, layer, replace: (
        right_from_the_parts(model, tokens, layer, replace)
        - right_from_the_parts(model, tokens, layer, lambda weights: weights)
    ),
    "layer 0 always": lambda model, tokens, layer, replace: right_from_the_parts(
        model, tokens, 0, replace
    ),
    "replaced twice": lambda model, tokens, layer, replace: right_from_the_parts(
        model, tokens, layer, lambda weights: replace(replace(weights))
    ),
    "rounded": lambda *args: np.round(right_from_the_parts(*args), 8),
}
