"""Takes the reference function out of the exercise that the checks declare.

The checks need it, so it looks for it where they do. It deserves nothing.
"""

DESERVES = "nothing"
EVERY = """
def @NAME@(*args, **kwargs):
    from attention_lib.exercises import EXERCISES
    return EXERCISES["@NAME@"].reference(*args, **kwargs)
"""
