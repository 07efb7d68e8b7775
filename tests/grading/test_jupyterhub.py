"""A lesson goes out and comes back on a hub that is set up as docs/teaching.md says.

Servers are started with the settings of that page, each in a home folder of its own: by a real
JupyterHub where one is installed, and otherwise as it would start them.
"""

from __future__ import annotations

import contextlib
import functools
import importlib.util
import json
import os
import re
import shutil
import socket
import subprocess
import sys
import textwrap
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from email.message import Message
from pathlib import Path
from typing import TypeVar

import pytest
from nbgrader.exchange import ExchangeFactory
from nbgrader.utils import get_username

from attention_lib.grading.classroom.course import Course
from attention_lib.grading.release import release
from tests.grading.sample_class import LESSONS, ROOT, make_course, quietly

LESSON = LESSONS[0]
TOKEN = "a-token-of-this-test"
SECONDS_TO_START = 90
FILE = re.compile(r"^`([^`\n]+)`[^\n]*:\n\n((?:    .*\n|\n)+)", re.MULTILINE)
HUB = """
import os
c.JupyterHub.bind_url = "http://127.0.0.1:{port}"
c.JupyterHub.hub_bind_url = "http://127.0.0.1:{hub_port}"
c.ConfigurableHTTPProxy.api_url = "http://127.0.0.1:{proxy_port}"
c.JupyterHub.db_url = "sqlite://"
c.JupyterHub.cookie_secret = os.urandom(32)
c.JupyterHub.authenticator_class = "dummy"
c.Authenticator.allowed_users = {{"ines", "ada"}}
c.JupyterHub.spawner_class = "simple"
c.SimpleLocalProcessSpawner.home_dir_template = "{homes}/{{username}}"
c.Spawner.cmd = [{python!r}, "-m", "jupyterhub.singleuser"]
c.Spawner.args = ["--allow-root"]
c.Spawner.start_timeout = c.Spawner.http_timeout = {seconds}
c.JupyterHub.services = [{{"name": "test", "api_token": {token!r}}}]
c.JupyterHub.load_roles = [
    {{"name": "test", "services": ["test"], "scopes": ["admin:servers", "access:servers"]}}
]
"""


T = TypeVar("T")


@dataclass
class Machine:
    """A machine with the documented files, the course's folder, an exchange and home folders."""

    folder: Path

    @property
    def course(self) -> Course:
        return Course(self.folder / "attention")

    @property
    def settings(self) -> Path:
        return self.folder / "etc"

    @property
    def hub_settings(self) -> Path:
        return self.folder / "jupyterhub_config.py"

    def home(self, user: str) -> Path:
        return self.folder / "home" / user

    def runtime(self, user: str) -> Path:
        """Return the folder where a user's server writes down its address."""
        return self.home(user) / "runtime"

    def write_settings(self) -> None:
        """Write the files of docs/teaching.md, with this machine's folders in them."""
        page = (ROOT / "docs" / "teaching.md").read_text("utf-8")
        section = page.split("\n## JupyterHub\n")[1].split("\n## ")[0]
        for name, content in FILE.findall(section):
            path = Path(self._here(name))
            path = path if path.is_absolute() else self.folder / path
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(self._here(textwrap.dedent(content)), "utf-8")

    def _here(self, text: str) -> str:
        # Jupyter finds /etc/jupyter by itself, and the folder in its place by the same variable.
        text = text.replace('"/etc/jupyter/students"', f'"{self.config_path("ada")}"')
        text = text.replace(
            '"JUPYTER_CONFIG_PATH": None', f'"JUPYTER_CONFIG_PATH": "{self.settings}"'
        )
        for there, here in {
            "/etc/jupyter": self.settings,
            "/srv/attention": self.course.root,
            "/srv/exchange": self.folder / "exchange",
        }.items():
            text = text.replace(there, str(here))
        return text

    def config_path(self, user: str) -> str:
        students = [str(self.settings / "students")] if user != "ines" else []
        return os.pathsep.join([*students, str(self.settings)])

    def environment(self, user: str) -> dict[str, str]:
        home = str(self.home(user))
        outer = {name: value for name, value in os.environ.items() if "JUPYTER" not in name}
        mine = {"HOME": home, "IPYTHONDIR": home, "JUPYTER_RUNTIME_DIR": str(self.runtime(user))}
        return {**outer, **mine, "JUPYTER_CONFIG_PATH": self.config_path(user)}


@pytest.fixture
def machine(tmp_path) -> Machine:
    machine = Machine(tmp_path)
    machine.course.root.mkdir()
    make_course(machine.course.root, LESSON)
    (machine.folder / "exchange").mkdir()
    (machine.folder / "exchange").chmod(0o1777)
    for user in ("ines", "ada"):
        machine.home(user).mkdir(parents=True)
    machine.write_settings()
    return machine


@dataclass
class Server:
    """A user's Jupyter server."""

    address: str

    def ask(self, path: str, form: dict[str, str] | None = None) -> tuple[Message, str]:
        """Get a page, or with a form post it; return the answer's headers and text."""
        body = None if form is None else json.dumps(form).encode()
        headers = {"Authorization": f"token {TOKEN}", "Content-Type": "application/json"}
        request = urllib.request.Request(f"{self.address}{path}", body, headers)
        with urllib.request.urlopen(request, timeout=SECONDS_TO_START) as answer:
            return answer.headers, answer.read().decode()

    def refuses(self, path: str) -> bool:
        with pytest.raises(urllib.error.HTTPError) as error:
            self.ask(path)
        error.value.close()
        return error.value.code == 404

    def assignments(self) -> list[dict]:
        answer = json.loads(self.ask("/assignments?course_id=attention")[1])
        assert answer["success"], answer["value"]
        return answer["value"]


@contextlib.contextmanager
def running(command: list[str], log: Path, **settings) -> Iterator[subprocess.Popen]:
    with log.open("w") as output:
        process = subprocess.Popen(command, stdout=output, stderr=subprocess.STDOUT, **settings)
    try:
        yield process
    except BaseException:
        print(log.read_text())  # pytest shows it with the failure
        raise
    finally:
        process.terminate()
        try:
            process.wait(timeout=20)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def free_ports(count: int) -> list[int]:
    with contextlib.ExitStack() as stack:
        sockets = [stack.enter_context(socket.socket()) for _ in range(count)]
        for one in sockets:
            one.bind(("127.0.0.1", 0))
        return [one.getsockname()[1] for one in sockets]


def wait_until(answers: Callable[[], T], process: subprocess.Popen) -> T:
    """Return what a call gives as soon as it raises no error, while a process runs."""
    deadline = time.monotonic() + SECONDS_TO_START
    while True:
        try:
            return answers()
        except (OSError, ValueError):
            if process.poll() is not None or time.monotonic() > deadline:
                pytest.fail("the server did not start")
            time.sleep(0.1)


@pytest.fixture(params=["servers", "jupyterhub"])
def servers(request, machine) -> Iterator[dict[str, Server]]:
    """The servers of an instructor and a student."""
    if request.param == "jupyterhub":
        _skip_without_hub()
    quietly(release, machine.course, [LESSON])
    with contextlib.ExitStack() as stack:
        start = _start_hub if request.param == "jupyterhub" else _start_servers
        yield start(machine, stack)


def _skip_without_hub() -> None:
    if importlib.util.find_spec("jupyterhub") is None:
        pytest.skip("jupyterhub is not installed (pip install jupyterhub)")
    if shutil.which("configurable-http-proxy") is None:
        pytest.skip("not installed (npm install --global configurable-http-proxy)")


def _start_servers(machine: Machine, stack: contextlib.ExitStack) -> dict[str, Server]:
    processes = {}
    for user in ("ines", "ada"):
        root = machine.course.root if user == "ines" else machine.home(user)
        flags = ["--port=0", "--ip=127.0.0.1", "--no-browser", "--allow-root"]
        flags += [f"--ServerApp.root_dir={root}", f"--IdentityProvider.token={TOKEN}"]
        processes[user] = stack.enter_context(
            running(
                [sys.executable, "-m", "jupyterlab", *flags],
                machine.folder / f"{user}.log",
                cwd=machine.home(user),
                env=machine.environment(user),
            )
        )

    def server_of(user: str) -> Server:
        written = machine.runtime(user) / f"jpserver-{processes[user].pid}.json"
        server = Server(json.loads(written.read_text())["url"].rstrip("/"))
        server.ask("/api/status")
        return server

    return {
        user: wait_until(functools.partial(server_of, user), process)
        for user, process in processes.items()
    }


def _start_hub(machine: Machine, stack: contextlib.ExitStack) -> dict[str, Server]:
    port, hub_port, proxy_port = free_ports(3)
    more = HUB.format(
        port=port,
        hub_port=hub_port,
        proxy_port=proxy_port,
        homes=machine.home("ines").parent,
        python=sys.executable,
        seconds=SECONDS_TO_START,
        token=TOKEN,
    )
    settings = machine.hub_settings.with_name("hub.py")
    settings.write_text(machine.hub_settings.read_text() + more)
    process = stack.enter_context(
        running(
            [sys.executable, "-m", "jupyterhub", "-f", str(settings)],
            machine.folder / "hub.log",
            cwd=machine.folder,
        )
    )
    hub = Server(f"http://127.0.0.1:{port}")
    wait_until(lambda: hub.ask("/hub/api/"), process)
    servers = {user: Server(f"{hub.address}/user/{user}") for user in ("ines", "ada")}
    for user in servers:
        hub.ask(f"/hub/api/users/{user}/server", {})
    for server in servers.values():
        wait_until(functools.partial(server.ask, "/api/status"), process)
    return servers


@pytest.mark.slow
def test_a_lesson_goes_out_and_comes_back(machine, servers):
    instructor, student = servers["ines"], servers["ada"]

    headers, page = instructor.ask("/formgrader/manage_assignments")
    assert headers["Content-Security-Policy"] == "frame-ancestors 'self'"
    assert "Manage Assignments" in page
    assert disabled_in(instructor) == []
    assert student.refuses("/formgrader/manage_assignments")
    assert "@jupyter/nbgrader:formgrader" in disabled_in(student)

    api = f"/formgrader/api/assignment/{LESSON}"
    release = json.loads(instructor.ask(f"{api}/release", {})[1])
    assert release["success"], release
    (released,) = student.assignments()
    assert (released["course_id"], released["assignment_id"]) == ("attention", LESSON)

    lesson = {"course_id": "attention", "assignment_id": LESSON}
    student.ask("/assignments/fetch", lesson)
    notebook = machine.home("ada") / LESSON / f"{LESSON}.ipynb"
    notebook.write_bytes(notebook.read_bytes().replace(b"# YOUR CODE HERE", b"# ada's"))
    student.ask("/assignments/submit", lesson)
    assert [one["status"] for one in student.assignments()] == ["fetched", "submitted"]

    collect = json.loads(instructor.ask(f"{api}/collect", {})[1])
    assert collect["success"], collect
    # nbgrader goes by the account that runs the server: here all are the test's own.
    collected = machine.course.submission(LESSON, get_username()) / f"{LESSON}.ipynb"
    assert collected.read_bytes() == notebook.read_bytes()


def disabled_in(server: Server) -> list[str]:
    """Return the plug-ins that JupyterLab's page leaves out."""
    page = server.ask("/lab")[1]
    match = re.search(
        r'id="jupyter-config-data" type="application/json">(.*?)</script>', page, re.S
    )
    assert match, page
    return json.loads(match[1])["disabledExtensions"]


def test_make_and_nbgrader_know_the_hubs_exchange_and_course(machine, monkeypatch):
    monkeypatch.setenv("JUPYTER_CONFIG_PATH", machine.config_path("ines"))
    nbgrader = machine.course.nbgrader()
    assert nbgrader.coursedir.course_id == "attention"
    collect = ExchangeFactory(parent=nbgrader).collect
    assert collect(parent=nbgrader).root == str(machine.folder / "exchange")
    monkeypatch.setattr("nbgrader.api.Gradebook", lambda url, course_id: course_id)
    assert machine.course.gradebook() == "attention"


@pytest.mark.parametrize(
    ("of_a_hub", "course_id"), [(True, "attention"), (False, "default_course")]
)
def test_course_in_postgresql_has_the_hubs_id_or_a_default(
    machine, monkeypatch, of_a_hub, course_id
):
    url = "postgresql://grader@127.0.0.1/course"
    monkeypatch.setenv("NBGRADER_DB_URL", url)
    monkeypatch.setenv("JUPYTER_CONFIG_PATH", machine.config_path("ines") if of_a_hub else "")
    coursedir = machine.course.nbgrader().coursedir
    assert (coursedir.db_url, coursedir.course_id) == (url, course_id)


def test_course_that_is_on_jupyters_own_path_is_read_once(machine, monkeypatch):
    monkeypatch.setenv("JUPYTER_CONFIG_PATH", str(machine.course.root))
    assert machine.course.nbgrader().coursedir.root == str(machine.course.root)
