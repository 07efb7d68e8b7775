"""Right and wrong answers to `gated_feed_forward`."""

import numpy as np

import attention_lib


def right_by_signs(x, w_gate, w_up, w_down):
    gate = x @ w_gate
    small = np.exp(-np.abs(gate))
    return (gate * np.where(gate >= 0, 1, small) / (1 + small) * (x @ w_up)) @ w_down


def right_by_tanh(x, w_gate, w_up, w_down):
    gate = x @ w_gate
    return (gate * (1 + np.tanh(gate / 2)) / 2 * (x @ w_up)) @ w_down


def right_by_logaddexp(x, w_gate, w_up, w_down):
    gate, up = x @ w_gate, x @ w_up
    return (gate * np.exp(-np.logaddexp(0, -gate)) * up) @ w_down


def right_exponent_held_back(x, w_gate, w_up, w_down):
    gate = x @ w_gate
    return (gate / (1 + np.exp(np.minimum(-gate, 80))) * (x @ w_up)) @ w_down


def right_by_one_product(x, w_gate, w_up, w_down):
    both = x @ np.concatenate([w_gate, w_up], axis=-1)
    gate, up = np.split(both, 2, axis=-1)
    with np.errstate(over="ignore"):
        return (gate / (1 + np.exp(-gate)) * up) @ w_down


def wrong_gates_below_zero_closed(x, w_gate, w_up, w_down):
    gate = x @ w_gate
    return np.where(gate > 0, gate / (1 + np.exp(-np.abs(gate))), 0) * (x @ w_up) @ w_down


WRONG = {
    "NaN hidden": lambda x, w_gate, w_up, w_down: (
        (
            np.nan_to_num((g := x @ w_gate) * (e := np.exp(np.minimum(g, 1000))) / (1 + e))
            * (x @ w_up)
        )
        @ w_down
    ),
    "hard": lambda x, w_gate, w_up, w_down: (
        ((g := x @ w_gate) * np.clip((g + 3) / 6, 0, 1) * (x @ w_up)) @ w_down
    ),
    "softplus": lambda x, w_gate, w_up, w_down: (np.logaddexp(0, x @ w_gate) * (x @ w_up)) @ w_down,
    "the library's": lambda *args: attention_lib.gated_feed_forward(*args),
    "doubled": lambda *args: 2 * right_by_tanh(*args),
}
