"""Feedback pages, with scripts removed."""
