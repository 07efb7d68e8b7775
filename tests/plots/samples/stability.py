"""Samples of the figures of lesson 02, each drawn from small numbers."""

import numpy as np

from attention_lib import plots


def cliffs():
    curves = {}
    for name, stop in {"float16": 13, "float32": 100}.items():
        x = np.linspace(0, stop, 50, dtype=name)
        with np.errstate(over="ignore"):
            curves[name] = (x, np.exp(x))
    return plots.exponential_cliffs(curves, {"float16": 11.09, "float32": 88.72})


def shifted():
    study = np.array([200, 400, 400], np.float32)
    with np.errstate(over="ignore", invalid="ignore"):
        exponentials = {shift: np.exp(study - shift) for shift in (0, 200, 400, 520)}
        weights = {shift: terms / terms.sum() for shift, terms in exponentials.items()}
    return plots.shifted_scores(study, weights, ["a", "b", "c"], -104, 88.7)


def reach():
    return plots.reach_of_a_maximum({"one": [200.0, 400.0], "two": [1.0, 0.0]}, reach=104)


def softmaxes():
    answers = {"as written": [np.nan] * 3, "shifted": [1e-30, 0.25, 0.75]}
    return plots.two_softmaxes(["a", "b", "c"], np.float32([1, 2, 3]), answers)


def errors():
    return plots.errors_by_weight([[1e-20, 0.25]], {"plain": [[2, 1]], "shifted": [[31.9, 1.5]]})


def rounded_corner():
    x = np.linspace(-3, 3, 61)
    return plots.soft_maximum(x, np.logaddexp(x, 0))


def losses():
    scores = [[2.0, 4.0, 4.0], [0.0, 5.0, 1.0]]
    return plots.losses_by_row(scores, [1, 0], [0.75, 5.25], ["a", "b", "c"])


def masked():
    mask = [[True, False, True], [False, False, False]]
    weights = [[0.25, 0.0, 0.75], [0.0, 0.0, 0.0]]
    return plots.masked_rows([[1, 9, 2], [3, 4, 5]], mask, weights, ["q", "r"], ["a", "b", "c"])


def halves(left, right):
    own = [np.exp(half - np.max(half)) for half in (left, right)]
    joined = [np.exp(np.array(half) - max(*left, *right)) for half in (left, right)]
    return plots.merged_halves(left, right, own, joined)


def merged():
    return halves([1.0, 3.0], [5.0, 4.0, 2.5])
