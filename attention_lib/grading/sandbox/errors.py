"""Define the errors of the sandbox."""

from __future__ import annotations

from attention_lib.checks.calls.case import Unreachable


class NoSandbox(Exception):
    """No submission can be run in a sandbox; the text says why, and what would help."""


class SessionEnded(Unreachable):
    """A student's process has ended; the text is the sentence that says why."""
