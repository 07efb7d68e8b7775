"""Copy new lessons into learn/, without overwriting a learner's work, and open JupyterLab there.

`make lab` runs it; without make, run ``python -m attention_lib.learn``. Arguments are passed to
JupyterLab.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import platform
import re
import shlex
import sys
import webbrowser
from collections.abc import Sequence
from pathlib import Path

from attention_lib import record, standing
from attention_lib.record import RELEASES as RECORD

COURSE = Path(__file__).resolve().parents[1]
LANGUAGE_END = b'"pygments_lexer": "ipython3"'
# JupyterLab adds the kernel's version of Python, and shows a notebook without it as not saved.
WITH_VERSION = LANGUAGE_END + f',\n   "version": "{platform.python_version()}"'.encode()
NO_NEWS = {"disabledExtensions": {"@jupyterlab/apputils-extension:announcements": True}}


def update(notebooks: Path, learn: Path) -> list[str]:
    """Give the learner every new lesson, and every new version of a lesson.

    A lesson that is not in `learn` is copied there. A new version of a lesson replaces a copy that
    the learner has not changed. Otherwise it is saved once under another name, next to the
    learner's copy, which stays as it is. ``learn/.releases.json`` lists the versions given so far.
    Without that file, the current version counts as new.

    Return one sentence for each thing that was done.
    """
    learn.mkdir(parents=True, exist_ok=True)
    given = _read_record(learn / RECORD)
    copied, sentences = [], []
    for released in lessons(notebooks):
        lesson, content = released.stem, released.read_bytes()
        version = _version_of(content)
        copy, beside = learn / f"{lesson}.ipynb", learn / f"{lesson}.updated-{version}.ipynb"
        content = content.replace(LANGUAGE_END, WITH_VERSION)
        if not copy.exists():
            _write(copy, content)
            given[lesson] = [version]
            copied.append(lesson)
            continue
        own = _version_of(copy.read_bytes())
        if own != version and own in given.get(lesson, []):
            _write(copy, content)
            given[lesson].append(version)
            sentences.append(
                f"Lesson {lesson} has been updated, and with it your copy, which was as given."
            )
        elif version not in given.get(lesson, []):
            given.setdefault(lesson, []).append(version)
            if beside.exists() or own == version:
                continue
            _write(beside, content)
            sentences.append(
                f"Lesson {lesson} has been updated. Your {copy.name} is as you left it; "
                f"the new version is beside it as {beside.name}."
            )
    _write(learn / RECORD, (json.dumps(given, indent=1, sort_keys=True) + "\n").encode())
    if copied:
        sentences.insert(0, f"Your own copies to write in, in {learn.name}/: {', '.join(copied)}.")
    return sentences


def _version_of(content: bytes) -> str:
    """Return a digest of a lesson that is the same under every version of Python."""
    released = re.sub(re.escape(LANGUAGE_END) + rb',\s+"version": "[^"]*"', LANGUAGE_END, content)
    return hashlib.sha256(released).hexdigest()[:8]


def lessons(notebooks: Path) -> list[Path]:
    """Return the released lessons' notebooks in course order."""
    found = (folder / f"{folder.name}.ipynb" for folder in notebooks.glob("[0-9][0-9]_*"))
    return sorted(path for path in found if path.is_file())


def open_lab(first: Path, root: Path, arguments: Sequence[str]) -> None:
    """Open JupyterLab on the notebook `first`, with the course's folder as its root."""
    import zmq
    from jupyterlab.labapp import LabApp

    os.chdir(root)  # nbgrader looks for nbgrader_config.py there
    settings = first.parent / ".jupyter"  # turns off JupyterLab's question about news
    (settings / "labconfig").mkdir(parents=True, exist_ok=True)
    _write(settings / "labconfig" / "page_config.json", json.dumps(NO_NEWS).encode())
    paths = [str(settings), *filter(None, [os.environ.get("JUPYTER_CONFIG_PATH")])]
    os.environ["JUPYTER_CONFIG_PATH"] = os.pathsep.join(paths)
    page = f"/lab/tree/{first.relative_to(root).as_posix()}"
    flags = [f"--ServerApp.root_dir={root}", f"--LabApp.default_url={page}", "--log-level=WARN"]
    flags.append("--ServerApp.tornado_settings={'ws_ping_timeout': 30_000}")  # a longer one warns
    if zmq.has("curve"):  # a kernel warns if its connection is not encrypted
        flags.append("--KernelManager.transport_encryption=auto")
    if hasattr(os, "geteuid") and os.geteuid() == 0:
        flags.append("--allow-root")
        print("You are root: what a notebook does, it does as root.", flush=True)
    print(how_to_see(arguments), "To stop it, press Control-C here, twice.", sep="\n", flush=True)
    LabApp.launch_instance([*flags, *arguments])


def how_to_see(arguments: Sequence[str]) -> str:
    """Return where JupyterLab opens and, if this machine has no browser, what to type."""
    if "--no-browser" not in arguments:
        with contextlib.suppress(webbrowser.Error):
            webbrowser.get()
            return "JupyterLab opens in your browser; if it does not, open the last address below."
    here = "Open the last address below in your browser."
    if any(argument.startswith("--ip") for argument in arguments):
        return here
    again = shlex.join([*sys.orig_argv, "--ip=0.0.0.0"])
    return (
        f"{here} If it finds nothing there, as from outside a container or another machine, "
        f"publish the port and type:\n    {again}"
    )


def main(arguments: Sequence[str]) -> str | None:
    """Update the copies, and open the current one; return an error message if that fails."""
    notebooks, learn = COURSE / "notebooks", COURSE / "learn"
    released = lessons(notebooks)
    if not released:
        return (
            f"There are no lessons in {notebooks}. Start from a clone of the course, with the "
            "package installed from it: pip install -c requirements.lock -e ."
        )
    try:
        sentences = update(notebooks, learn)
    except OSError as problem:
        return (
            f"The lessons could not be copied to {learn}: {problem}. Where the course is "
            "read-only, clone it into a folder of your own."
        )
    for sentence in filter(None, [*sentences, record.set_aside(learn)]):
        print(sentence, flush=True)
    checks = record.read(learn)
    to_open = learn / f"{standing.lesson_to_open(checks)}.ipynb"
    if checks.last:
        print(*standing.sentences(checks, standing.lesson_of_last_check(checks))[:3], sep="\n")
    open_lab(to_open if to_open.is_file() else learn / released[0].name, COURSE, arguments)
    return None


def _read_record(path: Path) -> dict[str, list[str]]:
    """Return the versions given so far, by lesson; return nothing from a broken record."""
    try:
        record = json.loads(path.read_bytes())
        return {
            lesson: [version for version in versions if isinstance(version, str)]
            for lesson, versions in record.items()
        }
    except (OSError, ValueError, AttributeError, TypeError):
        return {}


def _write(path: Path, content: bytes) -> None:
    """Write a file in one step, so that an interruption leaves the old file or the new one."""
    part = path.with_name(path.name + ".part")
    part.write_bytes(content)
    os.replace(part, path)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
