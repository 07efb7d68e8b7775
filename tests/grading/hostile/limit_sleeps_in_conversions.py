"""Returns objects that sleep when they are asked for their class, made a number or iterated.

No timer runs while they are sent. The answers deserve nothing, what is a value keeps its points.
"""

ENDLESS = True
LESSON = "01_softmax"
DESERVES = {"normalize_by_sum": 0, "weighted_sum": 0, "softmax": 0}
ANSWERS = {
    "normalize_by_sum": """
import time

class Sleepy:
    @property
    def __class__(self):
        time.sleep(30)

def normalize_by_sum(scores):
    return Sleepy()
""",
    "weighted_sum": """
class Number(float):
    def __float__(self):
        time.sleep(30)

def weighted_sum(weights, values):
    return [Number(0.5), Number(1.5)]
""",
    "softmax": """
class Items(list):
    def __iter__(self):
        time.sleep(30)
        yield 0.5

def softmax(scores, axis=-1):
    return Items([0.5, 0.5])
""",
}
