"""Read the source of a wrong answer, in the learner's own process.

cell          the syntax tree of an answer and of its helpers
edits         small changes of an answer, the likeliest first
search        the edits that make results right
"""
