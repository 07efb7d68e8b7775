"""Serve the grader's requests in the student's process: run cells, call answers.

The grader trusts nothing that this process sends. A student's code may change this process in any
way, but all it can send is values.
"""

from __future__ import annotations

import contextlib
import json
import signal
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from attention_lib.checks.calls import measuring, staging  # noqa: F401  # they fill FUNCTIONS
from attention_lib.checks.calls.calling import observe
from attention_lib.checks.calls.case import Case, Observation
from attention_lib.checks.calls.remote import FUNCTIONS
from attention_lib.checks.errors.explaining import explanation
from attention_lib.grading import limits
from attention_lib.grading.inside.shell import Shell, run_cell
from attention_lib.grading.inside.wire import (
    Channel,
    Closed,
    Malformed,
    Message,
    error_again,
    error_by_value,
    pack,
)


def converse(channel: Channel, shell: Shell) -> None:
    """Report that this process is ready, then serve requests until the grader closes the connection."""
    student = Student(channel, shell)
    signal.signal(signal.SIGINT, student.interrupt)
    channel.send({"ready": True}, None)
    while True:
        try:
            request = channel.receive(None, student.call_back)
        except (Closed, Malformed):
            return
        if "do" not in request:  # a late reply to a callback that was interrupted
            continue
        try:
            student.working = True
            reply = student.do(request)
        except KeyboardInterrupt:
            reply = {"interrupted": True}
        finally:
            student.working = False
        try:
            channel.send(reply, None)
        except Malformed as problem:
            channel.send({"unsendable": str(problem)}, None)


class Student:
    """One submission's shell, and the requests that it serves."""

    def __init__(self, channel: Channel, shell: Shell) -> None:
        self.working = False
        self._channel = channel
        self._shell = shell
        self._callback_lock = threading.Lock()

    def interrupt(self, *_: Any) -> None:
        """Handle SIGINT: interrupt the current request, if there is one."""
        if self.working:
            raise KeyboardInterrupt

    def do(self, request: Message) -> Message:
        """Serve one request and return the reply."""
        match request["do"]:
            case "begin":
                return self._write_files(request["files"])
            case "run":
                outputs = run_cell(self._shell, request["source"])
                text = json.dumps(outputs, ensure_ascii=False).encode("utf-8", "replace")
                count = self._shell.execution_count - 1
                return {"outputs": np.frombuffer(text, np.uint8), "count": count}
            case "look":
                return self._kind_of_name(request["name"])
            case "observe":
                case = Case(*request["args"], **request["kwargs"])
                answer, forbidden = self._answer(request), request["forbidden"]
                return as_message(observe(answer, case, forbidden, request["limit"]))
            case "measure":
                return self._measure(request)
        return {}

    def _write_files(self, files: dict[str, np.ndarray]) -> Message:
        """Write the files that the student handed in with the notebook."""
        for name, content in files.items():
            path = Path(name)
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content.tobytes())
        return {}

    def _kind_of_name(self, name: str) -> Message:
        """Return what kind of thing a name is bound to: nothing, a function, or a value."""
        if name not in self._shell.user_ns:
            return {"kind": "nothing"}
        value = self._shell.user_ns[name]
        if callable(value):
            return {"kind": "function"}
        return {"kind": "value", **packed(None if value is Ellipsis else value)}

    def _answer(self, request: Message) -> Any:
        answer = self._shell.user_ns.get(request["name"])
        wrapper = request["staged"]
        return FUNCTIONS[wrapper](answer) if wrapper else answer

    def _measure(self, request: Message) -> Message:
        measure = FUNCTIONS[request["what"]]
        answer, args, kwargs = self._answer(request), request["args"], request["kwargs"]
        measured = observe(lambda: measure(answer, *args, **kwargs), Case(), (), request["limit"])
        return as_message(measured)

    def call_back(self, number: int, what: str, arguments: tuple[Any, ...]) -> Any:
        """Have the grader call one of its functions, or advance one of its iterators."""
        with self._callback_lock, _signals_blocked():  # an answer may have several threads
            self._channel.send({"ask": number, "what": what, "args": arguments}, None)
            reply = self._channel.receive(None)
        if "error" in reply:
            raise error_again(reply["error"])
        return reply["value"]


@contextlib.contextmanager
def _signals_blocked() -> Iterator[None]:
    """Delay time limits and interrupts: half a message would make all later ones unreadable."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGALRM, signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def as_message(seen: Observation) -> Message:
    """Serialize what a call did."""
    frames, most = seen.frames[-8:], 500
    warnings = seen.warnings[:5]
    return {
        **packed(seen.value),
        "error": None if seen.error is None else error_by_value(seen.error),
        "frames": [
            [frame.lineno, frame.name[:most], (frame.line or "")[:most]] for frame in frames
        ],
        "explanation": explanation(seen.error)[0] if seen.error is not None else seen.explanation,
        "out_of_time": seen.out_of_time,
        "waited": seen.waited,
        "refused_call": seen.refused_call,
        "warnings": [text[:500] for text in warnings],
        "printed": seen.printed[:2000],
        "changed": seen.changed,
        "read_again": seen.read_again,
        "forbidden": seen.forbidden,
    }


def packed(value: Any) -> Message:
    """Serialize a result separately, so that one that is too large does not affect the others."""
    problem = ""
    try:
        data = pack({"value": value}, most_bytes=limits.RESULT_BYTES)
    except Exception as error:
        data = pack({"value": None})
        problem = f"{type(error).__name__}: {error}"[: limits.ERROR_CHARACTERS]
    return {"value": np.frombuffer(data, np.uint8), "unsendable": problem}
