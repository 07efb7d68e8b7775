"""Samples of the figures of lesson 04, each drawn from small numbers."""

from __future__ import annotations

import numpy as np

from attention_lib import plots

WORDS = ["please", "study", "man"]
WEIGHTS = np.array([0.25, 0.25, 0.5])
JACOBIAN = np.array([[0.1875, -0.0625, -0.125], [-0.0625, 0.1875, -0.125], [-0.125, -0.125, 0.25]])
STEPS = np.logspace(-12, 0, 25)


def weigh(scores):
    exponentials = np.exp(scores)
    return exponentials / exponentials.sum()


def along_a_score():
    scores = np.log([1.0, 1.0, 2.0])
    return plots.weights_along_score(scores, 2, JACOBIAN[:, 2], weigh, WORDS)


def jacobian():
    return plots.jacobian_map(WEIGHTS, JACOBIAN, WORDS)


def valleys():
    errors = {"one-sided": STEPS + 1e-16 / STEPS, "central": STEPS**2 + 1e-16 / STEPS}
    return plots.error_valleys(STEPS, errors)


def pulls():
    return plots.pulls_on_scores(WEIGHTS, [1.0, 0.0, 3.0], [-0.1875, -0.4375, 0.625], WORDS)


def loss():
    rows = np.array([[0.25, 0.25, 0.5], [0.125, 0.75, 0.125]])
    gradient = np.array([[0.125, 0.125, -0.25], [-0.4375, 0.375, 0.0625]])
    return plots.loss_gradient(rows, [2, 0], gradient, WORDS)


def lines():
    curves = {"kept": [1.0, 1.0, 1.0], "lost": [1.0, 0.1, 0.002]}
    return plots.gradient_lines([2, 4, 8], curves, "$d_k$", "gradient", x_base=2)


KEYS = np.array([[1.0, 0.0], [0.0, 2.0], [1.0, 1.0]])


def step():
    shares = [[-0.0625, 0.0], [0.0, -0.625], [0.375, 0.375]]
    return plots.query_step([2.0, 1.0], KEYS, shares, WORDS)


def by_keys():
    panels = {
        "16 keys": {"with": [1.0, 1.0, 1.0], "without": [2.0, 1.5, 0.001]},
        "64 keys": {"with": [0.5, 0.5, 0.5], "without": [4.0, 5.0, 0.5]},
    }
    return plots.gradients_by_keys([2, 4, 8], panels, [4, 8])


def shares():
    portions = {"even": [0.0, 5.0, 50.0, 100.0], "few": [0.0, 85.0, 99.0, 100.0]}
    return plots.shares_of_the_first([0, 5, 50, 100], portions, 5)


def path():
    return plots.backward_path()
