"""Replies to each call with huge messages: lengths beyond all memory, and gigabytes of data.

The grader ends this submission, and no other. It deserves nothing.
"""

LESSON = "01_softmax"
DESERVES = "nothing"
EVERY = """
def @NAME@(*args, **kwargs):
    import os
    for fd in range(3, 64):
        try:
            os.set_blocking(fd, False)
            os.write(fd, b"\\xff" * 8 + b"\\x7f" + b"\\xff" * 7 + bytes(1 << 20))
        except OSError:
            pass
    return [bytes(1 << 20)] * 1000
"""
