"""What a learner runs needs no PyTorch, no Linux, and nothing that Python in a browser lacks."""

import ast
import subprocess
import sys
import threading

import pytest

from attention_lib.checks.calls import timeouts
from attention_lib.exercises import EXERCISES
from tests.learner_code import LEARNER_CODE, ROOT

UNIX_MODULES = {"fcntl", "grp", "pwd", "resource", "termios"}
PROCESS_MODULES = {"multiprocessing", "subprocess"}  # absent in a browser
UNIX_NAMES = {
    "os": {"fork", "getuid", "geteuid", "getpgid", "killpg", "setsid", "sep", "sysconf"},
    "signal": {"SIGALRM", "SIGKILL", "ITIMER_REAL", "alarm", "setitimer"},
    "time": {"thread_time", "thread_time_ns"},
}
PLACES = ("/tmp", "/dev/", "/proc/", "C:\\")
TEXT_FILES = {"open": 1, "read_text": 0, "write_text": 1}  # arguments before the encoding's place


def not_portable(source):
    """List what runs on some systems only, unless an `if hasattr(...)` stands around it."""
    found = []

    def visit(node, guarded):
        if isinstance(node, ast.If | ast.IfExp) and "hasattr(" in ast.unparse(node.test):
            for part, is_guarded in ((node.body, True), (node.orelse, guarded)):
                for child in part if isinstance(part, list) else [part]:
                    visit(child, is_guarded)
            return
        found.extend(problems(node, guarded))
        for child in ast.iter_child_nodes(node):
            visit(child, guarded)

    visit(ast.parse(source), False)
    return found


def problems(node, guarded):
    modules = []
    if isinstance(node, ast.Import):
        modules = [alias.name.partition(".")[0] for alias in node.names]
    elif isinstance(node, ast.ImportFrom) and node.module:
        modules = [node.module.partition(".")[0]]
    yield from (name for name in modules if name in UNIX_MODULES | PROCESS_MODULES)
    if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
        owner = node.value.id
        if node.attr in UNIX_NAMES.get(owner, ()) and not guarded:
            yield f"{owner}.{node.attr}"
    if isinstance(node, ast.Constant) and str(node.value).startswith(PLACES):
        yield node.value
    if isinstance(node, ast.Call):
        called = node.func
        name = called.attr if isinstance(called, ast.Attribute) else getattr(called, "id", "")
        text = ast.unparse(node)
        if name in TEXT_FILES and not encoding_is_given(node, name):
            yield text


def encoding_is_given(call, name):
    keywords = {keyword.arg for keyword in call.keywords}
    binary = any(
        isinstance(argument, ast.Constant) and "b" in str(argument.value)
        for argument in call.args[:2]
    )
    return (
        "encoding" in keywords or len(call.args) > TEXT_FILES[name] or (name == "open" and binary)
    )


@pytest.mark.parametrize(
    "path", LEARNER_CODE, ids=lambda path: path.relative_to(ROOT).with_suffix("").as_posix()
)
def test_learners_code_is_portable(path):
    assert not_portable(path.read_text(encoding="utf-8")) == []


@pytest.mark.parametrize(
    ("source", "found"),
    [
        ("import resource", ["resource"]),
        ("def f():\n    import subprocess", ["subprocess"]),
        ("from fcntl import flock", ["fcntl"]),
        ("signal.setitimer(1)", ["signal.setitimer"]),
        ("if hasattr(signal, 'setitimer'):\n    signal.setitimer(1)", []),
        ("if hasattr(os, 'a'):\n    pass\nelse:\n    os.fork()", ["os.fork"]),
        ("os.fork() if hasattr(os, 'fork') else os.fork()", ["os.fork"]),
        ("path.split(os.sep)", ["os.sep"]),
        ("place = '/tmp/x'", ["/tmp/x"]),
        ("open(name)", ["open(name)"]),
        ("open(name, 'rb')", []),
        ("path.read_text()", ["path.read_text()"]),
        ("path.read_text('utf-8')", []),
        ("path.write_text(text)", ["path.write_text(text)"]),
        ("path.write_text(text, encoding='utf-8')", []),
    ],
)
def test_code_that_is_not_portable_is_noticed(source, found):
    assert not_portable(source) == found


@pytest.mark.slow
def test_all_checks_of_lessons_01_to_08_run_without_pytorch_and_in_a_browser():
    result = subprocess.run(
        [sys.executable, "-W", "error", "-m", "tests.run_all_checks"],
        capture_output=True,
        text=True,
        cwd=ROOT,
    )
    assert result.returncode == 0, result.stderr[-2000:]
    assert result.stderr == ""
    checked = [e for e in EXERCISES.values() if e.kind != "written" and e.lesson != "10_gpu"]
    assert f"{len(checked)} exercises: right" in result.stdout


SMALL_TORCH = ".venv/bin/uv pip install --torch-backend cpu torch==2.13.0"


def test_lesson_10_without_pytorch_names_the_small_download():
    code = (
        "import sys; sys.modules['torch'] = None; import attention_lib; attention_lib.pick_device()"
    )
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    said = result.stderr.splitlines()[-5:]
    assert said[0].endswith("Lesson 10 needs PyTorch.")
    assert said[3:] == [f"    {SMALL_TORCH}", "    make lab"]
    assert max(map(len, said)) <= 90  # JupyterLab breaks longer lines inside words
    assert f"\n    {SMALL_TORCH}\n" in (ROOT / "docs" / "install.md").read_text(encoding="utf-8")


def test_call_has_no_time_limit_where_there_are_neither_timers_nor_threads(monkeypatch):
    def no_threads(thread):
        raise RuntimeError("can't start new thread")

    monkeypatch.delattr(timeouts.signal, "setitimer", raising=False)
    monkeypatch.setattr(threading.Thread, "start", no_threads)
    with timeouts.time_limit(0.01):
        done = sum(range(10))
    assert done == 45
