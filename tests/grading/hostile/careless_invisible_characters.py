"""Was pasted from a chat: typographic quotes in one answer, blanks that are none in another.

Neither is Python. The two deserve nothing, the others their points.
"""

LESSON = "01_softmax"
DESERVES = {"normalize_by_sum": 0, "weighted_sum": 0}
ANSWERS = {
    "normalize_by_sum": """
def normalize_by_sum(scores):
    “Divide each row by its sum.”
    return scores / scores.sum(axis=-1, keepdims=True)
""",
    "weighted_sum": """
def weighted_sum(weights, values):
\u00a0\u00a0\u00a0\u00a0return weights\u200b @ values
""",
}
