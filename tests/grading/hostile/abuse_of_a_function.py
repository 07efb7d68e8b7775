"""Calls the callback that it is given with arguments other than arrays, and far too often.

The callback runs in the grader's process. The answer deserves nothing, the others keep their
points.
"""

LESSON = "04_gradients"
DESERVES = {"numerical_gradient": 0}
ANSWERS = {
    "numerical_gradient": """
class Trap(np.ndarray):
    def __reduce__(self):
        return print, ("@MARK@"[::-1],)

def numerical_gradient(f, x, eps=1e-6):
    odd = [None, "x", {}, [[]], x.view(Trap), f, object(), np.array([f], object), 10**1000, ...]
    odd += [np.zeros(1 << 21), np.full(x.shape, np.nan), np.zeros((0,)), np.zeros(3, "U5"), b"", 1j]
    for argument in odd:
        try:
            f(argument)
        except BaseException:
            pass
    for attribute in ("__globals__", "__closure__", "__code__", "__self__", "__func__", "__dict__"):
        print(attribute, str(getattr(f, attribute, None))[:100])
    for _ in range(200):
        f(x)
    return np.zeros_like(x)
"""
}
