"""Run submissions without a sandbox: plain processes, with all rights of the grader."""

from __future__ import annotations

import math
import os
import signal
import socket
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from attention_lib.grading.inside.usage import TICKS_PER_SECOND, Process
from attention_lib.grading.inside.wire import Channel
from attention_lib.grading.sandbox.bubblewrap import environment_inside
from attention_lib.grading.sandbox.library import visible_library
from attention_lib.grading.sandbox.session import Session


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
        environment = {**os.environ, **environment_inside(str(library))}
        for name in ("HOME", "PATH"):
            environment[name] = os.environ.get(name, "")
        channel, student_end = socket.socketpair()
        with student_end:
            number = student_end.fileno()
            process = subprocess.Popen(
                [
                    sys.executable,
                    "-P",
                    "-m",
                    "attention_lib.grading.inside",
                    "converse",
                    str(number),
                ],
                pass_fds=[number],
                cwd=work,
                env=environment,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
            )
        return Session(Channel(channel), _PlainProcess(process, folder), files, deadline)

    def close(self) -> None:
        """Do nothing: a process ends with its session."""


@dataclass
class _PlainProcess:
    """A plain process that can be interrupted and ended, with the interface of `Supervisor`."""

    process: subprocess.Popen[bytes]
    folder: tempfile.TemporaryDirectory[str]

    def interrupt(self) -> None:
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
