"""The exercises of lesson 04: what learning sees."""

from attention_lib.exercises.gradients.attention_backward import EXERCISE as ATTENTION_BACKWARD
from attention_lib.exercises.gradients.cross_entropy_grad import EXERCISE as CROSS_ENTROPY_GRAD
from attention_lib.exercises.gradients.numerical_gradient import EXERCISE as NUMERICAL_GRADIENT
from attention_lib.exercises.gradients.softmax_jacobian import EXERCISE as SOFTMAX_JACOBIAN
from attention_lib.exercises.gradients.softmax_vjp import EXERCISE as SOFTMAX_VJP
from attention_lib.exercises.gradients.written_saturation import EXERCISE as WRITTEN_SATURATION

EXERCISES = (
    SOFTMAX_JACOBIAN,
    NUMERICAL_GRADIENT,
    SOFTMAX_VJP,
    CROSS_ENTROPY_GRAD,
    ATTENTION_BACKWARD,
    WRITTEN_SATURATION,
)
