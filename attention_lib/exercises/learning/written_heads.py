"""`written_heads` says in words why one layer cannot do it, and what each of the two heads does.

Graded by hand; a model answer is in the solutions.
"""

from __future__ import annotations

from attention_lib.checks.exercise import Exercise

EXERCISE = Exercise(name="written_heads", points=2, minutes=8)
