"""The sandbox as the grader starts it and talks to it."""
