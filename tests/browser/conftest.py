"""JupyterLab as a new user meets it: opened by `attention_lib.learn`, in a real Chromium.

The course's lessons are used where they lie; the learner's copies, Jupyter's settings and the
home folder are new and empty, so nothing of whoever runs the tests leaks in.
"""

from __future__ import annotations

import json
import os
import shlex
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, sync_playwright

ROOT = Path(__file__).parents[2]
START = "import sys, pathlib; from attention_lib import learn; \
learn.COURSE = pathlib.Path(sys.argv[1]); sys.exit(learn.main(sys.argv[2:]))"
# A setting that changes nothing for the learner but lets a test find every cell.
SETTINGS = {"@jupyterlab/notebook-extension/tracker": {"windowingMode": "none"}}
SECONDS_TO_START = 90


# Playwright keeps an event loop running, which nothing else in the process may meet: it ends with
# the module that uses it.
@pytest.fixture(scope="module")
def chromium() -> Iterator[Browser]:
    executable = shutil.which("chromium")
    if executable is None:
        pytest.skip("chromium is not installed (on Debian: apt-get install chromium)")
    sandbox = [] if os.name != "posix" or os.geteuid() else ["--no-sandbox"]
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=executable, args=sandbox)
        yield browser
        browser.close()


@pytest.fixture(scope="module")
def lab(chromium: Browser, tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, Path]]:
    """The address that JupyterLab opens for a learner's first `make lab`, and its log."""
    home = tmp_path_factory.mktemp("home")
    course = tmp_path_factory.mktemp("course")
    (course / "notebooks").symlink_to(ROOT / "notebooks", target_is_directory=True)
    environment = new_user(home)
    visited = record_visits(home, environment)
    flags = ["--ip=127.0.0.1", "--port=0", "--ServerApp.use_redirect_file=False"]
    log = home / "jupyterlab.log"
    with log.open("w") as output:
        server = subprocess.Popen(
            [sys.executable, "-c", START, str(course), *flags],
            env=environment,
            cwd=course,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
        )
    try:
        deadline = time.monotonic() + SECONDS_TO_START
        while not visited.exists():
            if server.poll() is not None or time.monotonic() > deadline:
                pytest.fail(f"JupyterLab did not open a browser. It said:\n{log.read_text()}")
            time.sleep(0.05)
        yield visited.read_text(), log
    finally:
        server.terminate()
        try:
            server.wait(timeout=20)
        except subprocess.TimeoutExpired:
            server.kill()
            server.wait()


@pytest.fixture
def page(chromium: Browser) -> Iterator[Page]:
    """A browser window of its own, with nothing stored from before."""
    context = chromium.new_context(viewport={"width": 1400, "height": 1000})
    yield context.new_page()
    context.close()


def new_user(home: Path) -> dict[str, str]:
    """Return an environment in which every place for settings lies below `home`."""
    environment = {
        name: value for name, value in os.environ.items() if not name.startswith("JUPYTER")
    }
    environment |= {
        "HOME": str(home),
        "USERPROFILE": str(home),
        "IPYTHONDIR": str(home / "ipython"),
        "JUPYTER_CONFIG_DIR": str(home / "config"),
        "JUPYTER_DATA_DIR": str(home / "data"),
        "JUPYTER_RUNTIME_DIR": str(home / "runtime"),
        "JUPYTERLAB_SETTINGS_DIR": str(home / "settings"),
        "JUPYTERLAB_WORKSPACES_DIR": str(home / "workspaces"),
        "MPLCONFIGDIR": str(home / "matplotlib"),
        "XDG_CONFIG_HOME": str(home / "config"),
        "XDG_CACHE_HOME": str(home / "cache"),
    }
    for plugin, values in SETTINGS.items():
        path = home / "settings" / f"{plugin}.jupyterlab-settings"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(values))
    return environment


def record_visits(home: Path, environment: dict[str, str]) -> Path:
    """Put a browser in `environment` that only writes down the address it is given."""
    visited, script = home / "visited", home / "browser.py"
    script.write_text(
        "import os, pathlib, sys\n"
        f"part = pathlib.Path({str(visited)!r} + '.part')\n"
        "part.write_text(sys.argv[1])\n"
        f"os.replace(part, {str(visited)!r})\n"
    )
    environment["BROWSER"] = f"{shlex.quote(sys.executable)} {shlex.quote(str(script))} %s"
    return visited
