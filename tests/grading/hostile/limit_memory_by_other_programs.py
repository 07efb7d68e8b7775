"""Fills memory by programs that it starts, each with little more than its own process began with.

What a process began with is shared with the grader's server, and another program shares none of it. It
does so below its answers. It deserves full marks.
"""

DESERVES = "full"
BELOW = """
import os, sys, time

hold = "x = bytearray(b'x') * (140 << 20); import time; time.sleep(600)"
started = 0
try:
    while started < 7:
        if os.fork() == 0:
            os.execv(sys.executable, ["python", "-S", "-c", hold])
        started += 1
except OSError as error:
    print(error)
time.sleep(3)
print("@MARK@"[::-1] if started > 4 else "no more")
"""
