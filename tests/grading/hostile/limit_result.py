"""Returns far more than was asked for: thirty megabytes, a hundred thousand arrays, an array of petabytes.

Strides of 0 make the last one cheap to build and ruinous to copy. The functions deserve nothing,
the others keep their points.
"""

DESERVES = {"largest_exponent": 0, "cross_entropy": 0, "masked_softmax": 0}
ANSWERS = {
    "cross_entropy": "def cross_entropy(scores, targets): return np.ones(1 << 22)",
    "masked_softmax": """
def masked_softmax(scores, mask, axis=-1):
    return np.broadcast_to(0.5, (10**5, 10**5, 10**5))
""",
    "largest_exponent": "def largest_exponent(dtype): return [np.zeros(1)] * 100_000",
}
