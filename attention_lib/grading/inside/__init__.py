"""All of the grader that a submission's process sees: this folder is the security boundary."""
