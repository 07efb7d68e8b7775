"""Leaves a file with its answers wherever a later submission might find it.

The friend is `secrets_left_for_a_friend_found`, graded soon after. The answers are right: it
deserves full marks, and no later submission finds the note.
"""

DESERVES = "full"
ABOVE = """
import ctypes, os, sys, socket
from multiprocessing import shared_memory

note = b"@NOTE@"
places = ["/tmp", "/var/tmp", "/dev/shm", "/run", "/run/lock", ".", "..", "/home", "/root"]
places += ["/mnt", "/srv", "/opt", "/var/cache", "/dev", "/dev/mqueue", "@HOME@", "@COURSE@", *sys.path]
for place in places:
    try:
        with open(place + "/@MARK@", "wb") as file:
            file.write(note)
        os.chmod(place + "/@MARK@", 0o777)
    except OSError:
        pass
try:
    shared_memory.SharedMemory("@MARK@", create=True, size=100, track=False).buf[:len(note)] = note
except Exception:
    pass
line = socket.socket(socket.AF_UNIX)
line.bind("\\0@MARK@")
line.listen()
add_key = {"x86_64": 248, "aarch64": 217}.get(os.uname().machine, 0)
for ring in (-3, -4, -5):
    ctypes.CDLL(None).syscall(add_key, b"user", b"@MARK@", note, len(note), ctypes.c_long(ring))
np.note = lib.note = sys.note = note
"""
