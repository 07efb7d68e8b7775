"""The exercises of lesson 04: what learning sees."""

EXERCISES = (
    "softmax_jacobian",
    "numerical_gradient",
    "softmax_vjp",
    "normalize_vjp",
    "cross_entropy_grad",
    "attention_backward",
    "written_saturation",
)
