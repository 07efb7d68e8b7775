"""The program inside the sandbox, which `sandbox.py` starts with the number of a socket."""

from __future__ import annotations

import json
import os
import socket
import sys

from attention_lib.grading.inside.conversation import converse
from attention_lib.grading.inside.fork_server import serve
from attention_lib.grading.inside.shell import make_shell
from attention_lib.grading.inside.wire import SECRET, Channel


def main(arguments: list[str]) -> None:
    """Serve inside a sandbox, or without one connect back to the grader for one submission."""
    settings = json.loads(arguments[1])
    if "limits" in settings:
        control = socket.socket(fileno=int(arguments[0]))
        serve(control, settings["limits"], settings["modules"])
    else:
        connection = socket.create_connection(("127.0.0.1", int(arguments[0])))
        connection.sendall(os.environ.pop(SECRET).encode())
        converse(Channel(connection), make_shell())


if __name__ == "__main__":
    main(sys.argv[1:])
