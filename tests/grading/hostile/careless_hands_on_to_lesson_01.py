"""Lets lesson 01's softmax, which is stable already, do the whole of stable_softmax.

The values are right, and a call cannot be proven from outside: it is advice. It deserves full
marks, and to be told.
"""

DESERVES = "full"
TOLD = ("stable_softmax hands its work to lib.softmax", "do that yourself")
ANSWERS = {
    "stable_softmax": """
import attention_lib

def stable_softmax(scores, axis=-1):
    return attention_lib.softmax(scores, axis)
""",
}
