"""Crashes its process by a segmentation fault, from inside an answer.

It reads from an invalid address. The answer deserves nothing, the others keep their points.
"""

LESSON = "01_softmax"
DESERVES = {"softmax": 0}
ANSWERS = {
    "softmax": """
import ctypes

def softmax(scores, axis=-1):
    return ctypes.string_at(0)
"""
}
