"""Closes every descriptor of its process in the middle of the lesson.

What was checked before deserves its points.
"""

LESSON = "01_softmax"
DESERVES = {"softmax": 0, "study_weights": 0, "weighted_sum": 0}
ANSWERS = {
    "softmax": """
import os

os.closerange(0, 65_536)

@MODEL@
"""
}
