"""What the settings say of how submissions are run reaches the worker that runs them."""

from nbformat.v4 import new_notebook
from traitlets.config import Config

from attention_lib.grading.nbgrader_plugins.autograde import ExecuteSubmission


def test_private_paths_are_those_of_the_settings_wherever_they_lie(tmp_path):
    settings = {
        "CourseDirectory": {
            "root": str(tmp_path),
            "submitted_directory": "/elsewhere/submitted",
            "source_directory": "mine/source",
            "db_url": "sqlite+pysqlite:////elsewhere/grades.db?timeout=60",
        },
        "Exchange": {"root": "/elsewhere/exchange"},
    }
    task = ExecuteSubmission(config=Config(settings)).task("01_softmax", new_notebook(), {}, 1)
    expected = {
        str(tmp_path),
        f"{tmp_path}/classroom",
        f"{tmp_path}/mine/source",
        "/elsewhere/submitted",
        "/elsewhere/grades.db",
        "/elsewhere/exchange",
    }
    assert expected <= set(task.private)
