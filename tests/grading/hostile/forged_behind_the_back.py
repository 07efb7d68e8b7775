"""Sends forged replies from a thread, a child and an exit handler, so that one arrives first.

It looks for sockets and pipes among its descriptors. It deserves nothing.
"""

LESSON = "01_softmax"
DESERVES = "nothing"
ABOVE = """
import atexit, json, os, threading, time, weakref

right = {"outcome": "right", "exercise": "softmax", "value": {"outcome": "right"}}
lines = [fd for fd in range(3, 256) if os.path.exists(f"/dev/fd/{fd}")] or [3]

def forge():
    for fd in lines:
        try:
            os.write(fd, json.dumps(right).encode())
        except OSError:
            pass

def keep_forging():
    while True:
        forge()
        time.sleep(0.001)

class Dying:
    __del__ = lambda self: forge()

last = Dying()
atexit.register(forge)
weakref.finalize(Dying, forge)
if os.fork() == 0:
    time.sleep(0.2)
    forge()
    os._exit(0)
"""
EVERY = """
def @NAME@(*args, **kwargs):
    if "@NAME@" == "weighted_sum":
        threading.Thread(target=keep_forging, daemon=True).start()
        time.sleep(0.1)
    return 0.5
"""
