"""Sandboxes for the tests: started, changed inside, and asked to run cells."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterator

import pytest

from attention_lib.grading.sandbox import host
from attention_lib.grading.sandbox.host import Sandbox
from attention_lib.grading.sandbox.session import Session


@contextlib.contextmanager
def new_session(lesson: str = "01_softmax", *more) -> Iterator[Session]:
    """Start a sandbox, and a submission in it."""
    with (
        contextlib.closing(Sandbox(lesson, *more)) as sandbox,
        contextlib.closing(sandbox.open({})) as session,
    ):
        yield session


def shown(session: Session, source: str, seconds: float = 60.0) -> str:
    """Run a cell, and return what it prints, or the name of its error."""
    reply = session.ask({"do": "run", "source": source}, seconds)
    outputs = json.loads(reply["outputs"].tobytes()) if "outputs" in reply else []
    return "".join(one.get("text", one.get("ename", "")) for one in outputs).strip()


def change_inside(patch: pytest.MonkeyPatch, file: str, code: str) -> None:
    """Add code to a file in grading/ as sandboxes show it."""
    shown_library = host.visible_library

    def changed(lesson):
        files = shown_library(lesson)
        files[f"grading/{file}"] += f"\n{code}\n".encode()
        return files

    patch.setattr(host, "visible_library", changed)


def set_limits(patch: pytest.MonkeyPatch, **values: int) -> None:
    """Set limits of submissions, which hold inside sandboxes."""
    for name, value in values.items():
        change_inside(patch, "limits.py", f"SUBMISSION_{name} = {value}")
