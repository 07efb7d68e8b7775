"""Ignores and blocks every signal it can before it loops, so that no interrupt arrives.

Its process has to be ended. What was checked before deserves its points.
"""

ENDLESS = True
LESSON = "01_softmax"
DESERVES = {"weighted_sum": 0}
ANSWERS = {
    "weighted_sum": """
import signal

for number in range(1, 65):
    try:
        signal.signal(number, signal.SIG_IGN)
    except (OSError, ValueError):
        pass
signal.pthread_sigmask(signal.SIG_BLOCK, range(1, 65))
signal.setitimer = signal.alarm = signal.signal = lambda *_: None
while True:
    pass
"""
}
