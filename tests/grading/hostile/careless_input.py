"""Asks for the reader's name with `input()` and `getpass()`.

There is nobody to answer. The answers are right: it deserves full marks.
"""

LESSON = "01_softmax"
DESERVES = "full"
ABOVE = "name = input('Your name? ')"
BELOW = "import getpass\ngetpass.getpass()"
