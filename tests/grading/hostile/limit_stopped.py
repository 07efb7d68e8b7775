"""Stops its own process, as Ctrl+Z does: it has not ended, and does not run.

What was checked before deserves its points.
"""

ENDLESS = True
LESSON = "01_softmax"
DESERVES = {"weighted_sum": 0}
ANSWERS = {
    "weighted_sum": """
@MODEL@

import os, signal

os.kill(os.getpid(), signal.SIGSTOP)
"""
}
