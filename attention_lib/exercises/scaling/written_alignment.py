"""`written_alignment` compares 1/√d_k with 1/d_k for queries and keys that point the same way.

Graded by hand; a model answer is in the solutions.
"""

from __future__ import annotations

from attention_lib.checks.exercise import Exercise

EXERCISE = Exercise(
    name="written_alignment",
    points=2,
    minutes=8,
    rubric=(
        (
            0.5,
            r"Own key: about $0.5\,d_k$, so 32 and 2,048. Other keys: about $\pm\sqrt{d_k}$, so 8 and 64.",
        ),
        (
            0.5,
            r"Times $1/\sqrt{d_k}$: own key 4 and 32, others $\pm 1$. Times $1/d_k$: own key 0.5 in both models.",
        ),
        (
            0.5,
            r"At the start $1/\sqrt{d_k}$ treats the two models alike, after training $1/d_k$ does.",
        ),
        (
            0.5,
            "The reason for $1/d_k$ is that 0.5: the score of the own key no longer depends on the width.",
        ),
    ),
)
