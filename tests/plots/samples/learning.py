"""Samples of the figures of lesson 08, each drawn from small numbers."""

import numpy as np

from attention_lib import plots

WORDS = list("fbefb")
BEFORE = [(1, 0), (2, 1), (3, 2), (4, 3)]
AFTER = [(3, 1), (4, 2)]
FIRST = np.eye(5, k=-1)
FIRST[0, 0] = 1
SECOND = np.array(
    [
        [1, 0, 0, 0, 0],
        [0.5, 0.5, 0, 0, 0],
        [0.25, 0.25, 0.5, 0, 0],
        [0.04, 0.96, 0, 0, 0],
        [0, 0, 0.5, 0.5, 0],
    ]
)
MAPS = {"layer 1": FIRST, "layer 2": SECOND}
FRAMES = {"layer 1": BEFORE, "layer 2": AFTER}


def by_hand():
    return plots.hand_set_maps(MAPS, WORDS, FRAMES)


def by_layer():
    return plots.layer_maps(MAPS, WORDS, FRAMES, "step 20")


def drop():
    losses = {"two layers": np.linspace(3.5, 1.0, 40), "one layer": np.linspace(3.5, 3.0, 40)}
    heads = {"on the place before": [0.1, 0.6, 0.9], "induction": [0.0, 0.4, 0.8]}
    return plots.loss_and_heads(losses, [0, 20, 40], heads, {"log 32": 3.47})


def changes():
    lost = {
        "nothing changed": [1.07, 1.06, 1.07],
        "layer 1: moved by one place": [4.19, 4.24, 4.05],
    }
    return plots.replaced_maps(lost, "loss (nats a word)", {"log 32": 3.47})


def steps():
    return plots.steps_to_learn(
        {
            "rate 0.01": {"divided": [90, 100, 140], "not divided": [160, np.inf, np.inf]},
            "rate 0.006": {"divided": [180, 180, 240], "not divided": [np.inf] * 3},
        },
        250,
    )
