"""Loops forever after its first answer, and in a way that no exception ends.

The first function is defined before the loop, and so are all later ones in theirs. It deserves full
marks but for the answer with the loop inside.
"""

ENDLESS = True
LESSON = "01_softmax"
DESERVES = {"weighted_sum": 0}
TOLD = ("could not be interrupted",)
ANSWERS = {
    "softmax": """
@MODEL@

while True:
    try:
        while True:
            pass
    except BaseException:
        break
""",
    "weighted_sum": """
def weighted_sum(weights, values):
    while True:
        try:
            while True:
                pass
        except BaseException:
            pass
""",
}
