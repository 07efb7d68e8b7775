"""Swaps the names of answer cells, so that the easy answer stands where the dear one counts.

Neither exercise finds its own function where it should. The two deserve nothing, the others their
points.
"""

START = "solved"
DESERVES = {"largest_exponent": 0, "stable_softmax": 0}
ANSWERS = {
    "largest_exponent": "def stable_softmax(scores, axis=-1): return scores",
    "stable_softmax": "@MODEL@\ndef largest_exponent(dtype): return 88.72\ndel stable_softmax",
}
