"""Draws many figures, in windows and on the page, and closes none of them.

Matplotlib warns about them. The answers are right: it deserves full marks.
"""

LESSON = "01_softmax"
DESERVES = "full"
ABOVE = """
import matplotlib
import matplotlib.pyplot as plt

try:
    matplotlib.use("TkAgg", force=True)
except ImportError as error:
    print(error)
matplotlib.use("Agg")
for _ in range(21):
    plt.figure(figsize=(0.1, 0.1))
plt.show(block=True)
"""
