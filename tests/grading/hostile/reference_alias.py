"""Binds each name to the function of the same name in the course's library.

It has no code of its own. It deserves nothing.
"""

DESERVES = "nothing"
EVERY = "@NAME@ = lib.@NAME@"
