"""An IPython shell without a kernel: it runs a cell and returns its outputs, cut at the source."""

from __future__ import annotations

import contextlib
import io
import sys
from typing import Any

from IPython.core.displayhook import DisplayHook
from IPython.core.displaypub import DisplayPublisher
from IPython.core.interactiveshell import InteractiveShell
from traitlets.config import Config

MOST_CHARACTERS = 100_000  # of text that one cell shows
MOST_RICH_CHARACTERS = 4_000_000  # of pictures, HTML and the like
MOST_OUTPUTS = 200
CUT = "\n[The rest of this cell's output is left out: it is too long.]\n"


class Outputs:
    """What one cell has shown so far, as nbformat writes it."""

    def __init__(self) -> None:
        self.shown: list[dict[str, Any]] = []
        self._characters = MOST_CHARACTERS
        self._rich_characters = MOST_RICH_CHARACTERS

    def write(self, name: str, text: str) -> None:
        """Add text to a stream, together with what was written just before."""
        if self._characters <= 0:
            return
        if len(text) > self._characters or len(self.shown) >= MOST_OUTPUTS:
            text, self._characters = text[: self._characters] + CUT, 0
        self._characters -= len(text)
        last = self.shown[-1] if self.shown else {}
        if last.get("output_type") == "stream" and last["name"] == name:
            last["text"] += text
        else:
            self.shown.append({"output_type": "stream", "name": name, "text": text})

    def display(self, data: dict[str, Any], count: int | None = None) -> None:
        """Add something rich: text by MIME type. Its metadata are the student's, and stay here."""
        bundle = {str(kind): content for kind, content in data.items() if isinstance(content, str)}
        self._rich_characters -= sum(map(len, bundle.values()))
        if self._rich_characters < 0 or len(self.shown) >= MOST_OUTPUTS:
            self.write("stdout", CUT)
            self._characters = 0
            return
        shown: dict[str, Any] = {"output_type": "display_data", "data": bundle, "metadata": {}}
        if count is not None:
            shown.update(output_type="execute_result", execution_count=count)
        self.shown.append(shown)

    def error(self, name: str, text: str, traceback: list[str]) -> None:
        """Add the error that ended the cell."""
        lines = [line[:20_000] for line in traceback[:50]]
        self.shown.append(
            {"output_type": "error", "ename": name, "evalue": text[:5000], "traceback": lines}
        )


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
        self.shell.outputs.display(format_dict, self.shell.execution_count)

    def finish_displayhook(self) -> None:
        pass


class Shell(InteractiveShell):
    """IPython as a notebook's kernel has it, but for the kernel."""

    outputs: Outputs = Outputs()

    def enable_gui(self, gui: str | None = None) -> None:
        """Have no windows: figures are shown inline."""

    def ask_exit(self) -> None:
        """Go on after `exit`, so that the cells below run."""

    def _showtraceback(self, etype: Any, evalue: Any, stb: list[str]) -> None:
        self.outputs.error(getattr(etype, "__name__", str(etype)), str(evalue), stb)


def make_shell() -> Shell:
    """Make the one shell of this process, with figures inline as in a notebook."""
    config = Config()
    config.HistoryManager.enabled = False
    config.InteractiveShell.colors = "nocolor"
    config.InteractiveShell.banner1 = ""
    shell = Shell.instance(config=config, display_pub_class=_Publisher, displayhook_class=_Hook)
    with contextlib.suppress(ImportError):
        shell.enable_matplotlib("inline")
    sys.path[:] = [folder for folder in sys.path if folder]
    return shell


def run_cell(shell: Shell, source: str) -> list[dict[str, Any]]:
    """Run a cell and return what it showed; an error in it is one of its outputs."""
    shell.outputs = outputs = Outputs()
    kept = sys.stdout, sys.stderr
    sys.stdout, sys.stderr = _Stream(shell, "stdout"), _Stream(shell, "stderr")
    try:
        shell.run_cell(source, store_history=True)
    finally:
        sys.stdout, sys.stderr = kept
    return outputs.shown
