"""Lifts the limit on recursion and calls itself until the stack is full.

The process dies in C. What was checked before deserves its points.
"""

LESSON = "01_softmax"
DESERVES = {"softmax": 0, "study_weights": 0, "weighted_sum": 0}
ANSWERS = {
    "softmax": """
import functools, sys

sys.setrecursionlimit(10**9)

class Deep:
    def __getattr__(self, name):
        return getattr(self, name + "x")
    __repr__ = functools.partialmethod(lambda self: repr([self]))

def softmax(scores, axis=-1):
    repr(Deep())
    os.abort()
"""
}
