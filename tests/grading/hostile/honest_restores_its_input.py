"""Changes its input while it works and puts it back as it was.

The contract allows that. It deserves full marks.
"""

LESSON = "04_gradients"
DESERVES = "full"
ANSWERS = {
    "numerical_gradient": """
def numerical_gradient(f, x, eps=1e-6):
    gradient = np.empty_like(x)
    for place in range(x.size):
        kept = x.flat[place]
        x.flat[place] = kept + eps
        above = f(x)
        x.flat[place] = kept - eps
        below = f(x)
        x.flat[place] = kept
        gradient.flat[place] = (above - below) / (2 * eps)
    return gradient
"""
}
