"""Has a parenthesis too few in one answer.

That answer deserves nothing, the others their points.
"""

LESSON = "01_softmax"
DESERVES = {"weighted_sum": 0}
TOLD = ("SyntaxError",)
ANSWERS = {
    "weighted_sum": "def weighted_sum(weights, values):\n    return np.matmul(weights, values"
}
