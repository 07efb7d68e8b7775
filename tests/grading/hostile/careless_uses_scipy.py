"""Lets SciPy do the work in two answers.

The values are right; "NumPy only" cannot be proven from outside, and is advice. It deserves full
marks, and to be told.
"""

DESERVES = "full"
TOLD = ("scipy",)
ANSWERS = {
    "stable_softmax": """
import scipy.special

def stable_softmax(scores, axis=-1):
    return scipy.special.softmax(np.asarray(scores, np.result_type(scores, np.float32)), axis=axis)
""",
    "log_softmax": """
from scipy.special import log_softmax as ready

def log_softmax(scores, axis=-1):
    return ready(np.asarray(scores, np.result_type(scores, np.float32)), axis=axis)
""",
}
