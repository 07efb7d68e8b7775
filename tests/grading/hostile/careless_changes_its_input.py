"""Shifts the scores in place, so that the caller's array is no longer what it was.

The values are right. It deserves full marks, and to be told.
"""

LESSON = "01_softmax"
DESERVES = "full"
TOLD = ("weighted_sum returns the right values but changes its input",)
ANSWERS = {
    "weighted_sum": """
def weighted_sum(weights, values):
    result = weights @ values
    values[...] = 0
    return result
"""
}
