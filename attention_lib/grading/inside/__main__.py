"""Run inside the sandbox as the fork server, or without a sandbox as one submission's process.

Usage: ``serve DESCRIPTOR SETTINGS`` or ``converse DESCRIPTOR``, with the descriptor of a socket.
"""

from __future__ import annotations

import json
import socket
import sys

from attention_lib.grading.inside.conversation import converse
from attention_lib.grading.inside.fork_server import serve
from attention_lib.grading.inside.settings import Settings
from attention_lib.grading.inside.shell import make_shell
from attention_lib.grading.inside.wire import Channel


def main(command: str, number: str, settings: str = "") -> None:
    """Serve in a sandbox; or, without one, talk to the grader about one submission."""
    connection = socket.socket(fileno=int(number))
    if command == "serve":
        serve(connection, Settings(**json.loads(settings)))
    else:
        converse(Channel(connection), make_shell())


if __name__ == "__main__":
    main(*sys.argv[1:])
