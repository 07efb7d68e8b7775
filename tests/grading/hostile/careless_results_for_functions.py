"""Submits a result in place of one function, a coroutine for another and nothing for a third.

The three deserve nothing, the others their points.
"""

DESERVES = {"stable_softmax": 0, "logsumexp": 0, "log_softmax": 0}
ANSWERS = {
    "stable_softmax": "stable_softmax = np.array([0.5, 0.5])",
    "logsumexp": """
async def logsumexp(scores, axis=-1, keepdims=False):
    return np.log(np.sum(np.exp(scores), axis=axis, keepdims=keepdims))
""",
    "log_softmax": """
def log_softmax(scores, axis=-1):
    shifted = scores - scores.max(axis=axis, keepdims=True)
    shifted - np.log(np.exp(shifted).sum(axis=axis, keepdims=True))
""",
    "cross_entropy": """
def cross_entropy(scores, targets):
    shifted = scores - scores.max(axis=-1, keepdims=True)
    logs = shifted - np.log(np.exp(shifted).sum(axis=-1, keepdims=True))
    return -np.sum(logs[np.arange(len(targets)), targets] / len(targets))
""",
}
