"""Binds each name to the function of the same name in the course's library.

Nothing of it is the student's own work. It deserves nothing.
"""

DESERVES = "nothing"
EVERY = "@NAME@ = lib.@NAME@"
