"""What a submission's process does for the grader, and asks of it."""

import signal

import pytest

from attention_lib.checks.calls.timeouts import OutOfTime, time_limit
from attention_lib.grading.inside.conversation import Student


class SlowChannel:
    """A channel on which a time limit ends between a question and its reply."""

    def __init__(self):
        self.exchanged = []

    def send(self, message, seconds):
        signal.raise_signal(signal.SIGALRM)
        self.exchanged.append("question")

    def receive(self, seconds):
        self.exchanged.append("reply")
        return {"value": 1}


def test_time_limit_does_not_tear_a_question_from_its_reply(monkeypatch):
    channel = SlowChannel()
    student = Student(channel, None)

    def call_once():
        monkeypatch.setattr("time.process_time", lambda: 1e9)
        return student.call_back(0, "call", ())

    with pytest.raises(OutOfTime), time_limit(5.0):
        call_once()
    assert channel.exchanged == ["question", "reply"]
