"""All of the grader that a submission's process can see: this folder is the security boundary.

Its modules import each other, `checks.calls`, and the limits, but never the rest of the grader, the
exercises or the references. `sandbox/library.py` shows the whole folder to submissions.
"""
