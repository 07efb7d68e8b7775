"""Run submissions without a sandbox: plain processes, with all rights of the grader."""

from __future__ import annotations

import math
import os
import secrets
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from attention_lib.grading import limits
from attention_lib.grading.inside.usage import TICKS_PER_SECOND, Process
from attention_lib.grading.inside.wire import CONNECTION_TOKEN, Channel
from attention_lib.grading.sandbox.bubblewrap import environment_inside
from attention_lib.grading.sandbox.errors import NoSandbox
from attention_lib.grading.sandbox.library import visible_library
from attention_lib.grading.sandbox.session import Session

POLL_SECONDS = 0.2  # between two looks at whether a process that should connect has ended


@dataclass
class Unprotected:
    """Replacement for a sandbox: a plain process for each submission to a lesson."""

    lesson: str

    @property
    def alive(self) -> bool:
        """Return True: there is no server that could end."""
        return True

    def open(self, files: Mapping[str, bytes], deadline: float = math.inf) -> Session:
        """Start a submission: a new process, with the student's files in a folder of its own."""
        folder = tempfile.TemporaryDirectory(ignore_cleanup_errors=True)
        library, work = Path(folder.name) / "library", Path(folder.name) / "work"
        for name, content in visible_library(self.lesson).items():
            path = library / "attention_lib" / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content)
        work.mkdir()
        token = secrets.token_hex(16)
        environment = {**os.environ, **environment_inside(str(library)), CONNECTION_TOKEN: token}
        for name in ("HOME", "PATH"):
            environment[name] = os.environ.get(name, "")
        with socket.create_server(("127.0.0.1", 0)) as server:
            port = str(server.getsockname()[1])
            process = subprocess.Popen(
                [sys.executable, "-P", "-m", "attention_lib.grading.inside", "connect", port],
                cwd=work,
                env=environment,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
            )
            supervisor = _PlainProcess(process, folder)
            try:
                connection = _accept(server, token, process)
            except NoSandbox:
                supervisor.close()
                raise
            return Session(Channel(connection), supervisor, files, deadline)

    def close(self) -> None:
        """Do nothing: a process ends with its session."""


def _accept(server: socket.socket, token: str, process: subprocess.Popen[bytes]) -> socket.socket:
    """Accept the connection of the process, which authenticates itself by a token."""
    server.settimeout(POLL_SECONDS)
    deadline = time.monotonic() + limits.SANDBOX_START_SECONDS
    while time.monotonic() < deadline and process.poll() is None:
        try:
            connection, _ = server.accept()
        except TimeoutError:
            continue
        connection.settimeout(limits.SANDBOX_START_SECONDS)
        if connection.recv(64).decode(errors="replace") == token:
            return connection
        connection.close()
    raise NoSandbox("The process for a submission could not be started: it did not connect.")


@dataclass
class _PlainProcess:
    """A plain process that can be interrupted and ended, with the interface of `Supervisor`."""

    process: subprocess.Popen[bytes]
    folder: tempfile.TemporaryDirectory[str]

    def interrupt(self) -> None:
        """Interrupt the process, if the system can."""
        if sys.platform != "win32":
            self.process.send_signal(signal.SIGINT)

    def cpu_seconds(self) -> float:
        """Return the process's CPU time, or 0 if there is no /proc."""
        try:
            return Process.read(self.process.pid).ticks / TICKS_PER_SECOND
        except OSError:
            return 0.0

    def close(self) -> None:
        """End the process and remove its folder."""
        self.process.kill()
        self.process.wait()
        self.folder.cleanup()
