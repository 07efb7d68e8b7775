"""Collecting: sorts what an instructor downloaded into the folders of students."""
