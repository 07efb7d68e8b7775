"""Starts programs in the background and waits for none of them.

The answers are right: it deserves full marks, and nothing of it survives.
"""

LESSON = "01_softmax"
DESERVES = "full"
ABOVE = """
import subprocess

subprocess.Popen(["nohup", "setsid", "sh", "-c", ": @MARK@; sleep 600"], start_new_session=True)
!nohup sleep 600 >/dev/null 2>&1 &
get_ipython().system("(sleep 600; : @MARK@) &")
"""
