"""Start the sandbox: bubblewrap around a fork server, which runs one process per submission.

A student's process sees a read-only system, Python, the modules of earlier lessons, and its own
files in a small folder in memory. It has no network, no capabilities, and limits on every resource.
Everything it sends is serialized by `inside/wire.py`.
"""

from __future__ import annotations

import contextlib
import json
import math
import os
import shutil
import socket
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Mapping
from pathlib import Path

from attention_lib.grading import limits
from attention_lib.grading.inside.settings import Settings
from attention_lib.grading.inside.wire import CPU_SECONDS, INTERRUPT, SECONDS, Channel, Closed
from attention_lib.grading.sandbox import seccomp
from attention_lib.grading.sandbox.bubblewrap import (
    bubblewrap_arguments,
    hidden_paths,
    python_folders_in_tmp,
    python_links_in_tmp,
)
from attention_lib.grading.sandbox.errors import NoSandbox
from attention_lib.grading.sandbox.library import visible_library
from attention_lib.grading.sandbox.session import Session

IMPORTED_MODULES = [  # by the fork server, in addition to a lesson's imports
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
NOT_ALLOWED = (  # after bubblewrap's own message
    " What a container, or a system that refuses user namespaces, has to allow stands in "
    "docs/teaching.md, under Containers."
)
NO_FILTER = (
    "Students' code is run without a system-call filter, since libseccomp is not installed (on Debian: "
    "apt-get install libseccomp2): it may use kernel keyrings, and memory that no limit counts. The rest "
    "of the sandbox is in force."
)


def require_sandbox() -> str:
    """Return the path of bubblewrap; raise NoSandbox if it is missing or cannot hide the course."""
    if sys.platform != "linux":
        raise NoSandbox(NO_LINUX + OR_WITHOUT)
    path = shutil.which("bwrap")
    if path is None:
        raise NoSandbox(NO_BUBBLEWRAP + OR_WITHOUT)
    hidden_paths()
    return path


def missing_protection() -> str:
    """Return a warning if the sandbox lacks its seccomp filter, or ""."""
    return NO_FILTER if seccomp.is_missing() else ""


class Sandbox:
    """The fork server for submissions to one lesson; it ends when this process does."""

    def __init__(
        self, lesson: str, modules: Iterable[str] = (), private: Iterable[str] = ()
    ) -> None:
        """Start the server, which imports the modules before the first submission.

        `private` are further paths that must not be visible.

        Raises
        ------
        NoSandbox
            If it does not start, or a path that must be hidden is visible.
        """
        bubblewrap = require_sandbox()
        hidden = hidden_paths(private)
        settings = json.dumps(vars(_settings([*IMPORTED_MODULES, *modules], hidden)))
        self._control, server_end = socket.socketpair(socket.AF_UNIX, socket.SOCK_STREAM)
        self._stderr = tempfile.TemporaryFile()  # noqa: SIM115 - closed with the server
        with contextlib.ExitStack() as stack, server_end:
            files = _files_in_memory(visible_library(lesson), stack)
            # With -P, Python does not search the working folder for modules.
            python = [sys.executable, "-P", "-m", "attention_lib.grading.inside"]
            serve = ["serve", str(server_end.fileno()), settings]
            self._process = subprocess.Popen(
                [bubblewrap, *bubblewrap_arguments(files, hidden), *python, *serve],
                pass_fds=[server_end.fileno(), *files.values()],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=self._stderr,
            )
        self._control.settimeout(limits.SANDBOX_START_SECONDS)
        try:
            ready = self._control.recv(16)
        except OSError:  # also a timeout
            ready = b""
        if ready != b"ready":
            raise self._stop_with_error("The sandbox for students' code could not be started.")

    @property
    def alive(self) -> bool:
        """Return whether the server is running."""
        return self._process.poll() is None

    def open(self, files: Mapping[str, bytes], deadline: float = math.inf) -> Session:
        """Start a submission: a new process, with the student's files in its folder.

        It ends at the deadline on the monotonic clock.

        Raises
        ------
        NoSandbox
            If the process could not be started, or a restriction is not in force.
        """
        channel, student_end = socket.socketpair()
        commands, supervisor_end = socket.socketpair()
        with student_end, supervisor_end:
            try:
                ends = [student_end.fileno(), supervisor_end.fileno()]
                socket.send_fds(self._control, [b"+"], ends)
            except OSError:
                channel.close()
                commands.close()
                raise self._stop_with_error("The sandbox for students' code has ended.") from None
        return Session(Channel(channel), SandboxSupervisor(commands), files, deadline)

    def _stop_with_error(self, sentence: str) -> NoSandbox:
        """Stop the server, and return an error with the last line that it wrote to stderr."""
        self._stop()
        self._stderr.seek(0)
        lines = self._stderr.read().decode(errors="replace").strip().splitlines()
        self._stderr.close()
        if not lines:
            return NoSandbox(sentence)
        help_for_bubblewrap = NOT_ALLOWED if lines[-1].startswith("bwrap: ") else ""
        return NoSandbox(f"{sentence} It says: {lines[-1]}{help_for_bubblewrap}")

    def close(self) -> None:
        """Stop the server and all processes in it."""
        self._stop()
        self._stderr.close()

    def _stop(self) -> None:
        self._control.close()
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(limits.INTERRUPT_GRACE_SECONDS)
            return
        self._process.kill()
        self._process.wait()


class SandboxSupervisor:
    """The supervisor of one submission, at the other end of a socket."""

    def __init__(self, commands: socket.socket) -> None:
        self._commands = commands
        commands.settimeout(limits.INTERRUPT_GRACE_SECONDS)

    def interrupt(self) -> None:
        self._commands.send(INTERRUPT)

    def cpu_seconds(self) -> float:
        self._commands.send(CPU_SECONDS)
        reply = self._commands.recv(SECONDS.size)
        if len(reply) < SECONDS.size:
            raise Closed
        return float(SECONDS.unpack(reply)[0])

    def close(self) -> None:
        self._commands.close()


def _settings(modules: list[str], hidden: list[Path]) -> Settings:
    return Settings(
        descriptor_bytes=_socket_buffer_bytes(),
        seccomp_filter=seccomp.filter_program().hex(),
        modules=modules,
        hidden=[str(path) for path in hidden],
        folders_in_tmp=python_folders_in_tmp(),
        links_in_tmp=python_links_in_tmp(),
    )


def _socket_buffer_bytes() -> int:
    """Return the size of a socket's buffer, a setting of the system's administrator."""
    try:
        return int(Path("/proc/sys/net/core/wmem_default").read_text())
    except OSError:
        return 212_992  # Linux's default, if /proc does not tell


def _files_in_memory(contents: Mapping[str, bytes], stack: contextlib.ExitStack) -> dict[str, int]:
    """Write each content into an anonymous file in memory, for bubblewrap to read."""
    descriptors = {}
    for name, content in contents.items():
        descriptor = os.memfd_create(Path(name).name)
        stack.callback(os.close, descriptor)
        os.write(descriptor, content)
        os.lseek(descriptor, 0, os.SEEK_SET)
        descriptors[name] = descriptor
    return descriptors
