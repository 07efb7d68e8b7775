"""Fork server inside the sandbox: one process per submission, with its own namespaces and limits.

The server imports the slow modules once. For each submission it forks a supervisor. The supervisor
forks the first process of a new PID namespace, and that one forks the student's process. The
supervisor can interrupt the student's process, or kill it with all processes that it has started.

Every call that restricts the student's process is checked. If one fails, the student's process is
not started, and the grader is told why.
"""

from __future__ import annotations

import contextlib
import gc
import os
import resource
import select
import signal
import socket
import sys
from collections.abc import Iterator
from pathlib import Path

from attention_lib.grading import limits
from attention_lib.grading.inside import kernel
from attention_lib.grading.inside.conversation import converse
from attention_lib.grading.inside.kernel import Clone, Prctl, checked
from attention_lib.grading.inside.seccomp import install_filter
from attention_lib.grading.inside.settings import Settings
from attention_lib.grading.inside.shell import Shell, make_shell
from attention_lib.grading.inside.usage import PAGE_BYTES, POLL_SECONDS, Usage
from attention_lib.grading.inside.wire import (
    CPU_SECONDS,
    INTERRUPT,
    SECONDS,
    Channel,
    Closed,
)

FOLDER = "/tmp/work"  # where a student's notebook runs
NOBODY = 65534  # user and group
CHANNEL_DESCRIPTOR = 3  # all other descriptors are closed, but /dev/null on 0, 1 and 2
DESCRIPTORS = 65536  # more than the server can have open
NAMESPACES = Clone(sum(Clone)) & ~Clone.CLONE_NEWCGROUP  # all but the cgroup namespace


def serve(control: socket.socket, settings: Settings) -> None:
    """Start a submission for each pair of sockets that arrives, until the grader closes `control`.

    The first socket of a pair is the student's channel, the second is the supervisor's.
    """
    signal.pthread_sigmask(signal.SIG_SETMASK, ())  # the grader may block SIGINT
    require_hidden(settings.hidden)
    if os.getuid() == 0:
        checked("setgroups", os.setgroups, [])
        checked("setresgid", os.setresgid, NOBODY, NOBODY, NOBODY)
        checked("setresuid", os.setresuid, NOBODY, NOBODY, NOBODY)
    import_all(settings.modules)
    shell = make_shell()
    gc.freeze()  # otherwise garbage collection in children would copy the server's pages
    control.sendall(b"ready")
    while True:
        _, descriptors, _, _ = socket.recv_fds(control, 1, 2)
        # Reap the supervisors that have ended, so that they do not stay as zombies.
        with contextlib.suppress(ChildProcessError):
            while os.waitpid(-1, os.WNOHANG)[0]:
                pass
        if len(descriptors) < 2:
            return
        channel, commands = descriptors
        if os.fork() == 0:
            with _exit_afterwards():
                control.close()
                supervise(shell, settings, channel, commands)
        os.close(channel)
        os.close(commands)


def require_hidden(paths: list[str]) -> None:
    """Exit the server with a message if students' code would see anything in these paths.

    They may contain the folders of Python itself.
    """
    prefixes = {sys.prefix, sys.base_prefix}
    python = {Path(one) for prefix in prefixes for one in (prefix, os.path.realpath(prefix))}
    above = python.union(*(folder.parents for folder in python))
    for path in map(Path, paths):
        entries = path.iterdir() if path.is_dir() else [path] if path.is_file() else []
        for entry in entries:
            if entry not in above:
                sys.exit(f"{entry} has to be hidden from students' code, and is not.")


def import_all(modules: list[str]) -> None:
    """Import the modules that lessons use, so that each submission's process starts with them."""
    for name in modules:
        with contextlib.suppress(ImportError):
            __import__(name)
    if torch := sys.modules.get("torch"):  # reads processor features from /proc, hidden later
        torch.ones(1).half().float()


@contextlib.contextmanager
def _exit_afterwards() -> Iterator[None]:
    """Exit this process after the body, even after an exception."""
    try:
        yield
    finally:
        os._exit(0)


@contextlib.contextmanager
def _failure_reported(channel: int) -> Iterator[None]:
    """If the body fails to restrict this process, tell the grader why."""
    try:
        yield
    except Exception as problem:
        reason = str(problem) or type(problem).__name__
        with contextlib.suppress(Closed), socket.socket(fileno=os.dup(channel)) as connection:
            Channel(connection).send({"failed": reason}, None)
        raise


def supervise(shell: Shell, settings: Settings, channel: int, commands: int) -> None:
    """Start the student's process in new namespaces; interrupt or kill it on command."""
    with _failure_reported(channel):
        _enter_namespaces()
        usage = Usage(settings.descriptor_bytes)
    first = os.fork()
    if first == 0:
        with _exit_afterwards():
            os.close(commands)
            begin(shell, settings, channel)
    os.close(channel)
    poll = select.poll()
    poll.register(commands, select.POLLIN)
    while os.waitpid(first, os.WNOHANG)[0] == 0:
        command = os.read(commands, 1) if poll.poll(1000 * POLL_SECONDS) else None
        usage.measure(first)
        if command == INTERRUPT:
            os.kill(first, signal.SIGINT)
        elif command == CPU_SECONDS:
            os.write(commands, SECONDS.pack(usage.cpu_seconds))
        elif command is not None:
            break  # the grader has closed its end
        too_much_memory = usage.memory_bytes > limits.SUBMISSION_MEMORY_BYTES
        if too_much_memory or usage.cpu_seconds > limits.SUBMISSION_CPU_SECONDS:
            break
    with contextlib.suppress(ProcessLookupError):
        os.kill(first, signal.SIGKILL)  # the kernel then kills its whole PID namespace


def _enter_namespaces() -> None:
    """Move this process and its future children into new namespaces, where it is nobody."""
    user, group = os.getuid(), os.getgid()
    kernel.prctl(Prctl.PR_SET_DUMPABLE, 1)  # otherwise root would own /proc/self
    kernel.unshare(NAMESPACES)
    _write("/proc/self/setgroups", "deny")
    _write("/proc/self/uid_map", f"{NOBODY} {user} 1")
    _write("/proc/self/gid_map", f"{NOBODY} {group} 1")
    kernel.prctl(Prctl.PR_SET_PDEATHSIG, signal.SIGKILL)  # when the server ends
    _write("/proc/sys/user/max_user_namespaces", "0")  # in a nested one a student would be root


def _write(path: str, text: str) -> None:
    checked(f"write to {path}", Path(path).write_text, text)


def begin(shell: Shell, settings: Settings, channel: int) -> None:
    """Run as the first process of the PID namespace: when it ends, the kernel kills all others."""
    with _failure_reported(channel):
        kernel.prctl(Prctl.PR_SET_PDEATHSIG, signal.SIGKILL)  # when the supervisor ends
        address_bytes = limits.SUBMISSION_MEMORY_BYTES + _address_space_bytes()
        _cover_folders(settings)
    student = os.fork()
    if student == 0:
        with _exit_afterwards():
            live(shell, settings, channel, address_bytes)
    # The supervisor only knows the PID of this process, so forward its interrupts.
    signal.signal(signal.SIGINT, lambda *_: os.kill(student, signal.SIGINT))
    # PID 1 adopts orphans, so it also has to reap them.
    while True:
        with contextlib.suppress(InterruptedError):
            if os.wait()[0] == student:
                return


def _cover_folders(settings: Settings) -> None:
    """Mount empty file systems over folders where files and processes of others could be seen."""
    # A mount namespace of its own: the supervisor stays in the old one, and still reads /proc
    # there.
    kernel.unshare(Clone.CLONE_NEWNS)
    _cover_tmp(settings)
    size, files = limits.SUBMISSION_SHARED_MEMORY_BYTES, limits.SUBMISSION_FOLDER_FILES
    kernel.mount_tmpfs("/dev/shm", size=size, files=files, mode="1777")
    # A submission owns these mounts, and could make them writable by chmod: so mount them
    # read-only.
    kernel.mount_tmpfs("/proc", size=PAGE_BYTES, files=1, mode="0555", read_only=True)


def _cover_tmp(settings: Settings) -> None:
    """Mount a small tmpfs on /tmp, and bind-mount Python again if it was in there."""
    # A descriptor still leads to a folder after /tmp is covered.
    python = {folder: os.open(folder, os.O_PATH) for folder in settings.folders_in_tmp}
    size, files = limits.SUBMISSION_FOLDER_BYTES, limits.SUBMISSION_FOLDER_FILES
    kernel.mount_tmpfs("/tmp", size=size, files=files, mode="0700")
    for folder, descriptor in python.items():
        os.makedirs(folder)
        kernel.bind_mount(f"/proc/self/fd/{descriptor}", folder)
    for link, target in settings.links_in_tmp.items():
        os.makedirs(os.path.dirname(link), exist_ok=True)
        os.symlink(target, link)


def live(shell: Shell, settings: Settings, channel: int, address_bytes: int) -> None:
    """Close all descriptors but the channel, apply limits, drop privileges, then serve requests."""
    os.dup2(channel, CHANNEL_DESCRIPTOR)
    with _failure_reported(CHANNEL_DESCRIPTOR):
        os.setsid()  # its own session: the scheduler shares CPU time by sessions
        os.closerange(CHANNEL_DESCRIPTOR + 1, DESCRIPTORS)
        null = os.open("/dev/null", os.O_RDWR)
        for number in range(CHANNEL_DESCRIPTOR):
            os.dup2(null, number)
        os.close(null)
        os.mkdir(FOLDER)
        os.chdir(FOLDER)
        _set_resource_limits(address_bytes)
        kernel.drop_capabilities()
        install_filter(bytes.fromhex(settings.seccomp_filter))
    converse(Channel(socket.socket(fileno=CHANNEL_DESCRIPTOR)), shell)


def _set_resource_limits(address_bytes: int) -> None:
    for name, amount in (
        ("RLIMIT_AS", address_bytes),
        ("RLIMIT_CPU", limits.SUBMISSION_CPU_SECONDS),
        ("RLIMIT_NPROC", limits.SUBMISSION_PROCESSES),
        ("RLIMIT_FSIZE", limits.SUBMISSION_FILE_BYTES),
        ("RLIMIT_NOFILE", limits.SUBMISSION_OPEN_FILES),
        ("RLIMIT_CORE", 0),
    ):
        both = (amount, amount)  # soft and hard
        checked(f"setrlimit({name})", resource.setrlimit, getattr(resource, name), both)


def _address_space_bytes() -> int:
    """Return the total size of this process's mappings."""
    return int(Path("/proc/self/statm").read_text().split()[0]) * PAGE_BYTES
