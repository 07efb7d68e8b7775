"""Replies one byte after the other, with a rest between them, so that something always comes.

What was checked before deserves its points; the answer that is sent like this deserves none.
"""

ENDLESS = True
LESSON = "01_softmax"
DESERVES = {"weighted_sum": 0}
ANSWERS = {
    "weighted_sum": """
import socket, time

def weighted_sum(weights, values):
    connection = socket.socket(fileno=3)
    for byte in (1000).to_bytes(4, "big") + bytes(1000):
        connection.sendall(bytes([byte]))
        time.sleep(0.05)
"""
}
