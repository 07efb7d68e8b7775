"""Lets warnings and a progress bar appear on stderr, in cells of its own. The answers are right.

With nbgrader alone, anything on stderr in a check cell would cost its points. It deserves full
marks.
"""

LESSON = "01_softmax"
DESERVES = "full"
ABOVE = """
import sys, warnings

np.array([0.0]) / 0
np.exp(1000.0)
warnings.warn("careful")
sys.stderr.write("50%|#####     |")

def complain(*_):
    print("careful", file=sys.stderr)

get_ipython().events.register("post_run_cell", complain)
"""
