"""Uses names in its answers that only the lesson's own cells bind.

They are there in the notebook, so they are there when it is graded. It deserves full marks.
"""

LESSON = "04_gradients"
DESERVES = "full"
ANSWERS = {
    "softmax_vjp": """
@MODEL@

for_arrays = softmax_vjp

def softmax_vjp(weights, grad_weights):
    assert words == ["please", "study", "man"]
    assert measured.shape == (3, 3)
    return for_arrays(weights, grad_weights)
""",
    "cross_entropy_grad": """
@MODEL@

assert np.allclose(lib.softmax(scores), weights)
""",
}
