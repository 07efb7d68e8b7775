"""Has a parenthesis too few in one answer, and in another typographic quotes and spaces.

Neither can be parsed. The two deserve nothing, the others their points.
"""

LESSON = "01_softmax"
DESERVES = {"normalize_by_sum": 0, "weighted_sum": 0}
TOLD = ("SyntaxError",)
ANSWERS = {
    "normalize_by_sum": """
def normalize_by_sum(scores):
\u00a0\u00a0\u00a0\u00a0“Divide each row by its sum.”
\u00a0\u00a0\u00a0\u00a0return scores / scores.sum(axis=-1,\u200b keepdims=True)
""",
    "weighted_sum": "def weighted_sum(weights, values):\n    return np.matmul(weights, values",
}
