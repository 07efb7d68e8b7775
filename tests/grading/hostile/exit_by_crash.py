"""Crashes its process by a segmentation fault, from inside an answer.

It reads from an invalid address. What was checked before deserves its points.
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
