"""Checking an answer: cases, calls, comparing, recognizing, the verdict and its panel."""
