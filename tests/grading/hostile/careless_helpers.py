"""Splits its answers into helpers, which are in an added cell above the lesson.

The answers are right: it deserves full marks.
"""

DESERVES = "full"
ABOVE = """
import functools

import numpy as np

def along(axis):
    return functools.partial(dict, axis=axis, keepdims=True)()

def shift(scores, axis):
    return scores - scores.max(**along(axis))
"""
ANSWERS = {
    "stable_softmax": """
def stable_softmax(scores, axis=-1):
    return share(np.exp(shift(scores, axis)), axis)

def share(parts, axis):
    return parts / parts.sum(**along(axis))
""",
    "log_softmax": """
def log_softmax(scores, axis=-1):
    shifted = shift(scores, axis)
    return shifted - np.log(np.exp(shifted).sum(**along(axis)))
""",
}
