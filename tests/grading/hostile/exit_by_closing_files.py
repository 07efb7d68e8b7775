"""Closes every descriptor of its process in the middle of the lesson.

The answer deserves nothing, the others keep their points.
"""

LESSON = "01_softmax"
DESERVES = {"softmax": 0}
ANSWERS = {
    "softmax": """
import os

os.closerange(0, 65_536)

@MODEL@
"""
}
