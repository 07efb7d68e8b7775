"""Submits callable objects: lambdas, instances, methods, partial functions, vectorized ones.

The answers are right: it deserves full marks.
"""

LESSON = "01_softmax"
DESERVES = "full"
ANSWERS = {
    "normalize_by_sum": """
normalize_by_sum = np.vectorize(lambda row: row / row.sum(), signature="(n)->(n)")
""",
    "softmax": """
import dataclasses

@dataclasses.dataclass
class Softmax:
    base: float

    def __call__(self, scores, axis=-1):
        powers = self.base ** scores
        return powers / powers.sum(axis=axis, keepdims=True)

softmax = Softmax(np.e)
""",
    "study_weights": "study_weights = [float(w) for w in softmax(np.array([2.0, 4.0, 4.0]))]",
    "weighted_sum": """
import functools

class Mixer:
    @staticmethod
    def mix(function, weights, values):
        return function(weights, values)

    def bound(self, weights, values):
        return self.mix(np.matmul, weights, values)

weighted_sum = functools.partial(Mixer().bound)
""",
}
