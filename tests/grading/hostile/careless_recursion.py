"""Recurses without end in one answer, and by two answers that call each other.

Those answers deserve nothing, the others their points; so does `log_softmax`, which is right with the
model answer in place of the `logsumexp` that it calls.
"""

DESERVES = {"stable_softmax": 0, "logsumexp": 0, "cross_entropy": 2}
ANSWERS = {
    "stable_softmax": "def stable_softmax(scores, axis=-1):\n    return stable_softmax(scores, axis)",
    "logsumexp": """
def logsumexp(scores, axis=-1, keepdims=False):
    return -np.max(log_softmax(scores, axis), axis=axis, keepdims=keepdims)

def log_softmax(scores, axis=-1):
    return scores - logsumexp(scores, axis, True)
""",
    "log_softmax": "def log_softmax(scores, axis=-1):\n    return scores - logsumexp(scores, axis, True)",
    "cross_entropy": """
def cross_entropy(scores, targets):
    shifted = scores - scores.max(axis=-1, keepdims=True)
    logs = shifted - np.log(np.exp(shifted).sum(axis=-1, keepdims=True))
    return -np.sum(logs[np.arange(len(targets)), targets] / len(targets))
""",
}
