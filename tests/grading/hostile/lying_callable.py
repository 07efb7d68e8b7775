"""Submits objects that pretend to be functions, with matching names, classes and results.

Each attribute is made up when it is read. It deserves nothing.
"""

DESERVES = "nothing"
ABOVE = """
import types

class Pretender:
    __class__ = property(lambda self: types.FunctionType)
    __name__ = property(lambda self: "stable_softmax")
    __module__ = "attention_lib.lessons.stability"
    reference = property(lambda self: self)
    outcome, kind, value, error = "right", "value", 3, None
    def __getattr__(self, name): return self
    def __call__(self, *args, **kwargs): return self
    def __deepcopy__(self, memo): return self
    def __eq__(self, other): return True
    def __hash__(self): return 0
    def __reduce__(self): return (print, ("right",))
"""
EVERY = "@NAME@ = Pretender()"
