"""Ends its process in the cell of one answer, without any of Python's farewells.

What was checked before deserves its points.
"""

LESSON = "01_softmax"
DESERVES = {"softmax": 0, "study_weights": 0, "weighted_sum": 0}
TOLD = ("Python ended while this ran",)
ANSWERS = {"softmax": "import os\nos._exit(0)"}
