"""Run inside the sandbox as the fork server, or without a sandbox as one submission's process.

Usage: ``serve DESCRIPTOR SETTINGS``, with the descriptor of a socket, or ``connect PORT``.
"""

from __future__ import annotations

import json
import os
import socket
import sys

from attention_lib.grading.inside.conversation import converse
from attention_lib.grading.inside.fork_server import serve
from attention_lib.grading.inside.settings import Settings
from attention_lib.grading.inside.shell import make_shell
from attention_lib.grading.inside.wire import CONNECTION_TOKEN, Channel


def main(command: str, number: str, settings: str = "") -> None:
    """Serve in a sandbox; or, without one, connect to the grader for one submission."""
    if command == "serve":
        serve(socket.socket(fileno=int(number)), Settings(**json.loads(settings)))
    else:
        connection = socket.create_connection(("127.0.0.1", int(number)))
        connection.sendall(os.environ.pop(CONNECTION_TOKEN).encode())
        converse(Channel(connection), make_shell())


if __name__ == "__main__":
    main(*sys.argv[1:])
