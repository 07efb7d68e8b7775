"""Raises `SystemExit` and `KeyboardInterrupt` from inside its answers.

Both would end a program that does not expect them. The two deserve nothing, the others keep their
points.
"""

LESSON = "01_softmax"
DESERVES = {"normalize_by_sum": 0, "weighted_sum": 0}
ANSWERS = {
    "normalize_by_sum": "def normalize_by_sum(scores): raise SystemExit(0)",
    "weighted_sum": "def weighted_sum(weights, values): raise KeyboardInterrupt",
}
