"""Prints a flood from inside an answer whose values are right.

It deserves full marks, and to be told that an answer only returns.
"""

DESERVES = "full"
TOLD = ("prints",)
ANSWERS = {
    "logsumexp": """
@MODEL@

quiet = logsumexp

def logsumexp(*args, **kwargs):
    for _ in range(20):
        print("x" * 1_000_000)
    return quiet(*args, **kwargs)
"""
}
