"""Ends its process in the cell of one answer by os._exit, which runs no cleanup.

The answer deserves nothing, the others keep their points.
"""

LESSON = "01_softmax"
DESERVES = {"softmax": 0}
TOLD = ("Python ended while this ran",)
ANSWERS = {"softmax": "import os\nos._exit(0)"}
