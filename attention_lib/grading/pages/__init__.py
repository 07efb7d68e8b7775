"""Pages: feedback for students, with scripts removed."""
