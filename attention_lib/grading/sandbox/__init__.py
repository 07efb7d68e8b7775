"""Start the sandbox, and talk to it from the grader."""
