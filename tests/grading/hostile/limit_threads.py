"""Starts as many threads as there can be, and leaves them running.

They start below its answers. It deserves full marks.
"""

DESERVES = "full"
BELOW = """
import threading, time

for _ in range(20_000):
    threading.Thread(target=time.sleep, args=(600,)).start()
print("@MARK@"[::-1])
"""
