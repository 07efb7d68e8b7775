"""Predict what an answer with a fault would return, and find which predictions fit the wrong results."""
