"""Puts its own wrong functions where the reference is looked up, so that the two agree.

It does so in the library, in its lesson's module and in the declared exercises. It deserves
nothing.
"""

DESERVES = "nothing"
EVERY = """
def @NAME@(*args, **kwargs):
    return 0.5

import importlib, sys, types

for module in ("", ".lessons.stability", ".exercises.stability", ".exercises.stability.@NAME@"):
    try:
        module = importlib.import_module(f"attention_lib{module}")
    except ImportError:
        module = sys.modules.setdefault(f"attention_lib{module}", types.ModuleType("module"))
    module.@NAME@ = @NAME@
try:
    from attention_lib.exercises import EXERCISES
    object.__setattr__(EXERCISES["@NAME@"], "reference", @NAME@)
except ImportError as error:
    print(error)
"""
