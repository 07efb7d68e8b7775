"""Has left a print for debugging in an answer whose values are right.

It deserves full marks, and to be told.
"""

DESERVES = "full"
TOLD = ("log_softmax returns the right values but prints",)
ANSWERS = {
    "log_softmax": """
def log_softmax(scores, axis=-1):
    print("scores:", scores.shape)
    shifted = scores - scores.max(axis=axis, keepdims=True)
    print("shifted:", shifted)
    return shifted - np.log(np.exp(shifted).sum(axis=axis, keepdims=True))
"""
}
