"""`written_softmax` says in words what softmax adds over dividing by the sum.

Graded by hand; a model answer is in the solutions.
"""

from __future__ import annotations

from attention_lib.checks.exercise import Exercise

EXERCISE = Exercise(name="written_softmax", points=2, minutes=10)
