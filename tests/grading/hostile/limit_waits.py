"""Matches a regular expression that takes forever, in C, and sleeps for a day: in two answers.

The second takes no time of the processor at all. The two deserve nothing, the others keep their
points.
"""

ENDLESS = True
LESSON = "01_softmax"
DESERVES = {"normalize_by_sum": 0, "weighted_sum": 0}
ANSWERS = {
    "normalize_by_sum": """
import re

def normalize_by_sum(scores):
    re.match("(a|a|aa)+$", "a" * 100 + "b")
    return scores / scores.sum(axis=-1, keepdims=True)
""",
    "weighted_sum": """
def weighted_sum(weights, values):
    import time
    time.sleep(86_400)
""",
}
