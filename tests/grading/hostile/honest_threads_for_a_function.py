"""Calls the function that it is given from several threads at once.

Nothing in the contract forbids that. The answers are right: it deserves full marks.
"""

LESSON = "04_gradients"
DESERVES = "full"
ANSWERS = {
    "numerical_gradient": """
from concurrent.futures import ThreadPoolExecutor

def numerical_gradient(f, x, eps=1e-6):
    def slope(place):
        step = eps * np.eye(1, x.size, place).reshape(x.shape)
        return (f(x + step) - f(x - step)) / (2 * eps)

    with ThreadPoolExecutor(max_workers=4) as pool:
        return np.array(list(pool.map(slope, range(x.size)))).reshape(x.shape)
"""
}
