"""Reading the source of a wrong answer, in the process of whoever wrote it.

cell          the syntax tree of an answer and of its helpers
edits         small changes of an answer, the likeliest first
search        the edits that make results right
patterns      lines that do not do what they seem to: one function a pattern
"""
