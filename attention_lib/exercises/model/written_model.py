"""`written_model` says in words which fault three broken models of the page have, and what shows it.

Graded by hand; a model answer is in the solutions.
"""

from __future__ import annotations

from attention_lib.checks.exercise import Exercise

EXERCISE = Exercise(
    name="written_model",
    points=2,
    minutes=8,
    rubric=(
        (
            0.5,
            "First model: no mask. The loss is far below that of the right model, and the text it writes is "
            "bad: it was shown the words that it should guess.",
        ),
        (
            0.5,
            "Second model: nothing is rotated, so order is lost. Words that fit the subject come, in no order; "
            "the loss is higher.",
        ),
        (
            0.5,
            "Third model: every word weighs alike. The same few frequent words come again; the loss is highest.",
        ),
        (
            0.5,
            "One test each that tells the fault from the others: changing a later word, exchanging two earlier "
            "ones, measuring the entropy of rows.",
        ),
    ),
)
