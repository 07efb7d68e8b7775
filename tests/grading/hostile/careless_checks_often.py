"""Calls the checks, hints and solutions again and again, in the answer cells and everywhere else.

Some of the checks fail on purpose. The answers are right: it deserves full marks.
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
BELOW = "check('softmax', softmax, seed=None)\ncheck('no such exercise', 3)"
