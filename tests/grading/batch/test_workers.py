"""Each call gets one reply, whatever becomes of the processes that make it."""

import contextlib
import multiprocessing
import operator
import os
import signal
import subprocess
import sys
import time
from multiprocessing import forkserver, resource_tracker
from pathlib import Path

import pytest

from attention_lib.grading.batch.workers import Call, WorkerDied, Workers, _context
from tests.grading.batch.waiting import SECONDS, wait_until

pytestmark = pytest.mark.batch

JOBS = (0, 2)


def die(*marks):
    """Kill this process, unless a file in each of these places says that it has done so."""
    for mark in map(Path, marks):
        if not mark.exists():
            mark.write_text("")
            os.kill(os.getpid(), signal.SIGKILL)
    return "alive"


def pids_of_children():
    return {process.pid for process in multiprocessing.active_children()}


def ask_all(workers, calls):
    """Ask for all calls as a batch does, and return the answers by the calls' names."""
    answers = {name: [] for name in calls}
    waiting = list(calls.items())
    while waiting or not workers.idle:
        while waiting and workers.room > 0:
            name, (function, *arguments) = waiting.pop(0)
            workers.ask(Call(function, tuple(arguments), answers[name].append))
        workers.wait(SECONDS)
    return answers


@pytest.mark.parametrize("jobs", JOBS)
def test_each_call_gets_one_reply_with_a_value_or_an_error(jobs):
    calls = {number: (operator.truediv, 12, number) for number in range(6)}
    with Workers(jobs) as workers:
        answers = ask_all(workers, calls)
    assert all(len(given) == 1 for given in answers.values())
    assert isinstance(answers.pop(0)[0].error, ZeroDivisionError)
    assert [given[0].value for given in answers.values()] == [12, 6, 4, 3, 2.4]


def test_two_calls_per_worker_are_handed_out():
    with Workers(2) as workers:
        for _ in range(4):
            assert workers.room > 0
            workers.ask(Call(time.sleep, (0.1,), lambda answer: None))
        assert workers.room == 0
        while not workers.idle:
            workers.wait()
        assert workers.room == 4


def test_calls_are_made_in_the_main_thread_of_other_processes():
    with Workers(2) as workers:
        answers = ask_all(
            workers, {"pid": (os.getpid,), "handle": (signal.signal, signal.SIGALRM, 0)}
        )
    assert answers["pid"][0].value != os.getpid()
    assert answers["handle"][0].error is None  # only a main thread may


def test_call_whose_worker_died_is_retried(tmp_path):
    calls = {number: (operator.neg, number) for number in range(8)}
    calls["dies once"] = (die, str(tmp_path / "once"))
    calls["dies twice"] = (die, str(tmp_path / "one"), str(tmp_path / "two"))
    with Workers(2) as workers:
        answers = ask_all(workers, calls)
    assert all(len(given) == 1 for given in answers.values())
    assert {name: given[0].value for name, given in answers.items()} == {
        **{number: -number for number in range(8)},
        "dies once": "alive",
        "dies twice": "alive",
    }


def test_call_that_kills_workers_is_abandoned_and_others_finish():
    calls = {number: (operator.neg, number) for number in range(8)}
    calls["deadly"] = (os._exit, 3)
    with Workers(2) as workers:
        answers = ask_all(workers, calls)
    (deadly,) = answers.pop("deadly")
    assert isinstance(deadly.error, WorkerDied)
    assert str(deadly.error) == "3 processes that ran it have died"
    assert [given[0].value for given in answers.values()] == [-number for number in range(8)]


def test_call_that_takes_too_long_is_killed_and_others_finish():
    replies = []
    with Workers(1) as workers:
        workers.ask(Call(time.sleep, (10 * SECONDS,), replies.append, seconds=0.2))
        workers.ask(Call(operator.neg, (1,), replies.append))
        while not workers.idle:
            workers.wait(SECONDS)
    assert isinstance(replies[0].error, TimeoutError)
    assert replies[1].value == -1


def test_an_exception_stops_the_workers_at_once():
    before = pids_of_children()
    with contextlib.suppress(KeyboardInterrupt), Workers(2) as workers:
        for _ in range(4):
            workers.ask(Call(time.sleep, (10 * SECONDS,), lambda answer: None))
        raise KeyboardInterrupt
    wait_until(lambda: not pids_of_children() - before)


PARENT = """
import os, signal, time
from attention_lib.grading.batch.workers import Call, Workers

def slow_pid():
    time.sleep(0.5)  # so that each worker makes a call
    return os.getpid()

if __name__ == "__main__":
    with Workers(2) as workers:
        for _ in range(2):
            workers.ask(Call(slow_pid, (), lambda reply: print(reply.value, flush=True)))
        while not workers.idle:
            workers.wait()
        {then}
"""


def start_parent(tmp_path, then):
    script = tmp_path / "parent.py"
    script.write_text(PARENT.format(then=then))
    return subprocess.Popen(
        [sys.executable, str(script)], stdout=subprocess.PIPE, text=True, start_new_session=True
    )


def is_running(pid):
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except FileNotFoundError:
        return False
    return state != "Z"  # dead, and not yet buried by whoever adopted it


@pytest.mark.skipif(not Path("/proc/self").exists(), reason="there is no /proc here")
def test_workers_end_with_a_process_that_was_killed(tmp_path):
    parent = start_parent(tmp_path, "time.sleep(600)")
    pids = [int(parent.stdout.readline()) for _ in range(2)]
    assert all(map(is_running, pids))
    parent.kill()
    parent.wait()
    parent.stdout.close()
    wait_until(lambda: not any(map(is_running, pids)))


def test_control_c_reaches_only_the_process_that_gave_the_work(tmp_path):
    then = (
        "signal.signal(signal.SIGINT, lambda *_: None); os.killpg(0, signal.SIGINT); "
        "workers.ask(Call(slow_pid, (), lambda reply: print(reply.value, flush=True))); "
        "workers.wait()"
    )
    parent = start_parent(tmp_path, then)
    told, _ = parent.communicate(timeout=SECONDS)
    first, second, third = map(int, told.split())
    assert third in (first, second)
    assert parent.returncode == 0


def blocked_signals():
    return signal.pthread_sigmask(signal.SIG_BLOCK, ())


def exit_with_blocked_signals():
    sys.exit(len(blocked_signals()))


def test_worker_starts_with_sigint_blocked():
    forkserver._forkserver._stop()  # which another test may have started in another way
    resource_tracker._resource_tracker._stop()  # whose start unblocks SIGINT
    with Workers(1) as workers:
        answers = ask_all(workers, {"later": (blocked_signals,)})
    assert answers["later"][0].value == set()
    worker = _context().Process(target=exit_with_blocked_signals)
    worker.start()
    worker.join()
    assert worker.exitcode == 1
