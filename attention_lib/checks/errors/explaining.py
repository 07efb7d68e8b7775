"""Explain an error of an answer in the learner's own names, in the answer's process."""

from __future__ import annotations

import ast

from attention_lib.checks.calls import timeouts
from attention_lib.checks.calls.timeouts import OutOfTime, time_limit
from attention_lib.checks.errors import shapes, types
from attention_lib.checks.errors.line import failing_line, is_kernel

MOST_CHARACTERS = 800


def explanation(error: BaseException) -> tuple[str, str]:
    """Explain an error by the operands in the line that failed; return the text and its topic.

    Both are empty if there is no explanation. Operands are evaluated again, if they consist of
    names, operators and NumPy's or torch's functions.
    """
    try:
        with time_limit(timeouts.CALL_SECONDS):
            line = failing_line(error)
            if line is None or isinstance(line.statement, (ast.Raise, ast.Assert)):
                return "", ""
            if line.function is not None and is_kernel(line.function):
                return "", ""
            for explain in (*types.EXPLAINERS, *shapes.EXPLAINERS):
                if found := explain(error, line):
                    text, topic = (found, "") if isinstance(found, str) else found
                    return text[:MOST_CHARACTERS], topic
    except KeyboardInterrupt:
        raise
    except (Exception, OutOfTime):  # an answer's objects may raise anything
        return "", ""
    return "", ""
