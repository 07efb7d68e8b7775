"""Returns a long text among many short ones, of which NumPy would make an array of a gigabyte.

It first lifts the limit on what its own process sends. The function deserves nothing, the others
keep their points.
"""

DESERVES = {"largest_exponent": 0}
TOLD = ("texts that are too long for their number",)
ANSWERS = {
    "largest_exponent": """
from attention_lib.grading import limits

limits.STRING_CHARACTERS = 10**9

def largest_exponent(dtype):
    return ["x" * 20_000] + [""] * 19_000
"""
}
