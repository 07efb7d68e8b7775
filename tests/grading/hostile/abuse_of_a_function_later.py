"""Keeps the callback that it was given, and calls it later, from another answer.

The first answer is wrong; the second works with whatever the callback returns. The first deserves
nothing, the others keep their points.
"""

LESSON = "04_gradients"
DESERVES = {"numerical_gradient": 0}
ANSWERS = {
    "numerical_gradient": """
kept = []

def numerical_gradient(f, x, eps=1e-6):
    kept.append((f, x))
    return kept[0][0](kept[0][1])
""",
    "softmax_vjp": """
def softmax_vjp(weights, grad_weights):
    for function, argument in kept[:3]:
        try:
            function(argument)
        except Exception:
            pass
    return weights * (grad_weights - np.sum(weights * grad_weights, axis=-1, keepdims=True))
""",
}
