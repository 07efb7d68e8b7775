"""Reads whatever its process has inherited: open files, pipes, sockets and shared memory.

The answers are right: it deserves full marks, and finds nothing.
"""

DESERVES = "full"
ABOVE = """
import glob, os

for link in glob.glob("/proc/self/fd/*") + glob.glob("/proc/*/fd/*"):
    try:
        print(link, os.readlink(link))
        if os.path.isfile(link):
            print(open(link, "rb").read(1_000_000))
        if os.path.isdir(link):
            print(os.listdir(link), os.listdir(link + "/.."))
    except OSError as error:
        print(error)
for path in glob.glob("/dev/shm/*") + glob.glob("/run/**", recursive=True) + ["/proc/keys"]:
    try:
        print(path, os.path.isfile(path) and open(path, "rb").read(100_000))
    except OSError as error:
        print(error)
print(open("/proc/net/unix").read(), open("/proc/sysvipc/shm").read())
"""
