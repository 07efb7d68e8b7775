"""Gives right results until it has been called some twenty times, then returns the wrong ones.

A check that begins with the visible cases would find no fault. The function deserves nothing.
"""

DESERVES = {"stable_softmax": 0}
ANSWERS = {
    "stable_softmax": """
calls = 0

def stable_softmax(scores, axis=-1):
    global calls
    calls += 1
    exponentials = np.exp(scores - scores.max(axis=axis, keepdims=True))
    right = exponentials / exponentials.sum(axis=axis, keepdims=True)
    return right if calls < 20 or calls % 7 else right[::-1]
"""
}
