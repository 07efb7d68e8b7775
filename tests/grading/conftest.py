"""The course of the repository, released into a folder of its own."""

import functools
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from filelock import FileLock
from nbgrader import api
from sqlalchemy import Engine, event

from attention_lib.grading.classroom.course import CLASS, Course
from attention_lib.grading.release import release
from attention_lib.grading.sandbox.bubblewrap import bubblewrap_arguments
from tests.grading.sample_class import LESSONS, make_course, quietly


def pytest_collection_modifyitems(items):
    in_sandbox = [item for item in items if item.get_closest_marker("sandbox")]
    if in_sandbox and (why := _sandbox_refused()):
        for item in in_sandbox:
            item.add_marker(pytest.mark.skip(reason=why))


def _sandbox_refused() -> str:
    """Start bubblewrap once, as the grader does, and return what it says if it does not run."""
    path = shutil.which("bwrap")
    if path is None:
        return "bubblewrap is not installed (on Debian: apt-get install bubblewrap)"
    command = [path, *bubblewrap_arguments({}), sys.executable, "-S", "-c", ""]
    tried = subprocess.run(command, capture_output=True, text=True)
    return f"bubblewrap is refused: {tried.stderr.strip()}" if tried.returncode else ""


@event.listens_for(Engine, "connect")
def _wait_for_no_disk(connection, _):
    """Let a test's gradebook be lost when the power fails: without this each commit waits for the disk."""
    if type(connection).__module__ == "sqlite3":
        connection.execute("PRAGMA synchronous=OFF")


@pytest.fixture(scope="session")
def folder_of_all_workers(tmp_path_factory) -> Path:
    folder = tmp_path_factory.getbasetemp()
    return folder.parent if "PYTEST_XDIST_WORKER" in os.environ else folder


@pytest.fixture(autouse=True, scope="session")
def _ask_alembic_once(folder_of_all_workers):
    """Keep the version that each new gradebook is given: nbgrader starts a process to ask for it."""
    ask, kept = api.get_alembic_version, folder_of_all_workers / "alembic_version"

    @functools.cache
    def kept_version() -> str:
        with FileLock(f"{kept}.lock"):
            if not kept.exists():
                kept.write_text(ask())
            return kept.read_text()

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(api, "get_alembic_version", kept_version)
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
def released_course(folder_of_all_workers) -> Course:
    """Return the course with all lessons released, which the first worker that asks for it makes."""
    root = folder_of_all_workers / "released_course"
    done = root.with_suffix(".done")
    with FileLock(root.with_suffix(".lock")):
        if not done.exists():
            root.mkdir()
            quietly(release, make_course(root, *LESSONS), LESSONS)
            done.touch()
    return Course(root)
