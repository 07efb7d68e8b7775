"""Leaves daemons behind: processes that are forked twice, in sessions or groups of their own.

They ignore signals; others are started by the shell, in the background. The answers are right: it
deserves full marks, and nothing of it survives.
"""

LESSON = "01_softmax"
DESERVES = "full"
ABOVE = """
import os, signal, time

if os.fork() == 0:
    try:
        os.setsid()
    except OSError:
        os.setpgid(0, 0)
    for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGINT, signal.SIGPIPE):
        signal.signal(number, signal.SIG_IGN)
    if os.fork() == 0:
        os.closerange(0, 65_536)
        os.execv("/bin/sh", ["@MARK@", "-c", "trap '' TERM HUP INT; sleep 600; sleep 600"])
    os._exit(0)

import subprocess

daemon = ["sh", "-c", ": @MARK@; sleep 600"]
for command, group in ((["setsid", *daemon], {"start_new_session": True}), (daemon, {"process_group": 0})):
    try:
        subprocess.Popen(["nohup", *command], **group)
    except OSError as error:
        print(error)
!nohup sleep 600 >/dev/null 2>&1 &
get_ipython().system("(sleep 600; : @MARK@) &")
"""
