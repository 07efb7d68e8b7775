"""Turns off the timer that would stop it and sleeps in each call, which then ends in an error.

A handler that does nothing, a blocked signal and a timer that never comes are three ways to it. The
three answers deserve nothing. The value that one of them is called for is right with ours in its place.
"""

ENDLESS = True
LESSON = "01_softmax"
DESERVES = {"normalize_by_sum": 0, "weighted_sum": 0, "softmax": 0}
ANSWERS = {
    "normalize_by_sum": """
import signal, time

def normalize_by_sum(scores):
    signal.signal(signal.SIGALRM, lambda *_: None)
    time.sleep(30)
    raise ValueError
""",
    "weighted_sum": """
def weighted_sum(weights, values):
    signal.setitimer(signal.ITIMER_REAL, 0)
    time.sleep(30)
    raise ValueError
""",
    "softmax": """
def softmax(scores, axis=-1):
    signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGALRM])
    time.sleep(30)
    raise ValueError
""",
}
