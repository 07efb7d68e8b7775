"""Raises errors that lie about their class and go wrong, or on forever, when their text is read.

One has text of many megabytes, one no text at all. The two functions deserve nothing, the others
keep their points.
"""

DESERVES = {"stable_softmax": 0, "logsumexp": 0, "masked_softmax": 0}
ABOVE = """
class Nasty(Exception):
    __class__ = property(lambda self: NotImplementedError)
    def __str__(self): raise self
    __repr__ = __str__

class Long(Exception):
    def __str__(self): return "right " * 1_000_000

class Linked(Exception):
    pass
"""
ANSWERS = {
    "stable_softmax": "def stable_softmax(scores, axis=-1): raise Nasty()",
    "logsumexp": "def logsumexp(scores, axis=-1, keepdims=False): raise Long()",
    "masked_softmax": """
def masked_softmax(scores, mask, axis=-1):
    error = Linked()
    error.__cause__ = error.__context__ = error
    raise error from error
""",
}
