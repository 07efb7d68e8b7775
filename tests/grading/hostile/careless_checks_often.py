"""Calls the checks, hints and solutions again and again, in the answer cells and everywhere else.

Some of the checks fail on purpose, and below them the names are bound to something else. The
answers are right: it deserves full marks.
"""

LESSON = "01_softmax"
DESERVES = "full"
ABOVE = """
hint("softmax")
hint("softmax")
solution("softmax")
check("softmax", lambda scores, axis=-1: scores)
"""
EVERY = """
@MODEL@

for _ in range(3):
    hint("@NAME@")
    check("@NAME@", @NAME@)
"""
BELOW = """
check("softmax", softmax, seed=None)
softmax = softmax(np.array([1.0, 2.0]))
weighted_sum = None
del normalize_by_sum
check("no such exercise", 3)
"""
