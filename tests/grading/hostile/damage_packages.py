"""Plants files in Python's folders that would run in every later process, the grader's too.

These are sitecustomize.py, .pth files, and files in NumPy and the library. It has no answers. It
deserves nothing.
"""

LESSON = "01_softmax"
DESERVES = "nothing"
ABOVE = """
import os, site, sys

import numpy

places = {*sys.path, *site.getsitepackages(), "@LIBRARY@", "@LIBRARY@/checks", "@LIBRARY@/.."}
places |= {os.path.dirname(numpy.__file__), os.path.dirname(os.__file__), site.getusersitepackages()}
for place in places:
    for name in ("@MARK@.py", "@MARK@.pth", "sitecustomize.py", "usercustomize.py"):
        try:
            os.makedirs(place, exist_ok=True)
            with open(os.path.join(place, name), "x") as file:
                file.write("import os; os.environ['@MARK@'] = '1'")
        except OSError as error:
            print(error)
"""
