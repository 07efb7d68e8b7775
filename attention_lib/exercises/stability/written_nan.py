"""`written_nan` names three causes of a loss that is NaN, and the test that tells each from the others.

Graded by hand; a model answer is in the solutions.
"""

from __future__ import annotations

from attention_lib.checks.exercise import Exercise

EXERCISE = Exercise(
    name="written_nan",
    points=2,
    minutes=8,
    rubric=(
        (
            0.5,
            "Scores that are broken before softmax, and a test such as `np.isfinite(scores).all()`.",
        ),
        (
            0.5,
            "Finite scores whose exponentials overflow without the shift, and a test that shows it.",
        ),
        (
            0.5,
            "A third cause with its test: a row with nothing allowed, or the logarithm of a weight that is 0.",
        ),
        (0.5, "Each test comes out otherwise for the other two causes, and the answer says how."),
    ),
)
