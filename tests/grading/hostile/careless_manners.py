"""Computes the right values with side effects: a warning, a print left in, an input changed.

The values count. It deserves full marks, and to be told.
"""

DESERVES = "full"
TOLD = (
    "logsumexp changes its input",
    "log_softmax prints",
    "masked_softmax warns",
)
ANSWERS = {
    "logsumexp": """
@MODEL@

quiet = logsumexp

def logsumexp(scores, axis=-1, keepdims=False):
    result = quiet(scores, axis, keepdims)
    scores[...] = 0
    return result
""",
    "log_softmax": """
def log_softmax(scores, axis=-1):
    print("scores:", scores.shape)
    shifted = scores - scores.max(axis=axis, keepdims=True)
    print("shifted:", shifted)
    return shifted - np.log(np.exp(shifted).sum(axis=axis, keepdims=True))
""",
    "masked_softmax": """
def masked_softmax(scores, mask, axis=-1):
    visible = np.where(mask, scores, -np.inf)
    exponentials = np.exp(visible - visible.max(axis=axis, keepdims=True))
    weights = exponentials / exponentials.sum(axis=axis, keepdims=True)
    return np.where(np.isnan(weights), 0, weights).astype(weights.dtype)
""",
}
