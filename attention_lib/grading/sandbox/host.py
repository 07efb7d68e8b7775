"""The sandbox: bubblewrap around a fork server, and a session in it for each submission.

What a student's process sees is a read-only system, Python, the part of this library that earlier
lessons have built, and its own files in a small folder in memory. It has no network, no rights,
and limits on all that it uses. Everything it says crosses by value (`wire.py`).
"""

from __future__ import annotations

import contextlib
import json
import os
import secrets
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from attention_lib.checks.calls.observation import Unreachable
from attention_lib.grading.inside.wire import (
    INTERRUPT,
    SECRET,
    Channel,
    Malformed,
    Message,
    error_by_value,
)
from attention_lib.grading.sandbox.bubblewrap import (
    bubblewrap_arguments,
    environment_inside,
    shown_places,
)
from attention_lib.grading.sandbox.library import visible_library

MIB = 1 << 20
LIMITS = {
    "memory": 1024 * MIB,  # bytes, beyond what Python and NumPy take
    "seconds": 300,  # of CPU time, the whole notebook
    "processes": 32,  # threads included
    "file": 4 * MIB,  # bytes of one file
    "open": 64,  # files at a time
    "folder": 64 * MIB,  # bytes of all files
}
NOTEBOOK_SECONDS = 600.0  # of wall clock, for all cells and checks together
START_SECONDS = 60.0
GRACE_SECONDS = 2.0  # to end after an interrupt
MOST_ENTRIES = 100_000  # in what a function of the grader's is called with
MODULES = [
    "numpy",
    "matplotlib.pyplot",
    "matplotlib_inline.backend_inline",
    "attention_lib.plots",
    "statistics",
]
NO_BUBBLEWRAP = (
    "Students' code is run inside bubblewrap, which is not installed: install the package "
    "bubblewrap (apt install bubblewrap, dnf install bubblewrap)"
)
NO_LINUX = "Students' code is run inside bubblewrap, which needs Linux: grade there, or in WSL"
OR_WITHOUT = (
    ", or set c.ExecuteSubmission.without_sandbox = True in nbgrader_config.py, which lets it do "
    "whatever you may do."
)


class NoSandbox(Exception):
    """There is no sandbox to be had; the text says what to install."""


class SessionEnded(Unreachable):
    """A student's process is gone; the text is the sentence that says why."""


def require_sandbox() -> str:
    """Return the path of bubblewrap, or raise NoSandbox."""
    if sys.platform != "linux":
        raise NoSandbox(NO_LINUX + OR_WITHOUT)
    path = shutil.which("bwrap")
    if path is None:
        raise NoSandbox(NO_BUBBLEWRAP + OR_WITHOUT)
    return path


class Sandbox:
    """One fork server for the submissions to one lesson; it ends when this process does."""

    def __init__(
        self, lesson: str, modules: Iterable[str] = (), limits: Mapping[str, int] = LIMITS
    ) -> None:
        """Start the server; it imports the modules before the first submission does."""
        bubblewrap = require_sandbox()
        self._control, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_STREAM)
        keep = [str(place) for place in shown_places() if Path("/tmp") in place.parents]
        settings = json.dumps({"limits": {**limits, "keep": keep}, "modules": [*MODULES, *modules]})
        with contextlib.ExitStack() as stack, theirs, tempfile.TemporaryFile() as problems:
            files = _files_in_memory(visible_library(lesson), stack)
            python = [sys.executable, "-P", "-m", "attention_lib.grading.inside"]
            self._process = subprocess.Popen(
                [bubblewrap, *bubblewrap_arguments(files), *python, str(theirs.fileno()), settings],
                pass_fds=[theirs.fileno(), *files.values()],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=problems,
            )
            theirs.close()
            self._control.settimeout(START_SECONDS)
            try:
                ready = self._control.recv(16)
            except TimeoutError:
                ready = b""
            if ready != b"ready":
                self.close()
                problems.seek(0)
                said = problems.read().decode(errors="replace").strip().splitlines()
                why = f" It says: {said[-1]}" if said else ""
                raise NoSandbox(f"The sandbox for students' code could not be started.{why}")

    @property
    def alive(self) -> bool:
        return self._process.poll() is None

    def open(self, files: Mapping[str, bytes]) -> Session:
        """Begin a submission: a new process, with the student's files in its folder."""
        ours, theirs = socket.socketpair()
        leash, their_end = socket.socketpair()
        with theirs, their_end:
            try:
                socket.send_fds(self._control, [b"+"], [theirs.fileno(), their_end.fileno()])
            except OSError:
                raise NoSandbox("The sandbox for students' code has ended.") from None
        return Session(Channel(ours), leash, files)

    def close(self) -> None:
        """End the server, and with it all that runs in it."""
        self._control.close()
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(GRACE_SECONDS)
            return
        self._process.kill()
        self._process.wait()


class Session:
    """The conversation with one student's process."""

    def __init__(self, channel: Channel, leash: Any, files: Mapping[str, bytes]) -> None:
        self._channel = channel
        self._leash = leash
        self._until = time.monotonic() + NOTEBOOK_SECONDS
        self.ended = ""  # why, once it has
        arrays = {name: np.frombuffer(content, np.uint8) for name, content in files.items()}
        with contextlib.suppress(SessionEnded):  # the first cell will say so
            self.ask({"do": "begin", "files": arrays}, START_SECONDS)

    def ask(self, request: Message, seconds: float) -> Message:
        """Have something done over there, and return the reply.

        A reply that has not come in time is waited for a little longer after an interrupt; then
        the process is ended.

        Raises
        ------
        SessionEnded
            If there is no process any more, or none that can be talked to.
        """
        if self.ended:
            raise SessionEnded(self.ended)
        kept: list[Any] = []
        left = self._until - time.monotonic()
        if left <= 0:
            self.end("The notebook took too long altogether.")
        try:
            self._channel.send(request, min(seconds, left), kept)
            try:
                return self._reply(kept, min(seconds, left))
            except TimeoutError:
                self._leash.send(INTERRUPT)
                return {**self._reply(kept, GRACE_SECONDS), "interrupted": True}
        except TimeoutError:
            self.end("This did not end in time, and could not be interrupted.")
        except Malformed as problem:
            self.end(f"What came back from Python was no answer ({problem}).")
        except OSError:  # Closed among them
            self.end("Python ended while this ran, by itself or for the memory it took.")

    def _reply(self, kept: list[Any], seconds: float) -> Message:
        """Wait for the reply; answer meanwhile what the functions of the grader are asked."""
        until = time.monotonic() + seconds
        while True:
            reply = self._channel.receive(max(0.0, until - time.monotonic()))
            if "ask" not in reply:
                return reply
            answer = _asked(kept, reply)
            self._channel.send(answer, max(0.1, until - time.monotonic()))

    def end(self, why: str) -> Any:
        """End the process and raise SessionEnded."""
        self.ended = why
        self.close()
        raise SessionEnded(why)

    def close(self) -> None:
        """Let go of the process: its supervisor ends it, and all that it has started."""
        self._leash.close()
        self._channel.close()


def _asked(kept: list[Any], question: Message) -> Message:
    """Let a function or an iterator of the grader's do what the other side asks of it."""
    try:
        one = kept[question["ask"]]
        if question["what"] == "next":
            return {"value": list(_next_item(one))}
        arguments = question["args"]
        if not all(map(_is_small, arguments)):
            raise TypeError(f"it takes an array of at most {MOST_ENTRIES:,} numbers")
        with np.errstate(all="ignore"):
            return {"value": one(*arguments)}
    except Exception as error:
        return {"error": error_by_value(error)}


def _is_small(argument: Any) -> bool:
    """Tell numbers that are soon calculated with, which Python's own of any length are not."""
    numbers = np.asarray(argument)
    return numbers.dtype.kind in "biufc" and numbers.size <= MOST_ENTRIES


def _next_item(iterator: Iterator[Any]) -> Iterator[Any]:
    for item in iterator:
        yield item
        return


def _files_in_memory(contents: Mapping[str, bytes], stack: contextlib.ExitStack) -> dict[str, int]:
    """Put each content into a file that has no name, for bubblewrap to read from."""
    files = {}
    for name, content in contents.items():
        number = os.memfd_create(Path(name).name)
        stack.callback(os.close, number)
        os.write(number, content)
        os.lseek(number, 0, os.SEEK_SET)
        files[name] = number
    return files


@dataclass
class Unprotected:
    """In place of a sandbox: a plain process for each submission, which may do what you may."""

    lesson: str

    @property
    def alive(self) -> bool:
        return True

    def open(self, files: Mapping[str, bytes]) -> Session:
        """Begin a submission: a new process, with the student's files in a folder of its own."""
        folder = tempfile.TemporaryDirectory(ignore_cleanup_errors=True)
        library, work = Path(folder.name) / "library", Path(folder.name) / "work"
        for name, content in visible_library(self.lesson).items():
            place = library / "attention_lib" / name
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_bytes(content)
        work.mkdir()
        secret = secrets.token_hex(16)
        environment = {**os.environ, **environment_inside(str(library)), SECRET: secret}
        for name in ("HOME", "PATH"):
            environment[name] = os.environ.get(name, "")
        with socket.create_server(("127.0.0.1", 0)) as server:
            port = str(server.getsockname()[1])
            process = subprocess.Popen(
                [sys.executable, "-P", "-m", "attention_lib.grading.inside", port, "{}"],
                cwd=work,
                env=environment,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
            )
            leash = _Process(process, folder)
            server.settimeout(START_SECONDS)
            while True:
                connection, _ = server.accept()
                connection.settimeout(START_SECONDS)
                if connection.recv(64).decode(errors="replace") == secret:
                    return Session(Channel(connection), leash, files)
                connection.close()

    def close(self) -> None:
        """Nothing is left running."""


@dataclass
class _Process:
    """A plain process on a leash like that of the sandbox's supervisor."""

    process: subprocess.Popen[bytes]
    folder: tempfile.TemporaryDirectory[str]

    def send(self, _: bytes) -> None:
        if sys.platform != "win32":
            self.process.send_signal(signal.SIGINT)

    def close(self) -> None:
        self.process.kill()
        self.process.wait()
        self.folder.cleanup()
