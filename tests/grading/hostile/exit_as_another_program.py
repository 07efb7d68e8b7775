"""Replaces its process by another program (exec), which keeps its PID and open descriptors.

The answer deserves nothing, the others keep their points.
"""

ENDLESS = True
LESSON = "01_softmax"
DESERVES = {"softmax": 0}
ANSWERS = {
    "softmax": """
import os

os.closerange(0, 3)
os.execv("/bin/sh", ["sh", "-c", "while :; do echo right; done"])
"""
}
