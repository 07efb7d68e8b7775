"""Submits an object for three numbers that compares as close to anything.

The value deserves nothing, the functions keep their points.
"""

LESSON = "01_softmax"
DESERVES = {"study_weights": 0}
ANSWERS = {
    "study_weights": """
class Near(np.ndarray):
    def __array_ufunc__(self, ufunc, method, *inputs, **kwargs): return np.zeros(3, bool) | True
    def __array_function__(self, *args): return np.zeros(3)
    __sub__ = __rsub__ = lambda self, other: np.zeros(3)
    __float__ = lambda self: 0.468

study_weights = np.zeros(3).view(Near)
"""
}
