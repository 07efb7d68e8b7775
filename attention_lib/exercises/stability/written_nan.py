"""`written_nan` names three causes of a loss that is NaN, and the test that tells each from the others.

Graded by hand; a model answer is in the solutions.
"""

from __future__ import annotations

from attention_lib.checks.exercise import Exercise

EXERCISE = Exercise(name="written_nan", points=2, minutes=8)
