"""Ends its process from inside an answer, with the exit status of success.

What was checked before deserves its points.
"""

LESSON = "01_softmax"
DESERVES = {"softmax": 0, "study_weights": 0, "weighted_sum": 0}
ANSWERS = {
    "softmax": """
def softmax(scores, axis=-1):
    import os
    os._exit(0)
"""
}
