"""Swaps the names of answer cells, so that an easy answer counts for more points.

Neither answer cell defines the function of its exercise. The two deserve nothing, the others their
points.
"""

START = "solved"
DESERVES = {"largest_exponent": 0, "stable_softmax": 0}
ANSWERS = {
    "largest_exponent": "def stable_softmax(scores, axis=-1): return scores",
    "stable_softmax": "@MODEL@\ndef largest_exponent(dtype): return 88.72\ndel stable_softmax",
}
