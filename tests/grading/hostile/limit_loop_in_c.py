"""Runs into a regular expression that takes longer than the universe has time.

It is one call, in C, between two steps of Python. The function deserves nothing, what was checked
before it keeps its points.
"""

LESSON = "01_softmax"
DESERVES = {"weighted_sum": 0}
ANSWERS = {
    "weighted_sum": """
import re

def weighted_sum(weights, values):
    re.match("(a|a|aa)+$", "a" * 100 + "b")
    return weights @ values
"""
}
