"""Wraps the function that it is given in functions of its own before it calls it.

Here the argument of an answer is a function of the grader's. The answers are right: it deserves full
marks.
"""

LESSON = "04_gradients"
DESERVES = "full"
ANSWERS = {
    "numerical_gradient": """
import functools

def numerical_gradient(f, x, eps=1e-6):
    along = lambda direction: lambda t: float(f(x + t * direction))
    slope = lambda g: (g(eps) - g(-eps)) / (2 * eps)
    unit = lambda place: np.eye(1, x.size, place).reshape(x.shape)
    slopes = [slope(along(unit(place))) for place in range(x.size)]
    return np.array(slopes, dtype=x.dtype).reshape(x.shape)
"""
}
