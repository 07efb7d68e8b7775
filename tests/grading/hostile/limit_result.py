"""Returns far more than was asked for: thirty megabytes, a hundred thousand arrays, an array of petabytes.

Strides of 0 make the last one cheap to build and ruinous to copy. The functions deserve nothing,
the others keep their points.
"""

DESERVES = {"stable_softmax": 0, "logsumexp": 0, "masked_softmax": 0}
ANSWERS = {
    "stable_softmax": "def stable_softmax(scores, axis=-1): return np.ones(1 << 22)",
    "masked_softmax": """
def masked_softmax(scores, mask, axis=-1):
    return np.broadcast_to(0.5, (10**5, 10**5, 10**5))
""",
    "logsumexp": "def logsumexp(scores, axis=-1, keepdims=False): return [np.zeros(1)] * 100_000",
}
