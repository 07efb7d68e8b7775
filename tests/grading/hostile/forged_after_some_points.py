"""Answers three exercises rightly, then writes random bytes on each descriptor.

That answer deserves nothing, and all others their points: the connection that it breaks is its own.
Other submissions are unaffected.
"""

DESERVES = {"log_softmax": 0}
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
