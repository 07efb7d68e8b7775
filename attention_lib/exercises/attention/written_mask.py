"""`written_mask` says in words which mask is wrong in each of two broken models, and which test tells.

Graded by hand; a model answer is in the solutions.
"""

from __future__ import annotations

from attention_lib.checks.exercise import Exercise

EXERCISE = Exercise(
    name="written_mask",
    points=2,
    minutes=8,
    rubric=(
        (
            0.5,
            "A loss far too low: the causal mask is missing or one step off; a row sees the word it has to guess.",
        ),
        (
            0.5,
            "Its test: change a later word; no output at earlier places may change.",
        ),
        (
            0.5,
            "Other answers with padding: the padding mask is missing or too long; padding takes weight.",
        ),
        (
            0.5,
            "Its test: pad one sentence more, or put other numbers there; outputs on real words stay the same.",
        ),
    ),
)
