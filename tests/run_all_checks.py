"""Run every check of lessons 01 to 08 on a right and a wrong answer, with what a browser's Python has.

python -m tests.run_all_checks
"""

from __future__ import annotations

import _thread
import builtins
import contextlib
import importlib.abc
import io
import os
import signal
import socket
import sys
import threading
import time

import numpy as np

MISSING = {
    *("torch", "filelock", "psutil", "zmq"),
    *("_multiprocessing", "_posixsubprocess", "fcntl", "multiprocessing", "resource", "subprocess"),
}


class Missing(importlib.abc.MetaPathFinder):
    """An import hook that refuses some packages."""

    def __init__(self, names):
        self.names = names

    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in self.names:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)


def refused(error):
    def refuse(*_, **__):
        raise error

    return refuse


def take_away_what_a_browser_lacks():
    """Refuse threads, processes, timer signals, sockets and files written to."""
    no_threads = refused(RuntimeError("can't start new thread"))
    threading.Thread.start = no_threads
    threading._start_new_thread = no_threads
    _thread.start_new_thread = no_threads
    for name in ("fork", "forkpty", "posix_spawn", "posix_spawnp", "popen", "system"):
        if hasattr(os, name):
            setattr(os, name, refused(OSError(52, "Function not implemented")))
    socket.socket = refused(OSError(52, "Function not implemented"))
    for name in ("setitimer", "getitimer", "SIGALRM", "alarm", "pthread_kill"):
        if hasattr(signal, name):
            delattr(signal, name)
    if hasattr(time, "thread_time"):
        del time.thread_time
    really_open = builtins.open

    def open_to_read(file, mode="r", *args, **kwargs):
        if set(mode) & set("wax+"):
            raise OSError(30, "Read-only file system")
        return really_open(file, mode, *args, **kwargs)

    builtins.open = io.open = open_to_read
    for name in ("mkdir", "replace", "rename", "remove", "unlink"):
        setattr(os, name, refused(OSError(30, "Read-only file system")))


def softmax_with_two_faults(scores, axis=-1):
    exponentials = np.exp(-scores)
    return exponentials / exponentials.sum(axis=1, keepdims=True)


def sentence_on(check, name, wrong):
    """Return what the check says of a wrong answer."""
    try:
        with contextlib.redirect_stdout(io.StringIO()):
            check(name, wrong)
    except AssertionError as failed:
        return str(failed)
    raise SystemExit(f"{name}: a wrong answer passed")


def main():
    sys.dont_write_bytecode = True
    sys.meta_path.insert(0, Missing(MISSING))
    take_away_what_a_browser_lacks()
    from attention_lib import check, hint, progress, solution
    from attention_lib.exercises import EXERCISES
    from tests.exercises.answers import answers_of, as_a_learner_writes_it

    count = 0
    for name, exercise in EXERCISES.items():
        if exercise.kind == "written" or exercise.lesson == "10_gpu":
            continue
        with contextlib.redirect_stdout(io.StringIO()) as out:
            hint(name)
            solution(name)
            check(name, next(iter(answers_of(name, "RIGHT").values())))
        assert f"{name}: right." in out.getvalue()
        mistake = next(one for one in exercise.mistakes if one.variants and not one.measured)
        reply = sentence_on(check, name, as_a_learner_writes_it(mistake.variants[0]))
        assert reply.startswith(f"{name}: "), reply
        count += 1
    assert "the minus in `-scores` does not belong" in sentence_on(
        check, "softmax", softmax_with_two_faults
    )
    progress()
    loaded = {module.partition(".")[0] for module in sys.modules} & MISSING
    assert not loaded, loaded
    print(f"{count} exercises: right answers pass, wrong ones do not.")


if __name__ == "__main__":
    main()
