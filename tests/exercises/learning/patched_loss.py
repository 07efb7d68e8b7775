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
