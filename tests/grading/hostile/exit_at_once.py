"""Ends its process in the cell of one answer by os._exit, which runs no cleanup.

What was checked before deserves its points.
"""

LESSON = "01_softmax"
DESERVES = {"softmax": 0, "study_weights": 0, "weighted_sum": 0}
TOLD = ("Python ended while this ran",)
ANSWERS = {"softmax": "import os\nos._exit(0)"}
