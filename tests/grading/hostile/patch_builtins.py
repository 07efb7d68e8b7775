"""Patches builtins and other functions that all code uses, so that any check would pass.

The answers are wrong throughout. It deserves nothing.
"""

LESSON = "01_softmax"
DESERVES = "nothing"
START = "wrong"
BELOW = """
import builtins

builtins.all = builtins.any = builtins.isinstance = builtins.callable = lambda *_: True
builtins.abs = builtins.len = builtins.hash = lambda *_: 0
builtins.max = builtins.min = lambda *args, **kwargs: 0
builtins.getattr = builtins.repr = lambda *_: "right"
"""
EVERY = """
def @NAME@(*args, **kwargs):
    import builtins
    builtins.all = builtins.isinstance = lambda *_: True
    builtins.abs = lambda *_: 0
    return 0.5
"""
