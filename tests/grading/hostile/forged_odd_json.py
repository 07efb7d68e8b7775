"""Sends values that are hard to deserialize: NaN, surrogates, numbers of many digits, other types.

Each call returns another one, and a cell prints half a character. The function deserves nothing,
the other answers keep their points.
"""

DESERVES = {"logsumexp": 0}
ANSWERS = {
    "logsumexp": """
import itertools

odd = [float("nan"), -float("inf"), "\\ud800", "\\0", 10**100_000, {1: 2, None: {}}, 1j, ..., type]
odd += [b"\\xff", {"__class__": "Observation"}, {"dtype": "O", "shape": [-1]}, slice(1), {"array": 3}]
odd += [np.zeros((0, 5)), np.datetime64("NaT"), np.array(["a"]), np.zeros(2, "f8,O"), {(1,): [{}]}]
turns = itertools.cycle(odd)

def logsumexp(scores, axis=-1, keepdims=False):
    return [next(turns), next(turns)]
"""
}
BELOW = 'print("half a character: \\ud800")'
