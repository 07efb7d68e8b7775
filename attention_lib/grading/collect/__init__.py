"""Collect what an instructor downloaded: sort it into the students' folders."""
