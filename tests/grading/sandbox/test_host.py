"""The sandbox: what a student's process can see and use, and what happens if it is incomplete."""

import contextlib
import ctypes
import errno
import functools
import itertools
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import pytest

from attention_lib.grading.inside import kernel
from attention_lib.grading.inside.fork_server import NAMESPACES
from attention_lib.grading.inside.kernel import NotEnforced
from attention_lib.grading.limits import MIB
from attention_lib.grading.sandbox import bubblewrap, host, seccomp
from attention_lib.grading.sandbox.errors import NoSandbox, SessionEnded
from attention_lib.grading.sandbox.host import (
    Sandbox,
    SandboxSupervisor,
    missing_protection,
    require_sandbox,
)
from attention_lib.grading.sandbox.session import call_back
from tests.grading.sample_class import ROOT
from tests.grading.sandboxes import change_inside, new_session, set_limits, shown

SECRET = "a-secret-of-the-instructor"
pytestmark = [pytest.mark.sandbox, pytest.mark.slow]


@pytest.fixture(scope="module")
def sandbox():
    with pytest.MonkeyPatch.context() as patch:
        set_limits(patch, MEMORY_BYTES=256 * MIB, FOLDER_BYTES=8 * MIB, FILE_BYTES=4 * MIB)
        patch.setenv("OF_THE_INSTRUCTOR", SECRET)
        with contextlib.closing(Sandbox("01_softmax")) as sandbox:
            yield sandbox


@pytest.fixture
def sooner(monkeypatch):
    """Let sandboxes start without the modules that lessons use, and without figures."""
    monkeypatch.setattr(host, "IMPORTED_MODULES", [])
    change_inside(monkeypatch, "inside/shell.py", "Shell.enable_matplotlib = lambda *_: None")


@pytest.fixture
def run(sandbox):
    """Run cells in one session and return what they print, or the names of their errors."""
    with contextlib.closing(sandbox.open({})) as session:
        yield functools.partial(shown, session)


def test_no_network(run):
    assert run("import socket; socket.create_connection(('127.0.0.1', 22), 1)") == "OSError"
    assert run("print([name for _, name in socket.if_nameindex()])") == "OSError"


# 40 is vsock, which reaches the host of a virtual machine from every network namespace.
@pytest.mark.parametrize("family", [1, 2, 10, 16, 17, 30, 38, 40, 44])
def test_no_socket_can_be_made(run, family):
    make = (
        "import socket\nfor kind in (1, 2, 3, 5):\n    try: socket.socket({}, kind); print('made')"
    )
    assert run(make.format(family) + "\n    except OSError as error: print(error.errno)") == (
        "\n".join(4 * [str(errno.ENOSYS)])
    )


def test_pairs_of_sockets_and_pipes_can_be_made(run):
    assert (
        run("import socket; a, b = socket.socketpair(); a.send(b'1'); print(b.recv(9))") == "b'1'"
    )
    assert run("socket.socketpair(30)") == "OSError"
    assert run("import asyncio; print(asyncio.run(asyncio.sleep(0, 'done')))") == "done"
    threads = "from concurrent.futures import ThreadPoolExecutor as T; print(*T(3).map(abs, [-1]))"
    assert run(threads) == "1"
    assert run("import subprocess; print(subprocess.check_output(['echo', 'ok']))") == "b'ok\\n'"
    fork = "import multiprocessing as m; print(m.get_context('fork').Pool(2).map(abs, [-1, -2]))"
    assert run(fork) == "[1, 2]"


@pytest.mark.skipif(seccomp.is_missing(), reason="libseccomp is not installed")
def test_system_call_that_is_not_on_the_list_is_refused(run):
    number_of = ctypes.CDLL(seccomp.LIBRARY).seccomp_syscall_resolve_name
    uprobes = {335, 336}  # of x86-64, which are not filtered, and end whoever calls them
    allowed = {number_of(name.encode()) for name, _ in seccomp.rules()}
    others = set(range(600)) - uprobes - allowed
    source = (
        "import ctypes, errno\nc, answered = ctypes.CDLL(None, use_errno=True), []\n"
        f"for number in {sorted(others)}:\n    ctypes.set_errno(0)\n"
        "    if c.syscall(number, 0, 0, 0, 0, 0, 0) != -1 or ctypes.get_errno() != errno.ENOSYS:\n"
        "        answered.append(number)\nprint(answered)"
    )
    assert run(source) == "[]"


# What makes an object that is tied to no process, or of a kind that nothing here needs.
@pytest.mark.parametrize(
    "call",
    [
        "memfd_create(b'x', 0)",
        "memfd_secret(0)",
        "shmget(0, 4096, 0o600)",
        "semget(0, 1, 0o600)",
        "msgget(0, 0o600)",
        "mq_open(b'/x', 66, 0o600, None)",
        "inotify_init1(0)",
        "fanotify_init(0, 0)",
        "timerfd_create(0, 0)",
        "signalfd(-1, bytes(128), 0)",
        "setsockopt(3, 1, 7, bytes([0, 0, 0, 1]), 4)",
        "listen(3, 4096)",
        "unshare(0x400)",
        "setsid()",
        "syscall(425, 8, bytes(120))",
        "syscall(435, bytes(88), 88)",
    ],
)
def test_objects_tied_to_no_process_cannot_be_made(run, call):
    source = f"import ctypes; c = ctypes.CDLL(None, use_errno=True); r = c.{call}"
    source = source.replace("c.memfd_secret(0)", "c.syscall(447, 0)")
    assert run(f"{source}; print(r, ctypes.get_errno())") == f"-1 {errno.ENOSYS}"


# Locks, whose records take the kernel's memory; larger pipes; who gets a signal.
@pytest.mark.parametrize(
    "command", ["F_SETLK", "F_OFD_SETLK", "F_SETLEASE", "F_SETPIPE_SZ", "F_SETOWN"]
)
def test_descriptors_cannot_hold_memory_that_no_limit_counts(run, command):
    source = "import fcntl, struct; lock = struct.pack('hhqqi4x', fcntl.F_WRLCK, 0, 0, 1, 0)"
    call = f"fcntl.fcntl(open('x', 'w'), fcntl.{command}, lock)"
    if command in ("F_SETLEASE", "F_SETPIPE_SZ", "F_SETOWN"):
        call = call.replace("lock)", "1)")
    report = f"try: print({call})\nexcept OSError as error: print(error.errno)"
    assert run(f"{source}\n{report}") == str(errno.ENOSYS)


def test_process_may_have_a_name_of_any_bytes(run):
    name = (
        "import ctypes, time; ctypes.CDLL(None).prctl(15, b'\\xff) R 1', 0, 0, 0); time.sleep(0.5)"
    )
    assert run(f"{name}; print('alive')") == "alive"


def test_memory_in_the_buffers_of_sockets_is_limited(run):
    fill = (
        "import os, socket, time\n"
        "def fill():\n    held = []\n    try:\n        while True:\n"
        "            held.extend(socket.socketpair())\n            held[-1].setblocking(False)\n"
        "            try:\n                while True: held[-1].send(bytes(60_000))\n"
        "            except BlockingIOError: pass\n"
        "    except OSError: time.sleep(60)\n"
        "for _ in range(24):\n    if os.fork() == 0: fill()\n"
        "fill()"
    )
    with pytest.raises(SessionEnded):
        run(fill)


def test_files_of_the_course_and_the_instructor_are_hidden(run):
    folders = [
        ROOT / "solutions",
        ROOT / "classroom",
        ROOT / ".git",
        Path.home() / ".ssh",
        ROOT.parent,
    ]
    folders += [Path("/etc/passwd"), Path("/home"), Path("/var")]
    hidden = [str(folder) for folder in folders if folder.exists()]
    assert hidden
    shown = run(f"import os\nprint([p for p in {hidden} if os.path.exists(p) and os.listdir(p)])")
    assert shown in ("[]", f"['{ROOT.parent}']", "NotADirectoryError")
    assert (
        run(f"print(os.listdir({str(ROOT.parent)!r}), os.listdir({str(ROOT)!r}))").count(".git")
        == 0
    )


@pytest.fixture
def clone(tmp_path, monkeypatch):
    """Return a folder that is a course with a class, in which the grader is started."""
    folder = tmp_path / "home" / "course"
    (folder / "classroom").mkdir(parents=True)
    (folder / "classroom" / "gradebook.db").write_text(SECRET)
    (folder / "nbgrader_config.py").write_text("")
    monkeypatch.chdir(folder)
    return folder


# Where somebody may have made Python's environment, from the course's folder: python -m venv .
@pytest.mark.parametrize("place", [".", "..", "../.."])
@pytest.mark.parametrize("which", ["prefix", "base_prefix"])
def test_environment_that_holds_the_course_is_refused(clone, monkeypatch, place, which):
    environment = (clone / place).resolve()
    monkeypatch.setattr(sys, which, str(environment))
    with pytest.raises(NoSandbox) as refusal:
        Sandbox("01_softmax")
    assert f"the whole folder of Python's environment, {environment}, and {clone}" in str(
        refusal.value
    )
    assert "python -m venv .venv" in str(refusal.value)


def test_environment_that_a_link_leads_to_is_refused(clone, tmp_path, monkeypatch):
    link = tmp_path / "environment"
    link.symlink_to(clone)
    monkeypatch.setattr(sys, "prefix", str(link))
    with pytest.raises(NoSandbox, match="environment in a folder of its own"):
        require_sandbox()


@pytest.mark.parametrize("inside", ["nbgrader_config.py", "classroom-2027-spring", "gradebook.db"])
def test_environment_that_holds_another_course_is_refused(tmp_path, monkeypatch, inside):
    (tmp_path / "environment").mkdir()
    (tmp_path / "environment" / inside).mkdir()
    monkeypatch.setattr(sys, "prefix", str(tmp_path / "environment"))
    with pytest.raises(NoSandbox, match=f"{inside} is in it"):
        require_sandbox()


def test_environment_that_holds_a_home_directory_is_refused(tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.setattr(sys, "prefix", str(tmp_path))
    with pytest.raises(NoSandbox, match="home is in it"):
        require_sandbox()


def test_environment_in_the_course_shows_nothing_else_of_it(clone, monkeypatch):
    (clone / ".venv").mkdir()
    monkeypatch.setattr(sys, "prefix", str(clone / ".venv"))
    arguments = bubblewrap.bubblewrap_arguments({}, bubblewrap.hidden_paths())
    assert str(clone / ".venv") in arguments
    shown = [place for word, place in itertools.pairwise(arguments) if word == "--ro-bind"]
    assert not [place for place in shown if clone.is_relative_to(place)]


@pytest.mark.usefixtures("sooner")
def test_what_has_to_be_hidden_and_can_be_seen_ends_the_server(monkeypatch):
    seen = Path(sys.prefix) / "lib"
    monkeypatch.setattr(host, "hidden_paths", lambda *_: [seen])
    monkeypatch.setattr(host, "bubblewrap_arguments", lambda files, _: everything_of(files))
    with pytest.raises(NoSandbox, match=rf"It says: {seen}/python\S+ has to be hidden"):
        Sandbox("01_softmax")


def everything_of(files):
    return bubblewrap.bubblewrap_arguments(files, [])


@pytest.mark.usefixtures("sooner")
def test_private_folder_and_file_and_the_exchange_are_covered_where_they_are_shown(monkeypatch):
    """Nbgrader's settings name them, and its exchange lies among the system's; here, among Python's."""
    folder = Path(tempfile.mkdtemp(dir=sys.prefix))
    try:
        folder.chmod(0o755)
        for name in ("one", "two", "exchange"):
            (folder / name).mkdir()
            (folder / name / "gradebook.db").write_text(SECRET)
        monkeypatch.setattr(bubblewrap, "EXCHANGE", folder / "exchange")
        private = [str(folder / "one"), str(folder / "two" / "gradebook.db")]
        source = (
            f"import os; print(os.listdir({private[0]!r}), os.path.isfile({private[1]!r}), "
            f"os.listdir({str(folder / 'exchange')!r}), len(os.listdir({sys.prefix!r})))"
        )
        with new_session("01_softmax", (), private) as session:
            assert shown(session, source) == f"[] False [] {len(os.listdir(sys.prefix))}"
    finally:
        shutil.rmtree(folder)


def test_environment_variables_are_hidden(run):
    assert SECRET not in run("import os; print(dict(os.environ))")


def test_other_processes_are_hidden(run):
    assert run("import os; print(os.getpid() < 10, os.listdir('/proc'))") == "True []"


def test_process_has_no_capabilities(run):
    assert run("import os; print(os.getuid() not in (0, os.getppid()))") == "True"
    mount = "import ctypes; print(ctypes.CDLL(None).mount(b'x', b'/tmp', b'tmpfs', 0, None))"
    assert run(mount) == "-1"
    assert run("import ctypes; print(ctypes.CDLL(None).setuid(0))") == "-1"


@pytest.mark.parametrize("path", ["/usr/x", "/course/attention_lib/x", "/x", f"{os.sys.prefix}/x"])
def test_system_is_read_only(run, path):
    assert run(f"open({path!r}, 'w')") in ("OSError", "PermissionError", "FileNotFoundError")


# Appended to kernel.py in the sandbox: the list of mounts is kept, of which the last one hides /proc.
KEEP_MOUNTS = """
_mount_tmpfs = mount_tmpfs

def mount_tmpfs(target, **limits):
    if target != "/proc":
        return _mount_tmpfs(target, **limits)
    with open("/proc/self/mountinfo") as mounts:
        _mount_tmpfs(target, **limits)
        with open("/tmp/mounts", "w") as kept:
            kept.write(mounts.read())
"""


@pytest.mark.slow
@pytest.mark.usefixtures("sooner")
def test_every_mount_is_read_only_or_limited_in_bytes_and_in_files(monkeypatch):
    change_inside(monkeypatch, "inside/kernel.py", KEEP_MOUNTS)
    source = "print(open('/tmp/mounts').read())"
    with new_session() as session:
        mounts = seen(shown(session, source))
    assert {"/", "/tmp", "/proc", "/dev/shm", "/usr"} <= set(mounts)
    writable = {place: rest for place, (flags, rest) in mounts.items() if "rw" in flags.split(",")}
    kinds = {place: rest.split()[0] for place, rest in writable.items()}
    devices = {f"/dev/{name}" for name in ("null", "zero", "full", "random", "urandom", "tty")}
    assert set(kinds) - devices == {"/tmp", "/dev/shm", "/dev/pts"}
    assert kinds["/dev/pts"] == "devpts"  # in which no file can be made
    for place in ("/tmp", "/dev/shm"):
        assert re.search(r"size=[1-9]\d*k,nr_inodes=[1-9]", writable[place]), writable[place]


def seen(mountinfo):
    """Return the mounts of /proc/self/mountinfo that no later one covers: flags and rest, by place."""
    mounts = {}
    for line in mountinfo.strip().splitlines():
        before, _, rest = line.partition(" - ")
        place, flags = before.split()[4:6]
        covered = [below for below in mounts if below.startswith(place.rstrip("/") + "/")]
        for below in covered:
            del mounts[below]
        mounts[place] = flags, rest
    return mounts


def test_submission_can_make_no_folder_writable_but_its_own(run):
    folders = ["/", "/proc", "/dev", "/dev/pts", "/etc", "/course", "/usr", sys.prefix]
    source = (
        f"import os\nfor folder in {folders}:\n"
        "    try: os.chmod(folder, 0o777)\n    except OSError: pass\n"
        "    try: print(open(f'{folder}/x', 'w'))\n    except OSError: pass\n"
        "print('done')"
    )
    assert run(source) == "done"


@pytest.mark.parametrize("folder", ["/tmp", "/dev/shm"])
def test_number_of_files_is_limited(run, folder):
    source = (
        f"try:\n    for i in range(20_000): open(f'{folder}/{{i}}', 'w').close()\n"
        "    print('all')\nexcept OSError as error: print(error.strerror)"
    )
    assert run(source) == "No space left on device"


@pytest.mark.parametrize(("size", "files"), [(0, 1), (1, 0)])
def test_tmpfs_without_a_limit_is_refused(size, files):
    with pytest.raises(NotEnforced, match="without a limit"):
        kernel.mount_tmpfs("/nowhere", size=size, files=files, mode="0700")


def test_tmp_is_small_and_private(sandbox, run):
    assert run("open('/tmp/mark', 'w').write('x'); print('ok')") == "ok"
    assert run("open('big', 'wb').write(bytes(5 << 20))") in ("OSError", "FileTooLarge")
    filled = "for i in range(9): open(f'f{i}', 'wb').write(bytes(1 << 20))"
    assert run(filled) == "OSError"
    with contextlib.closing(sandbox.open({})) as other:
        assert shown(other, "import os; print(os.path.exists('/tmp/mark'))") == "False"


def test_memory_is_limited(run):
    assert run("x = bytearray(600 << 20)") == "MemoryError"
    assert run("print('still here')") == "still here"


def test_memory_of_many_processes_is_limited(run):
    hog = (
        "import os, time\n"
        "for _ in range(4):\n"
        "    if os.fork() == 0:\n"
        "        x = bytearray(150 << 20)\n"
        "        for i in range(0, len(x), 4096): x[i] = 1\n"
        "        time.sleep(60)\n"
        "time.sleep(60)"
    )
    with pytest.raises(SessionEnded):
        run(hog)


# What hides from counting: sessions of their own, and children that nobody waits for.
BUSY = {
    "sessions": (
        "import os, time\n"
        "for _ in range(20):\n    if os.fork() == 0:\n        try: os.setsid()\n"
        "        except OSError: pass\n        while True: pass\n"
    ),
    "short lives": (
        "import os, signal, time\nsignal.signal(signal.SIGCHLD, signal.SIG_IGN)\n"
        "while True:\n    if os.fork() == 0:\n"
        "        end = time.process_time() + 0.03\n        while time.process_time() < end: pass\n"
        "        os._exit(0)\n    time.sleep(0.01)\n"
    ),
}


@pytest.mark.slow
@pytest.mark.usefixtures("sooner")
@pytest.mark.parametrize("kind", BUSY)
def test_cpu_time_of_all_processes_together_is_limited(monkeypatch, kind):
    set_limits(monkeypatch, CPU_SECONDS=1)
    with new_session() as session, pytest.raises(SessionEnded, match="the time or memory it took"):
        shown(session, BUSY[kind] + "time.sleep(60)", 50)


@pytest.mark.slow
def test_time_of_all_cells_together_is_limited(sandbox):
    session = sandbox.open({}, time.monotonic() + 2)
    sleep = {"do": "run", "source": "import time; time.sleep(1.5)"}
    session.ask(sleep, 20)
    assert session.ask(sleep, 20)["interrupted"]
    time.sleep(0.1)
    with pytest.raises(SessionEnded, match="took too long altogether"):
        session.ask(sleep, 20)
    assert session.waited


@pytest.mark.parametrize(("counted", "waited"), [(0.0, True), (60.0, False)])
def test_supervisor_counts_whether_an_interrupted_cell_waited(
    sandbox, monkeypatch, counted, waited
):
    monkeypatch.setattr(SandboxSupervisor, "cpu_seconds", lambda _: counted)
    lie = f"import time; time.process_time = lambda: {60 - counted}; time.sleep(60)"
    with contextlib.closing(sandbox.open({})) as session:
        assert session.ask({"do": "run", "source": lie}, 0.3)["interrupted"]
        assert (session.waited, session.overdue) == (waited, True)


def test_supervisor_counts_the_processors_time(sandbox, monkeypatch):
    counts = []
    count = SandboxSupervisor.cpu_seconds
    monkeypatch.setattr(
        SandboxSupervisor, "cpu_seconds", lambda one: counts.append(count(one)) or counts[-1]
    )
    work = "import time\nwhile time.process_time() < 1: pass"
    with contextlib.closing(sandbox.open({})) as session:
        session.ask({"do": "run", "source": work}, 30)
        session.note_stop(1)
    assert counts[0] > 0.8


def test_memory_of_processes_that_hold_no_more_than_they_began_with_is_limited(run):
    hold = "x = bytearray(b'x') * (40 << 20); import time; time.sleep(60)"
    start = (
        "import os, sys, time\n"
        f"for _ in range(20):\n    if os.fork() == 0: os.execv(sys.executable, ['python', '-S', '-c', {hold!r}])\n"
    )
    with pytest.raises(SessionEnded):
        run(f"{start}time.sleep(60)")


def test_processes_may_share_memory(run):
    wait = "import os, time\nfor _ in range(20):\n    if os.fork() == 0: time.sleep(60)\n"
    assert run(f"{wait}time.sleep(1); print('still here')") == "still here"


@pytest.mark.skipif(seccomp.is_missing(), reason="libseccomp is not installed")
def test_huge_pages_which_no_process_is_said_to_have_are_refused(run):
    call = "mmap.mmap(-1, 2 << 20, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | 0x40000)"
    report = f"try: print({call})\nexcept OSError as error: print(error.errno)"
    assert run(f"import mmap\n{report}") == str(errno.ENOSYS)


def test_number_of_processes_is_limited(run):
    bomb = (
        "import os, time\nstarted = 0\ntry:\n    for _ in range(500):\n"
        "        if os.fork() == 0: time.sleep(60)\n        started += 1\n"
        "except OSError: pass\nprint(started < 100)"
    )
    assert run(bomb) == "True"


@pytest.mark.slow
@pytest.mark.usefixtures("sooner")
def test_processes_end_with_their_session():
    leave = (
        "import os, time\n"
        "if os.fork() == 0:\n    os.setpgid(0, 0)\n    if os.fork() == 0:\n"
        "        open('/tmp/alive', 'w')\n        time.sleep(600)\n    os._exit(0)\n"
        "while not os.path.exists('/tmp/alive'): time.sleep(0.01)\nprint('left')"
    )
    with contextlib.closing(Sandbox("01_softmax")) as sandbox:
        before = processes_below(sandbox)
        session = sandbox.open({})
        session.ask({"do": "run", "source": leave}, 20)
        assert processes_below(sandbox) > before
        session.close()
        until = time.monotonic() + 20
        while processes_below(sandbox) > before and time.monotonic() < until:
            time.sleep(0.05)
        assert processes_below(sandbox) == before


def processes_below(sandbox):
    """Count the processes of the sandbox, as seen from outside."""
    parents = {}
    for entry in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):
            fields = entry.read_text().rpartition(")")[2].split()
            if fields[0] != "Z":
                parents[int(entry.parent.name)] = int(fields[1])
    below = {sandbox._process.pid}
    while more := {one for one, parent in parents.items() if parent in below} - below:
        below |= more
    return len(below)


@pytest.mark.slow
@pytest.mark.usefixtures("sooner")
def test_session_ends_with_its_sandbox():
    with contextlib.closing(Sandbox("01_softmax")) as other:
        session = other.open({})
        process = other._process
    assert process.poll() is not None
    with pytest.raises(SessionEnded):
        session.ask({"do": "run", "source": "import time; time.sleep(20)"}, 30)
    session.close()


@pytest.mark.slow
@pytest.mark.usefixtures("sooner")
def test_torch_works_without_proc():
    """It asks once, and its conversions from float16 fail without an answer."""
    with new_session("10_gpu", ["torch"]) as session:
        source = "print(__import__('torch').ones(2).half().float().sum().item())"
        assert shown(session, source) == "2.0"


def test_missing_bubblewrap_is_named(monkeypatch):
    monkeypatch.setattr(host.shutil, "which", lambda name: None)
    with pytest.raises(NoSandbox, match=r"install the package bubblewrap.*without_sandbox = True"):
        require_sandbox()
    monkeypatch.setattr(host.sys, "platform", "darwin")
    with pytest.raises(NoSandbox, match=r"needs Linux.*without_sandbox = True"):
        require_sandbox()


@pytest.mark.parametrize(
    "argument",
    [
        [10**400] * 2,
        np.zeros(200_000),
        "text",
        [np.zeros(3_000, np.int8)] * 50,  # which NumPy would make one wide array of
        ([["x"] * 60_000], ["x"] * 60_000),
    ],
)
def test_callbacks_take_small_arrays_only(argument):
    """Python's own numbers grow without end, and a product of many takes hours."""
    called = []
    reply = call_back([called.append], {"ask": 0, "what": "call", "args": (argument,)})
    assert called == []
    assert call_back([np.sum], {"ask": 0, "what": "call", "args": ([1, 2],)}) == {"value": 3}
    assert "an array of at most 100,000 numbers" in reply["error"]["text"]
    nothing = {"ask": 0, "what": "call", "args": (None,)}  # caches, before there are any
    assert call_back([lambda caches: caches is None], nothing) == {"value": True}


# Each call that restricts a submission's process, as its error names it.
RESTRICTIONS = [
    "prctl(PR_SET_DUMPABLE)",
    f"unshare({NAMESPACES.name})",
    "prctl(PR_SET_PDEATHSIG)",
    "unshare(CLONE_NEWNS)",
    "mount(tmpfs, /tmp)",
    "mount(tmpfs, /dev/shm)",
    "mount(tmpfs, /proc)",
    "prctl(PR_SET_NO_NEW_PRIVS)",
    "prctl(PR_CAPBSET_DROP)",
    "capset(no capabilities)",
    "prctl(PR_SET_SECCOMP)",
]
CHECKED_CALLS = [
    "write to /proc/self/setgroups",
    "write to /proc/self/uid_map",
    "write to /proc/self/gid_map",
    "write to /proc/sys/user/max_user_namespaces",
    "setrlimit(RLIMIT_AS)",
    "setrlimit(RLIMIT_CPU)",
    "setrlimit(RLIMIT_NPROC)",
    "setrlimit(RLIMIT_FSIZE)",
    "setrlimit(RLIMIT_NOFILE)",
    "setrlimit(RLIMIT_CORE)",
]
# Appended to kernel.py in the sandbox: of each process that the server forks, one call is refused.
REFUSE = """
_working_call, _working_libc, _working_checked = _call, _libc, checked
_calls, _refused, _current, _in_server = iter(CALLS), "", "", True

def _before_fork():
    global _refused
    if _in_server:
        _refused = next(_calls)

def _after_fork():
    global _in_server
    _in_server = False

os.register_at_fork(before=_before_fork, after_in_child=_after_fork)

def _call(function, what, *arguments):
    global _current
    _current = f"{function}({what})"
    return _working_call(function, what, *arguments)

def _libc(function, *arguments):
    return (-1, errno.EPERM) if _current == _refused else _working_libc(function, *arguments)

def checked(name, function, *arguments):
    def refuse(*_):
        raise PermissionError(errno.EPERM, "EPERM")
    _working_checked(name, refuse if name == _refused else function, *arguments)
"""


@pytest.mark.slow
@pytest.mark.usefixtures("sooner")
def test_restriction_that_fails_is_named_and_nothing_is_run(monkeypatch):
    calls = [*RESTRICTIONS, *CHECKED_CALLS]
    change_inside(monkeypatch, "inside/kernel.py", f"CALLS = {calls}\n{REFUSE}")
    with contextlib.closing(Sandbox("01_softmax")) as sandbox:
        for call in calls:
            with pytest.raises(NoSandbox) as failure:
                sandbox.open({})
            expected = f"The process for a submission could not be started: {call} failed"
            assert str(failure.value).startswith(expected)
            assert "EPERM" in str(failure.value)


@pytest.mark.slow
@pytest.mark.usefixtures("sooner")
def test_machine_without_libseccomp_is_named_and_submissions_are_graded(monkeypatch):
    assert missing_protection() == ""
    monkeypatch.setattr(seccomp, "_library", lambda: None)
    monkeypatch.setattr(seccomp, "filter_program", seccomp.filter_program.__wrapped__)
    assert "without a system-call filter, since libseccomp is not installed" in missing_protection()
    with new_session() as session:
        assert shown(session, "print(1)") == "1"


@pytest.mark.parametrize(
    ("code", "reason"),
    [
        ("raise RuntimeError('odd')", "It says: RuntimeError: odd"),
        ("serve = lambda *_: None", "The sandbox for students' code could not be started."),
    ],
)
@pytest.mark.usefixtures("sooner")
def test_server_that_does_not_start_says_why(monkeypatch, code, reason):
    change_inside(monkeypatch, "inside/fork_server.py", code)
    with pytest.raises(NoSandbox) as failure:
        Sandbox("01_softmax")
    assert reason in str(failure.value)


def test_refusal_by_bubblewrap_says_where_to_read_what_helps(tmp_path, monkeypatch):
    refusal = "bwrap: No permissions to create new namespace"
    fake = tmp_path / "bwrap"
    fake.write_text(f"#!/bin/sh\necho '{refusal}' >&2\nexit 1\n")
    fake.chmod(0o755)
    monkeypatch.setattr(host, "require_sandbox", lambda: str(fake))
    with pytest.raises(NoSandbox, match=f"It says: {refusal} What a container, .*teaching.md"):
        Sandbox("01_softmax")


@pytest.mark.usefixtures("sooner")
def test_process_that_ends_before_it_is_ready_is_no_empty_submission(monkeypatch):
    change_inside(monkeypatch, "inside/fork_server.py", "def live(*_): os._exit(1)")
    with pytest.raises(NoSandbox, match="it ended before it was ready"), new_session():
        pass


RUN_A_CELL = """
from tests.grading.sandboxes import new_session, shown

with new_session() as session:
    print(shown(session, "import colorsys; print(colorsys.__file__)"))
"""


@pytest.mark.slow
def test_submissions_run_where_the_virtual_environment_is_a_link_in_tmp():
    """The sandbox mounts a new /tmp, in which the link has to be made again."""
    with tempfile.TemporaryDirectory(dir="/tmp") as clone:
        link = Path(clone) / "inner" / ".venv"
        link.parent.mkdir()
        link.symlink_to(os.sys.prefix)
        python = str(link / "bin" / Path(os.sys.executable).name)
        result = subprocess.run(
            [python, "-c", RUN_A_CELL], cwd=ROOT, capture_output=True, text=True, check=False
        )
    assert result.stderr == ""
    assert "colorsys.py" in result.stdout
