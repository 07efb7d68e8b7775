"""Uses the names of the course's and Python's functions for numbers of its own.

`check`, `lib`, `sum` and `print` are gone after that; the answers do not need them. It deserves
full marks.
"""

LESSON = "01_softmax"
DESERVES = "full"
ABOVE = """
check, hint, solution, lib, plots = 3, "no", None, [], {}
sum = list = dict = max = min = abs = type = range = str = 7
print = open = isinstance = len = zip = hash = repr = Exception = None
In = Out = _ = __ = ___ = exit = quit = get_ipython = display = None
__name__, __file__, __builtins__.all = "mine", "mine.py", all
json = os = sys = time = signal = threading = "mine"
"""
