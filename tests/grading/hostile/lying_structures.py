"""Returns results that never end, contain themselves, or pretend to have two entries.

Those functions deserve nothing, the others keep their points.
"""

DESERVES = {"merge_softmax_stats": 0, "stable_softmax": 0, "logsumexp": 0, "masked_softmax": 0}
ANSWERS = {
    "merge_softmax_stats": """
def merge_softmax_stats(left, right):
    while True:
        yield left[0]
""",
    "stable_softmax": """
def stable_softmax(scores, axis=-1):
    loop = [scores]
    loop.append(loop)
    return loop
""",
    "logsumexp": """
def logsumexp(scores, axis=-1, keepdims=False):
    deep = scores
    for _ in range(20_000):
        deep = (deep,)
    return deep
""",
    "masked_softmax": """
class Pair(tuple):
    __len__ = lambda self: 2
    __iter__ = lambda self: iter(range(10**12))

def masked_softmax(scores, mask, axis=-1):
    return Pair()
""",
}
