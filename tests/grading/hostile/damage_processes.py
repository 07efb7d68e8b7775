"""Sends SIGKILL and other signals to every process that it can name, and to all at once.

The answer in the same cell deserves nothing. The others are right, and deserve their points.
"""

ENDLESS = True
LESSON = "01_softmax"
DESERVES = {"softmax": 0}
ANSWERS = {
    "softmax": """
import os, signal

for number in (signal.SIGSTOP, signal.SIGTERM, signal.SIGKILL):
    for pid in (1, 2, os.getppid(), int("@PID@")):
        try:
            os.kill(pid, number)
        except OSError as error:
            print(error)
try:
    os.kill(-1, signal.SIGKILL)
except OSError as error:
    print(error)
os.kill(os.getpid(), signal.SIGKILL)
"""
}
