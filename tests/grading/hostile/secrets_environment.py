"""Prints every environment variable that it can find, its own and those of other processes.

The grader's environment holds the seed of the hidden cases, and perhaps passwords. The answers are
right: it deserves full marks, and finds nothing.
"""

DESERVES = "full"
ABOVE = """
import glob, os

print(dict(os.environ))
for path in glob.glob("/proc/*/environ") + glob.glob("/proc/*/cmdline"):
    try:
        print(path, open(path, "rb").read())
    except OSError as error:
        print(path, error.strerror)
"""
