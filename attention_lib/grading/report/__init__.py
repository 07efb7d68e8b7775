"""Report what a class did in a lesson: who is stuck on what, as text, as a page and as CSV."""
