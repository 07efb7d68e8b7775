"""Keeps its process from ending: by exit handlers, threads and finalizers.

The answers are right: it deserves full marks, and nothing of it survives.
"""

LESSON = "01_softmax"
DESERVES = "full"
BELOW = """
import atexit, signal, threading, time

signal.signal(signal.SIGTERM, signal.SIG_IGN)
atexit.register(time.sleep, 600)
threading.Thread(target=time.sleep, args=(600,)).start()

class Clinging:
    __del__ = lambda self: time.sleep(600)

clinging = Clinging()
"""
