"""Sleeps for a day in its last answer, which takes no time of the processor at all.

The function deserves nothing, the others keep their points.
"""

LESSON = "01_softmax"
DESERVES = {"weighted_sum": 0}
ANSWERS = {
    "weighted_sum": """
def weighted_sum(weights, values):
    import time
    time.sleep(86_400)
"""
}
