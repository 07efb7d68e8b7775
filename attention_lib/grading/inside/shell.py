"""Run cells in an IPython shell without a kernel, and collect their outputs."""

from __future__ import annotations

import builtins
import contextlib
import functools
import getpass
import io
import pdb
import sys
from typing import Any

from IPython.core import debugger
from IPython.core.displayhook import DisplayHook
from IPython.core.displaypub import DisplayPublisher
from IPython.core.interactiveshell import InteractiveShell
from traitlets.config import Config

from attention_lib.grading.inside.outputs import Outputs


class _Stream(io.TextIOBase):
    """sys.stdout or sys.stderr while a cell runs."""

    def __init__(self, shell: Shell, name: str) -> None:
        self._shell, self._name = shell, name

    def write(self, text: str) -> int:
        if not isinstance(text, str):
            raise TypeError(f"write() argument must be str, not {type(text).__name__}")
        self._shell.outputs.write(self._name, text)
        return len(text)

    def writable(self) -> bool:
        return True

    @property
    def encoding(self) -> str:  # type: ignore[override]
        return "utf-8"


class _Publisher(DisplayPublisher):
    def publish(self, data: dict[str, Any], *_: Any, **__: Any) -> None:
        self.shell.outputs.display(data)

    def clear_output(self, wait: bool = False) -> None:
        self.shell.outputs.shown.clear()


class _Hook(DisplayHook):
    def write_output_prompt(self) -> None:
        pass

    def write_format_data(self, format_dict: dict[str, Any], md_dict: Any = None) -> None:
        assert isinstance(self.shell, Shell)
        self.shell.outputs.display(format_dict, self.shell.execution_count)

    def finish_displayhook(self) -> None:
        pass


class Shell(InteractiveShell):
    """IPython's shell, configured as in a notebook."""

    outputs: Outputs = Outputs()

    def enable_gui(self, gui: str | None = None) -> None:
        """Do nothing: figures are shown inline, not in windows."""

    def ask_exit(self) -> None:
        """Do nothing on `exit`, so that the cells below run."""

    def _showtraceback(self, etype: Any, evalue: Any, stb: list[str]) -> None:
        self.outputs.error(getattr(etype, "__name__", str(etype)), str(evalue), stb)


def make_shell() -> Shell:
    """Make the one shell of this process, with figures inline as in a notebook."""
    config = Config()
    config.HistoryManager.enabled = False
    config.InteractiveShell.colors = "nocolor"
    shell = Shell.instance(config=config, display_pub_class=_Publisher, displayhook_class=_Hook)
    with contextlib.suppress(ImportError):
        shell.enable_matplotlib("inline")
    sys.path[:] = [folder for folder in sys.path if folder]
    _do_without_a_person()
    return shell


def _do_without_a_person() -> None:
    """Pass over breakpoints, and refuse to ask for input: nobody is there to answer."""
    sys.breakpointhook = pdb.set_trace = debugger.set_trace = _pass_over
    for module, name in ((builtins, "input"), (getpass, "getpass")):
        setattr(module, name, functools.partial(_refuse_to_ask, name))


def _pass_over(*_: Any, **__: Any) -> None:
    pass


def _refuse_to_ask(name: str, *_: Any, **__: Any) -> None:
    raise EOFError(
        f"{name}() waits for somebody to type, and nobody is there while this is graded: write "
        "what it should return in its place."
    )


def run_cell(shell: Shell, source: str) -> list[dict[str, Any]]:
    """Run a cell and return its outputs, of which an error is one."""
    shell.outputs = outputs = Outputs()
    streams = sys.stdout, sys.stderr
    sys.stdout, sys.stderr = _Stream(shell, "stdout"), _Stream(shell, "stderr")
    try:
        result = shell.run_cell(source, store_history=True)
    finally:
        sys.stdout, sys.stderr = streams
    error = result.error_before_exec or result.error_in_exec
    if error and not any(one["output_type"] == "error" for one in outputs.shown):
        outputs.error(
            type(error).__name__, str(error), []
        )  # a handler of the student's showed none
    return outputs.shown
