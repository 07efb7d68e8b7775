"""The course of the repository, released into a folder of its own."""

import pytest

from attention_lib.grading.course import Course
from attention_lib.grading.release import release
from tests.grading.classroom import LESSONS, make_course, quietly


@pytest.fixture(autouse=True, scope="session")
def _no_gradebook_but_the_tests():
    """Let no test write into a gradebook that an instructor's environment names."""
    with pytest.MonkeyPatch.context() as patch:
        patch.delenv("NBGRADER_DB_URL", raising=False)
        yield


@pytest.fixture(scope="session")
def released_course(tmp_path_factory) -> Course:
    course = make_course(tmp_path_factory.mktemp("course"), *LESSONS)
    quietly(release, course, LESSONS)
    return course
