"""Explain an error by the line that raised it, in the process of the answer."""
