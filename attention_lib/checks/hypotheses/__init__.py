"""Predict what an answer with a fault would return, and find predictions that fit the wrong results."""
