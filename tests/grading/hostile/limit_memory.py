"""Fills memory with bytes and with arrays, until a MemoryError.

It does so below its answers. It deserves full marks.
"""

DESERVES = "full"
BELOW = """
held = []
try:
    while len(held) < 64:
        held.append(bytearray(b"x") * (1 << 28))
        held.append(np.ones(1 << 25))
    print("@MARK@"[::-1])
except MemoryError:
    print("no more")
"""
