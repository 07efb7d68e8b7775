"""The student's side of the conversation with the grader: cells are run and answers called.

Nothing here is believed by the grader: whatever a student does to this process, it can only send
values.
"""

from __future__ import annotations

import json
import signal
import threading
from pathlib import Path
from typing import Any

import numpy as np

from attention_lib.checks.calls import measuring, staging  # noqa: F401  # they fill FUNCTIONS
from attention_lib.checks.calls.calling import observe, observe_all
from attention_lib.checks.calls.case import Case
from attention_lib.checks.calls.observation import Observation
from attention_lib.checks.calls.remote import FUNCTIONS
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

MOST_RESULT = 2 << 20  # bytes of what one call returns
MOST_PRINTED = 2000  # characters of what an answer prints


def converse(channel: Channel, shell: Shell) -> None:
    """Do what the grader asks, one thing after the other, until it hangs up."""
    student = Student(channel, shell)
    signal.signal(signal.SIGINT, student.interrupt)
    while True:
        try:
            request = channel.receive(None, student.ask)
        except (Closed, Malformed):
            return
        if "do" not in request:  # a reply to a question that an interrupt has ended
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
    """What is done here with one submission."""

    def __init__(self, channel: Channel, shell: Shell) -> None:
        self.working = False
        self._channel = channel
        self._shell = shell
        self._one_question = threading.Lock()

    def interrupt(self, *_: Any) -> None:
        """Let an interrupt end what runs, if anything runs."""
        if self.working:
            raise KeyboardInterrupt

    def do(self, request: Message) -> Message:
        """Do one thing that the grader asks for."""
        match request["do"]:
            case "begin":
                return self._begin(request["files"])
            case "run":
                outputs = run_cell(self._shell, request["source"])
                text = json.dumps(outputs, ensure_ascii=False).encode("utf-8", "replace")
                count = self._shell.execution_count - 1
                return {"outputs": np.frombuffer(text, np.uint8), "count": count}
            case "look":
                return self._look(request["name"])
            case "observe":
                answer = self._answer(request)
                cases = (Case(*args, **kwargs) for args, kwargs in request["calls"])
                seen = observe_all(answer, cases, request["forbidden"], request["limit"])
                return {"observations": list(map(by_value, seen))}
            case "measure":
                return self._measure(request)
        return {}

    def _begin(self, files: dict[str, np.ndarray]) -> Message:
        for name, content in files.items():
            place = Path(name)
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_bytes(content.tobytes())
        return {}

    def _look(self, name: str) -> Message:
        """Tell what stands behind a name: nothing, a function, or a value."""
        if name not in self._shell.user_ns:
            return {"kind": "nothing"}
        value = self._shell.user_ns[name]
        if value is Ellipsis:
            return {"kind": "value", "value": None}
        return {"kind": "function"} if callable(value) else {"kind": "value", "value": value}

    def _answer(self, request: Message) -> Any:
        answer = self._shell.user_ns.get(request["name"])
        how = request["staged"]
        return FUNCTIONS[how](answer) if how else answer

    def _measure(self, request: Message) -> Message:
        meter = FUNCTIONS[request["what"]]
        answer, args, kwargs = self._answer(request), request["args"], request["kwargs"]
        measured = observe(lambda: meter(answer, *args, **kwargs), Case(), (), request["limit"])
        return by_value(measured)

    def ask(self, number: int, what: str, arguments: tuple[Any, ...]) -> Any:
        """Have a function or iterator of the grader's do its work there."""
        with self._one_question:  # an answer may ask from several threads
            self._channel.send({"ask": number, "what": what, "args": arguments}, None)
            reply = self._channel.receive(None)
        if "error" in reply:
            raise error_again(reply["error"])
        return reply["value"]


def by_value(seen: Observation) -> Message:
    """Describe what a call did in a form that can be sent, whatever the call has made."""
    try:
        value, problem = packed(seen.value), ""
    except Exception as error:
        value, problem = packed(None), f"{type(error).__name__}: {error}"[:300]
    return {
        "value": value,
        "unsendable": problem,
        "error": None if seen.error is None else error_by_value(seen.error),
        "frames": [[frame.lineno, frame.name, frame.line or ""] for frame in seen.frames[-8:]],
        "out_of_time": seen.out_of_time,
        "refused_call": seen.refused_call,
        "warnings": [text[:500] for text in seen.warnings[:5]],
        "printed": seen.printed[:MOST_PRINTED],
        "changed": seen.changed,
        "read_again": seen.read_again,
        "forbidden": seen.forbidden,
    }


def packed(value: Any) -> np.ndarray:
    """Pack a result by itself, as bytes: one that is too large does not keep others back."""
    return np.frombuffer(pack({"value": value}, most=MOST_RESULT), np.uint8)
