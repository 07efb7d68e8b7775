"""Samples of the figures of lesson 03, each drawn from small numbers."""

import numpy as np

from attention_lib import plots

WORDS = ["please", "study", "man"]
SIZES = [2, 64, 4096]
WAYS = ("as they are", "times 1/√d_k")


def softened(scores, temperature):
    powers = np.exp((scores - scores.max()) / temperature)
    return powers / powers.sum()


def spread(weights):
    return -np.sum(weights * np.log(np.maximum(weights, 1e-300)))


def arrows():
    query = [[1.0, 0.0], [2.0, 2.0], [2.0, 1.0]]
    return plots.queries_and_keys(query, [[1.0, 0.0], [0.0, 2.0], [1.0, 1.0]], WORDS)


def growth():
    return plots.growth_with_size(SIZES, [2.1, 63.0, 4000.0], [1.45, 7.9, 63.2])


def rare():
    rng = np.random.default_rng(0)
    scores = {"random": 8 * rng.standard_normal((50, 40)), "trained": [-80.0, -55.0, 0.0, 5.0]}
    return plots.rare_scores(scores, 8.0, told=[50, 60])


def heads():
    entropies = {WAYS[0]: [0.0, 0.1, 0.3], WAYS[1]: [0.7, 1.9, 2.5]}
    return plots.entropies_by_head(entropies, {WAYS[0]: 0.5, WAYS[1]: 3.0}, 3.4)


def triangle():
    points = np.array([(i, j, 6 - i - j) for i in range(7) for j in range(7 - i)]) / 6
    return plots.weights_triangle(points, points @ [0, 1, 2], [0, 0.1, 0.9], WORDS, "mean score")


def one_row():
    scores = {WAYS[0]: [-8.0, 3.0, 16.0], WAYS[1]: [-1.0, 0.375, 2.0]}
    weights = {WAYS[0]: [0.0, 0.01, 0.99], WAYS[1]: [0.04, 0.16, 0.8]}
    return plots.one_row_at_size(64, scores, weights)


def rows():
    weights = {"all on one": [0.0, 1.0, 0.0], "equal": [1 / 3, 1 / 3, 1 / 3]}
    return plots.rows_with_entropy(weights, [0.0, np.log(3)], WORDS)


def lines():
    values = {WAYS[0]: [1.9, 0.4, 0.05], WAYS[1]: [2.1, 2.1, 2.1]}
    return plots.lines_by_size(SIZES, values, "mean entropy (nats)", np.log(12), "equal weights")


def tempered():
    return plots.tempered([2.0, 2.0, 3.0], 0.5, softened, spread, WORDS)


def target():
    temperatures = np.geomspace(0.1, 30, 50)
    scores = np.array([3.0, 1.0, 0.0])
    curve = [spread(softened(scores, t)) for t in temperatures]
    tried = {t: spread(softened(scores, t)) for t in (0.5, 4.0)}
    return plots.entropy_target(temperatures, curve, 0.5, tried)


def bounded():
    largest = {"1/√d_k alone": [4.0, 60.0, 900.0], "with a soft cap": [4.0, 8.0, 8.0]}
    entropies = {"1/√d_k alone": [2.1, 0.2, 0.0], "with a soft cap": [2.1, 1.3, 1.7]}
    return plots.bounded_scores([1, 4, 16], largest, entropies, np.log(12))


def keys():
    shares = {"as they are": [0.98, 0.6, 0.17], "times log S": [0.98, 0.99, 1.0]}
    entropies = {"as they are": [2.0, 3.7, 6.4], "times log S": [2.0, 3.0, 3.5]}
    return plots.attention_by_keys([12, 64, 1024], entropies, shares)


def sampling():
    return plots.sampling_weights(WORDS, {"T = 0.5": [0.7, 0.2, 0.1], "T = 2": [0.4, 0.3, 0.3]})
