"""`written_softmax` says in words what softmax adds over dividing by the sum.

Graded by hand; a model answer is in the solutions.
"""

from __future__ import annotations

from attention_lib.checks.exercise import Exercise

EXERCISE = Exercise(
    name="written_softmax",
    points=2,
    minutes=8,
    rubric=(
        (
            0.5,
            "A row of numbers on which dividing by the sum fails: a negative or zero score, or a sum of 0.",
        ),
        (0.5, "The exponential makes every weight positive, and the sum is never 0."),
        (
            0.5,
            "The ratio of two weights is $e^{s_i - s_j}$: it depends on the difference of the scores alone.",
        ),
        (
            0.5,
            "A consequence: a constant added to all scores changes nothing, or a factor makes the weights sharper.",
        ),
    ),
)
