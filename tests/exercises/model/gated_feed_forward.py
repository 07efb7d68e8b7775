"""Right and wrong answers to `gated_feed_forward`."""

import numpy as np


def right_by_signs(x, w_gate, w_up, w_down):
    gate = x @ w_gate
    small = np.exp(-np.abs(gate))
    return (gate * np.where(gate >= 0, 1, small) / (1 + small) * (x @ w_up)) @ w_down


def right_by_tanh(x, w_gate, w_up, w_down):
    gate = x @ w_gate
    return (gate * (1 + np.tanh(gate / 2)) / 2 * (x @ w_up)) @ w_down


WRONG = {
    "doubled": lambda *args: 2 * right_by_tanh(*args),
}
