"""`written_heads` says in words why one layer cannot do it, and what each of the two heads does.

Graded by hand; a model answer is in the solutions.
"""

from __future__ import annotations

from attention_lib.checks.exercise import Exercise

EXERCISE = Exercise(
    name="written_heads",
    points=2,
    minutes=8,
    rubric=(
        (
            0.5,
            "One layer sees each word and its own place only: no key says which word stood before.",
        ),
        (
            0.5,
            "Layer 1: query and key match a place with the one before it, and the word there is copied along.",
        ),
        (
            0.5,
            "Layer 2: the query is the word itself, the key the word before it; the word there is copied.",
        ),
        (
            0.5,
            "The keys of the second head are made of what the first wrote, which heads of one layer cannot read.",
        ),
    ),
)
