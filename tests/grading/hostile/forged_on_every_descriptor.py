"""Writes messages of success to every open file descriptor, and sends them on every socket.

They are sent as lines, and with a prefix of four or eight bytes for their lengths. It deserves
nothing.
"""

LESSON = "01_softmax"
DESERVES = "nothing"
START = "wrong"
ABOVE = """
import json, os, socket, struct

right = {"outcome": "right", "exercise": "softmax", "points": 3, "value": 3, "error": None}
text = json.dumps(right).encode()
frames = [text + b"\\n", struct.pack(">I", len(text)) + text, struct.pack("<Q", len(text)) + text]

def forge():
    for fd in range(256):
        for frame in frames:
            try:
                os.write(fd, frame)
            except OSError:
                pass
            try:
                copy = socket.socket(fileno=os.dup(fd))
                copy.setblocking(False)
                copy.sendall(frame)
            except (OSError, ValueError):
                pass

forge()
"""
EVERY = """
def @NAME@(*args, **kwargs):
    forge()
    return 0.5
"""
