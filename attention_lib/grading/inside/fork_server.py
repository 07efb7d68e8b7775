"""The fork server inside the sandbox: a process for each submission, with little of everything.

It waits with everything slow already imported. Each submission's process has namespaces, limits
and a temporary folder of its own, and a supervisor beside it that can interrupt and end it.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import select
import signal
import socket
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from attention_lib.grading.inside.conversation import converse
from attention_lib.grading.inside.seccomp import refuse_system_calls
from attention_lib.grading.inside.shell import Shell, make_shell
from attention_lib.grading.inside.wire import INTERRUPT, Channel

FOLDER = "/tmp/work"  # where a student's notebook runs
POLL_SECONDS = 0.1
NOBODY = 65534
# Of clone(2): what a submission has for itself.
NEW_MOUNTS = 0x00020000
NEW_NAMESPACES = 0x10000000 | 0x00020000 | 0x20000000 | 0x40000000 | 0x08000000 | 0x04000000
PR_SET_PDEATHSIG, PR_SET_DUMPABLE, PR_CAPBSET_DROP, PR_SET_NO_NEW_PRIVS = 1, 4, 24, 38


def serve(control: socket.socket, limits: dict[str, Any], modules: list[str]) -> None:
    """Fork a process for each pair of sockets that comes in, until the grader is gone."""
    signal.pthread_sigmask(signal.SIG_SETMASK, ())  # a grader may have blocked what interrupts
    if os.getuid() == 0:
        os.setgroups([])
        os.setresgid(NOBODY, NOBODY, NOBODY)
        os.setresuid(NOBODY, NOBODY, NOBODY)
    import_all(modules)
    shell = make_shell()
    import gc

    gc.freeze()  # what is shared with every child stays shared
    control.sendall(b"ready")
    while True:
        _, sockets, _, _ = socket.recv_fds(control, 1, 2)
        with contextlib.suppress(ChildProcessError):
            while os.waitpid(-1, os.WNOHANG)[0]:
                pass
        if len(sockets) < 2:
            return
        if os.fork() == 0:
            control.close()
            _never_return(supervise, shell, limits, *sockets)
        for number in sockets:
            os.close(number)


def import_all(modules: list[str]) -> None:
    """Import what lessons use, so that a child finds it there."""
    for name in modules:
        with contextlib.suppress(ImportError):
            __import__(name)
    if torch := sys.modules.get("torch"):  # it asks /proc about the processor, which a child lacks
        torch.ones(1).half().float()


def _never_return(function: Callable[..., None], *arguments: Any) -> None:
    try:
        function(*arguments)
    finally:
        os._exit(0)


def supervise(shell: Shell, limits: dict[str, Any], data: int, leash: int) -> None:
    """Start the student's process in namespaces of its own; interrupt and end it when told to."""
    user, group = os.getuid(), os.getgid()
    _libc("prctl", PR_SET_DUMPABLE, 1, 0, 0, 0)  # or /proc/self would be root's
    _libc("unshare", NEW_NAMESPACES)
    Path("/proc/self/setgroups").write_text("deny")
    Path("/proc/self/uid_map").write_text(f"{NOBODY} {user} 1")
    Path("/proc/self/gid_map").write_text(f"{NOBODY} {group} 1")
    _libc("prctl", PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)  # when the server ends
    with contextlib.suppress(OSError):  # where it can be had: no user namespaces further in
        Path("/proc/sys/user/max_user_namespaces").write_text("0")
    first = os.fork()
    if first == 0:
        os.close(leash)
        _never_return(begin, shell, limits, data)
    os.close(data)
    poll = select.poll()
    poll.register(leash, select.POLLIN)
    at_the_start = _bytes_of("self")
    while os.waitpid(first, os.WNOHANG)[0] == 0:
        if poll.poll(1000 * POLL_SECONDS):
            if os.read(leash, 1) != INTERRUPT:
                break  # let go by the grader
            os.kill(first, signal.SIGINT)
        if _bytes_below(first, at_the_start) > limits["memory"]:
            break
    with contextlib.suppress(ProcessLookupError):
        os.kill(first, signal.SIGKILL)  # and with it everything in its namespace


def begin(shell: Shell, limits: dict[str, Any], data: int) -> None:
    """Be the first process of the namespace: all others end with this one."""
    _libc("prctl", PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)  # when the supervisor ends
    limits["address"] = limits["memory"] + _bytes_of("self", whole=True)
    _libc("unshare", NEW_MOUNTS)
    _cover_tmp(f"size={limits['folder']},nr_inodes=10000,mode=0700", limits["keep"])
    _mount("/dev/shm", "size=1m")
    _mount("/proc", "size=0,mode=0555")  # it lists processes of others
    student = os.fork()
    if student == 0:
        _never_return(live, shell, limits, data)
    signal.signal(signal.SIGINT, lambda *_: os.kill(student, signal.SIGINT))
    while True:
        with contextlib.suppress(InterruptedError):
            if os.wait()[0] == student:
                return


def live(shell: Shell, limits: dict[str, Any], data: int) -> None:
    """Be the student's process: no rights, no file open but the socket, and little of all else."""
    os.setsid()
    os.dup2(data, 3)
    os.closerange(4, 65536)
    nowhere = os.open("/dev/null", os.O_RDWR)
    for number in range(3):
        os.dup2(nowhere, number)
    os.close(nowhere)
    os.mkdir(FOLDER)
    os.chdir(FOLDER)
    _limit(limits)
    _drop_rights()
    converse(Channel(socket.socket(fileno=3)), shell)


def _limit(limits: dict[str, Any]) -> None:
    import resource

    for which, amount in (
        (resource.RLIMIT_AS, limits["address"]),
        (resource.RLIMIT_CPU, limits["seconds"]),
        (resource.RLIMIT_NPROC, limits["processes"]),
        (resource.RLIMIT_FSIZE, limits["file"]),
        (resource.RLIMIT_NOFILE, limits["open"]),
        (resource.RLIMIT_CORE, 0),
    ):
        resource.setrlimit(which, (amount, amount))


def _drop_rights() -> None:
    """Give up what root has in the new user namespace, and the way back to it."""
    libc = ctypes.CDLL(None)
    libc.prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
    for capability in range(64):
        libc.prctl(PR_CAPBSET_DROP, capability, 0, 0, 0)
    header = (ctypes.c_uint32 * 2)(0x20080522, 0)
    _libc("capset", header, (ctypes.c_uint32 * 6)())
    refuse_system_calls()


def _mount(where: str, options: str) -> None:
    nosuid_nodev = 2 | 4
    _libc("mount", b"tmpfs", where.encode(), b"tmpfs", nosuid_nodev, options.encode())


def _cover_tmp(options: str, keep: list[str]) -> None:
    """Put a folder of its own on /tmp; Python, if it is in there, stays where it is."""
    places = {place: os.open(place, os.O_PATH) for place in keep}
    _mount("/tmp", options)
    for place, number in places.items():
        os.makedirs(place)
        bind_all_below = 4096 | 16384
        source = f"/proc/self/fd/{number}".encode()
        _libc("mount", source, place.encode(), None, bind_all_below, None)


def _libc(name: str, *arguments: Any) -> None:
    if getattr(ctypes.CDLL(None, use_errno=True), name)(*arguments) != 0:
        number = ctypes.get_errno()
        raise OSError(number, f"{name}: {os.strerror(number)}")


def _bytes_of(process: int | str, whole: bool = False) -> int:
    """Return the memory a process uses, or the whole of what it has mapped."""
    try:
        pages = Path(f"/proc/{process}/statm").read_text().split()
    except OSError:
        return 0
    return int(pages[0 if whole else 1]) * os.sysconf("SC_PAGE_SIZE")


def _bytes_below(first: int, at_the_start: int) -> int:
    """Add up what the processes of a submission use beyond what they began with."""
    parents = {}
    for entry in os.listdir("/proc"):
        if entry.isdigit():
            with contextlib.suppress(OSError):
                status = Path(f"/proc/{entry}/stat").read_text()
                parents[int(entry)] = int(status.rpartition(")")[2].split()[1])
    below, found = {first}, 0
    while len(below) > found:
        found = len(below)
        below |= {process for process, parent in parents.items() if parent in below}
    return sum(max(0, _bytes_of(process) - at_the_start) for process in below)
