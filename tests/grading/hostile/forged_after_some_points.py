"""Answers three exercises rightly, then writes random bytes on each descriptor.

It deserves the points of those three; the connection that it breaks is its own, and other
submissions are unaffected.
"""

DESERVES = {"log_softmax": 0, "cross_entropy": 0, "masked_softmax": 0, "merge_softmax_stats": 0}
ANSWERS = {
    "log_softmax": """
import os

for fd in range(3, 256):
    try:
        os.write(fd, os.urandom(64) * 1000)
    except OSError:
        pass
os._exit(0)
"""
}
