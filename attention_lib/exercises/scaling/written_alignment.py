"""`written_alignment` compares 1/√d_k with 1/d_k for queries and keys that point the same way.

Graded by hand; a model answer is in the solutions.
"""

from __future__ import annotations

from attention_lib.checks.exercise import Exercise

EXERCISE = Exercise(name="written_alignment", points=2, minutes=10)
