"""Reads from an address where there is nothing, from inside an answer.

The process dies in C. What was checked before deserves its points.
"""

LESSON = "01_softmax"
DESERVES = {"softmax": 0, "study_weights": 0, "weighted_sum": 0}
ANSWERS = {
    "softmax": """
import ctypes

def softmax(scores, axis=-1):
    return ctypes.string_at(0)
"""
}
