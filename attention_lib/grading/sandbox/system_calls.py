"""List the system calls that a submission may make: an allow-list by name.

Other calls make objects that no limit counts (sockets, message queues, keys, files in memory,
io_uring), or have no use here. Not every processor has all of these calls: newer ones have no
number for a call that was replaced.
"""

from __future__ import annotations

LISTED = """
# Files: read, write, look at, make, remove. What is in them is limited by the file system.
read write readv writev pread64 pwrite64 preadv pwritev preadv2 pwritev2 lseek close
close_range open openat openat2 access faccessat faccessat2 stat lstat fstat newfstatat
statx statfs fstatfs readlink readlinkat getdents getdents64 getcwd chdir fchdir mkdir
mkdirat rmdir unlink unlinkat rename renameat renameat2 link linkat symlink symlinkat chmod
fchmod fchmodat umask truncate ftruncate fallocate fsync fdatasync utimensat dup dup2 dup3
flock ioctl sendfile copy_file_range fadvise64
# Memory of the process's own.
munmap mremap mprotect madvise msync mincore brk membarrier
# Pipes and descriptors to wait with: RLIMIT_NOFILE limits their number.
pipe pipe2 eventfd2 epoll_create1 epoll_ctl epoll_wait epoll_pwait epoll_pwait2 poll ppoll
select pselect6
# Using the socket to the grader, and pairs of sockets.
sendto recvfrom shutdown getsockopt getsockname getpeername
# Processes, of which RLIMIT_NPROC limits the number. No sessions: the scheduler shares by them.
fork vfork execve execveat exit exit_group wait4 waitid kill tkill tgkill getpid gettid
getppid setpgid getpgid getpgrp getsid getuid geteuid getgid getegid getresuid getresgid
getgroups
# Signals and timers of the process.
rt_sigaction rt_sigprocmask rt_sigreturn rt_sigpending rt_sigsuspend rt_sigtimedwait
sigaltstack pause alarm getitimer setitimer restart_syscall
# Threads.
futex set_robust_list rseq set_tid_address arch_prctl prctl sched_yield sched_getaffinity
sched_getparam sched_getscheduler sched_get_priority_max sched_get_priority_min getpriority
# Time, limits, random bytes, what the system is.
clock_gettime clock_getres clock_nanosleep nanosleep gettimeofday time times getrusage
getrlimit setrlimit prlimit64 sysinfo uname getcpu getrandom
"""
SYSTEM_CALLS = tuple(
    name for line in LISTED.splitlines() if not line.startswith("#") for name in line.split()
)
