"""Imports this lesson's module of the library and lets it do the work.

It does so inside each answer, where a look at the cells would not find it. It deserves nothing.
"""

DESERVES = "nothing"
EVERY = """
def @NAME@(*args, **kwargs):
    import importlib
    stability = importlib.import_module("attention_lib.lessons." + "stability")
    return getattr(stability, "@NAME@")(*args, **kwargs)
"""
