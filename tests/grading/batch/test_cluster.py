"""A batch on a real cluster: a scheduler and workers, each a process of its own."""

import json
import os
import shutil
import subprocess
import sys
import threading
from pathlib import Path

import dask
import pytest
from distributed import Client

import attention_lib
from attention_lib.grading.batch.cluster import ClusterWorkers
from attention_lib.grading.classroom.course import Course, CourseError
from attention_lib.grading.grade import grade
from tests.grading.batch.waiting import graded_in, wait_until
from tests.grading.sample_class import LESSONS, Classroom, cell_of, make_lean_course, quietly

LESSON = LESSONS[0]
pytestmark = [pytest.mark.sandbox, pytest.mark.batch, pytest.mark.xdist_group("cluster")]


class Cluster:
    """A scheduler on this machine, and the workers that a test starts."""

    def __init__(self, folder: Path, *flags: str) -> None:
        self.folder = folder
        self.processes = []
        file = folder / "scheduler.json"
        flags = ["--host", "127.0.0.1", "--port", "0", "--scheduler-file", str(file), *flags]
        self.scheduler = self._start("scheduler", *flags)
        wait_until(lambda: file.exists() and file.read_text().endswith("}"))
        self.address = json.loads(file.read_text())["address"]

    def _start(self, what, *arguments, **settings):
        with (self.folder / f"{what}_{len(self.processes)}.log").open("w") as log:
            process = subprocess.Popen(
                [
                    sys.executable,
                    "-m",
                    f"distributed.cli.dask_{what}",
                    *arguments,
                    "--no-dashboard",
                ],
                stdout=log,
                stderr=subprocess.STDOUT,
                **settings,
            )
        self.processes.append(process)
        return process

    def start_worker(self, name, preload=None, **settings):
        flags = ["--nthreads", "1", "--no-nanny", "--name", name]
        flags += ["--preload", str(preload)] if preload else []
        places = ["--local-directory", str(self.folder / name)]
        return self._start("worker", self.address, *flags, *places, **settings)

    def stop(self):
        for process in reversed(self.processes):
            process.kill()
            process.wait()


@pytest.fixture
def cluster(tmp_path):
    (tmp_path / "cluster").mkdir()
    cluster = Cluster(tmp_path / "cluster")
    yield cluster
    cluster.stop()


@pytest.fixture(scope="module")
def class_of_six(tmp_path_factory):
    course = make_lean_course(tmp_path_factory.mktemp("course"), LESSON)
    room = Classroom(course, LESSON)
    notebook = room.key()
    cell_of(notebook, room.checked[0]).source += "\nimport time; time.sleep(0.3)"
    for number in range(6):
        room.hand_in(f"student_{number}", notebook)
    return course


@pytest.fixture
def room(class_of_six, tmp_path):
    """A class that is still to be graded."""
    shutil.copytree(class_of_six.root, tmp_path / "course")
    return Classroom(Course(tmp_path / "course"), LESSON)


def lose(cluster, worker, name, room):
    """Kill a worker in the middle of its work, after the first grade has come in."""
    wait_until(lambda: graded_in(room.course, LESSON))
    with Client(cluster.address, set_as_default=False) as client:
        (address,) = (
            address
            for address, about in client.scheduler_info()["workers"].items()
            if about["name"] == name
        )
        wait_until(lambda: client.processing()[address])
        worker.kill()


def test_calls_of_a_lost_worker_are_made_by_another(cluster, room):
    lost = cluster.start_worker("lost")
    cluster.start_worker("stays")
    accident = threading.Thread(target=lose, args=(cluster, lost, "lost", room))
    accident.start()
    _, results = quietly(grade, room.course, LESSON, 0, cluster.address)
    accident.join()
    assert lost.wait() == -9
    assert {result.student: result.points for result in results} == dict.fromkeys(
        room.course.submitted(LESSON), room.most
    )
    assert sorted(graded_in(room.course, LESSON)) == room.course.submitted(LESSON)
    assert "softmax: right." in room.feedback("student_0")


def test_a_worker_with_another_library_grades_nobody(cluster, room):
    other = cluster.folder / "other"
    library = Path(attention_lib.__file__).parent
    shutil.copytree(library, other / library.name, ignore=shutil.ignore_patterns("__pycache__"))
    with (other / library.name / "softmax.py").open("a") as module:
        module.write("# changed\n")
    cluster.start_worker("other", env={**os.environ, "PYTHONPATH": str(other)}, cwd=other)
    with pytest.raises(CourseError, match=r"another version.* Install this course there"):
        quietly(grade, room.course, LESSON, 0, cluster.address)
    assert graded_in(room.course, LESSON) == []


def test_scheduler_that_disappears_is_reported(cluster, room, monkeypatch):
    monkeypatch.setattr(
        "attention_lib.grading.batch.cluster.SECONDS_TO_CONNECT", 2
    )  # and to give up
    cluster.start_worker("only")

    def go():
        wait_until(lambda: graded_in(room.course, LESSON))
        cluster.scheduler.kill()

    accident = threading.Thread(target=go)
    accident.start()
    with pytest.raises(CourseError, match=f"The scheduler at {cluster.address} has gone"):
        quietly(grade, room.course, LESSON, 0, cluster.address)
    accident.join()
    assert len(graded_in(room.course, LESSON)) < len(room.course.submitted(LESSON))


# A worker that anyone has started: what it returns is a program to be unpickled.
HOSTILE_WORKER = """
import os
from pathlib import Path

from attention_lib.grading.batch import cluster

FOLDER = {folder!r}
CODE = f"import os; open({{FOLDER!r}} + '/ran_' + str(os.getpid()), 'w')"

class Payload:
    def __reduce__(self):
        return exec, (CODE,)

class Error(Exception):
    def __reduce__(self):
        return exec, (CODE,)

def reply(*_):
    what = eval(Path(FOLDER, "what.txt").read_text())
    if what is Error:
        raise Error
    return what

cluster._call_with = reply
"""


@pytest.fixture(scope="module")
def hostile_cluster(tmp_path_factory):
    cluster = Cluster(tmp_path_factory.mktemp("cluster"))
    preload = cluster.folder / "hostile.py"
    preload.write_text(HOSTILE_WORKER.format(folder=str(cluster.folder)))
    cluster.start_worker("hostile", preload=preload)
    yield cluster
    cluster.stop()


@pytest.mark.parametrize(
    "what",
    [
        "Payload()",
        "[b'x', Payload()]",
        "b'x' * 20_000_000",  # which another thread of dask's would read
        "b'{}'",
        """b'{"outputs": {"a": [{"output_type": "odd"}]}, "counts": {}}'""",
        "Error",
    ],
)
def test_nothing_that_a_worker_returns_is_unpickled(hostile_cluster, room, monkeypatch, what):
    """Not for a student; nor for the model answers, which run first and are left out here."""
    monkeypatch.setattr("attention_lib.grading.batch.batch.require_full_points", lambda *_, **__: 0)
    for student in room.course.submitted(LESSON)[1:]:
        shutil.rmtree(room.course.submission(LESSON, student).parent)
    folder, address = hostile_cluster.folder, hostile_cluster.address
    (folder / "what.txt").write_text(what)
    _, results = quietly(grade, room.course, LESSON, 0, address)
    assert not (folder / f"ran_{os.getpid()}").exists()
    assert all(result.failed and "could not be run" in result.note for result in results)
    monkeypatch.undo()
    with pytest.raises(CourseError, match="model answers of 01_softmax could not be run"):
        quietly(grade, room.course, LESSON, 0, address, True)
    assert not (folder / f"ran_{os.getpid()}").exists()


@pytest.mark.parametrize("scheduler", ["tcp://192.0.2.1:8786", "tcp://grading.example:8786"])
def test_cluster_on_other_machines_needs_tls_or_an_explicit_word(monkeypatch, scheduler):
    monkeypatch.setattr("attention_lib.grading.batch.cluster.SECONDS_TO_CONNECT", 0.2)
    with pytest.raises(CourseError, match=f"{scheduler} is on another machine, and not encrypted"):
        ClusterWorkers(0, scheduler)
    with pytest.raises(CourseError, match="No scheduler answers"):
        ClusterWorkers(0, scheduler, trust_network=True)


def test_worker_on_another_machine_needs_tls_too(hostile_cluster, monkeypatch):
    monkeypatch.setattr("distributed.Client.nthreads", lambda _: {"tcp://192.0.2.1:9": 1})
    with pytest.raises(CourseError, match=r"192\.0\.2\.1:9 is on another machine"):
        ClusterWorkers(0, hostile_cluster.address)


def test_worker_that_joins_later_from_another_machine_needs_tls_too(hostile_cluster, monkeypatch):
    with (
        ClusterWorkers(0, hostile_cluster.address) as private,
        ClusterWorkers(0, hostile_cluster.address, trust_network=True) as trusting,
    ):
        assert private.room == trusting.room
        monkeypatch.setattr("distributed.Client.nthreads", lambda _: {"tcp://192.0.2.1:9": 1})
        with pytest.raises(CourseError, match=r"192\.0\.2\.1:9 is on another machine"):
            print(private.room)
        assert trusting.room


@pytest.mark.skipif(shutil.which("openssl") is None, reason="openssl makes the certificate")
def test_cluster_with_tls_grades(tmp_path, room, monkeypatch):
    cert, key = str(tmp_path / "cert.pem"), str(tmp_path / "key.pem")
    make = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-subj", "/CN=course"]
    subprocess.run([*make, "-keyout", key, "-out", cert], check=True, capture_output=True)
    settings = {"CA_FILE": cert}
    for role in ("SCHEDULER", "WORKER", "CLIENT"):
        settings |= {f"{role}__CERT": cert, f"{role}__KEY": key}
    for name, value in settings.items():
        monkeypatch.setenv(f"DASK_DISTRIBUTED__COMM__TLS__{name}", value)
    monkeypatch.setenv("DASK_DISTRIBUTED__COMM__REQUIRE_ENCRYPTION", "True")
    for student in room.course.submitted(LESSON)[1:]:
        shutil.rmtree(room.course.submission(LESSON, student).parent)
    (tmp_path / "cluster").mkdir()
    cluster = Cluster(tmp_path / "cluster", "--protocol", "tls")
    try:
        assert cluster.address.startswith("tls://")
        cluster.start_worker("only")
        mine = {"ca-file": cert, "client.cert": cert, "client.key": key}
        with dask.config.set({f"distributed.comm.tls.{name}": mine[name] for name in mine}):
            _, results = quietly(grade, room.course, LESSON, 0, cluster.address)
    finally:
        cluster.stop()
    assert all(result.points == room.most for result in results)


def test_tls_without_certificates_is_reported(hostile_cluster):
    address = hostile_cluster.address.replace("tcp:", "tls:")
    with pytest.raises(CourseError, match="needs certificates"):
        ClusterWorkers(0, address)


@pytest.mark.parametrize("address", ["tcp://127.0.0.1:9", "tcp://127.0.0.1", "nowhere", "a b"])
def test_address_without_a_scheduler_is_reported(address):
    with pytest.raises(CourseError, match=f"No scheduler answers at {address}"):
        ClusterWorkers(0, address)
