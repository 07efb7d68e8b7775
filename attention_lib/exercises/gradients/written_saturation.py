"""`written_saturation` says in words which gradients vanish when softmax saturates, and why.

Graded by hand; a model answer is in the solutions.
"""

from __future__ import annotations

from attention_lib.checks.exercise import Exercise

EXERCISE = Exercise(name="written_saturation", points=2, minutes=8)
