"""Computes the right values by a way that warns about a division it does not need.

The values count. It deserves full marks, and to be told.
"""

DESERVES = "full"
TOLD = ("masked_softmax returns the right values but warns",)
ANSWERS = {
    "masked_softmax": """
def masked_softmax(scores, mask, axis=-1):
    visible = np.where(mask, scores, -np.inf)
    exponentials = np.exp(visible - visible.max(axis=axis, keepdims=True))
    weights = exponentials / exponentials.sum(axis=axis, keepdims=True)
    return np.where(np.isnan(weights), 0, weights).astype(weights.dtype)
"""
}
