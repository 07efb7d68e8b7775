"""Imports everything from everywhere, so that many names mean something else.

NumPy's `sum`, `max` and `abs` take the place of Python's. The answers are right: it deserves full
marks.
"""

LESSON = "01_softmax"
DESERVES = "full"
ABOVE = """
from math import *
from numpy import *
from numpy.random import *
from attention_lib import *
from attention_lib.plots import *
"""
