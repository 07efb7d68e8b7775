"""The course of the repository, released into a folder of its own."""

import functools
import os
import shutil

import pytest
from filelock import FileLock
from nbgrader import api
from sqlalchemy import Engine, event

from attention_lib.grading.classroom.course import CLASS, Course
from attention_lib.grading.release import release
from tests.grading.sample_class import LESSONS, make_course, quietly


def pytest_collection_modifyitems(items):
    if shutil.which("bwrap") is None:
        why = "bubblewrap is not installed (on Debian: apt-get install bubblewrap)"
        for item in items:
            if item.get_closest_marker("sandbox"):
                item.add_marker(pytest.mark.skip(reason=why))


@event.listens_for(Engine, "connect")
def _wait_for_no_disk(connection, _):
    """Let a test's gradebook be lost when the power fails: without this each commit waits for the disk."""
    if type(connection).__module__ == "sqlite3":
        connection.execute("PRAGMA synchronous=OFF")


@pytest.fixture(autouse=True, scope="session")
def _ask_alembic_once():
    """Keep the version that each new gradebook is given: nbgrader starts a process to ask for it."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(api, "get_alembic_version", functools.cache(api.get_alembic_version))
        yield


@pytest.fixture(autouse=True, scope="session")
def _no_gradebook_but_the_tests():
    """Let no test see the gradebook or the hub that the environment or the machine names."""
    with pytest.MonkeyPatch.context() as patch:
        patch.delenv("NBGRADER_DB_URL", raising=False)
        patch.setattr("jupyter_core.paths.SYSTEM_CONFIG_PATH", [])
        patch.delenv(CLASS, raising=False)
        yield


@pytest.fixture(scope="session")
def released_course(tmp_path_factory) -> Course:
    """Return the course with all lessons released, which the first worker that asks for it makes."""
    folder = tmp_path_factory.getbasetemp()
    if "PYTEST_XDIST_WORKER" in os.environ:
        folder = folder.parent  # of all workers
    root, done = folder / "released_course", folder / "released_course.done"
    with FileLock(folder / "released_course.lock"):
        if not done.exists():
            root.mkdir()
            quietly(release, make_course(root, *LESSONS), LESSONS)
            done.touch()
    return Course(root)
