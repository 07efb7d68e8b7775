"""Samples of the figures of lesson 09, each drawn from small numbers."""

import numpy as np

from attention_lib import plots

MEASURES = {
    "on the first word": np.linspace(0, 0.9, 12).reshape(4, 3),
    "on the word before": np.eye(4, 3) * 0.7,
}
LOSSES = {"right": 3.58, "nothing rotated": 5.11, "no mask": 1.77}


def heads():
    return plots.heads_at_a_glance(MEASURES)


def faults():
    texts = {name: f"loved to play, {name}" for name in LOSSES}
    return plots.losses_by_fault(LOSSES, texts, "right")


def measures():
    lines = {"with a cache": [60, 65, 70], "without": [80, 300, 1200]}
    return plots.measures_by_size(
        [8, 32, 128], lines, "words so far", "time of a word (ms)", {"reading the weights": 50}
    )


def gates():
    z = np.linspace(-4, 4, 9)
    return plots.gate(z, {"open": z, "half": z / 2})
