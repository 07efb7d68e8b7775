"""`written_saturation` says in words which gradients vanish when softmax saturates, and why.

Graded by hand; a model answer is in the solutions.
"""

from __future__ import annotations

from attention_lib.checks.exercise import Exercise

EXERCISE = Exercise(
    name="written_saturation",
    points=2,
    minutes=6,
    rubric=(
        (
            0.5,
            r"Off the diagonal $-p_i\,p_k$ vanishes, since at least one of the two weights is close to 0.",
        ),
        (
            0.5,
            r"On the diagonal $p_k\,(1 - p_k)$ vanishes for the largest weight too: the friend is wrong.",
        ),
        (
            0.5,
            "Large scores with gradients that are not small: two leaders that are equal, or nearly so.",
        ),
        (
            0.5,
            r"Cross-entropy: its own gradient $-1/p_t$ undoes the small derivative: $p_k - \delta_{kt}$ is left.",
        ),
    ),
)
