"""Notebooks mutated at random: each is rebuilt, or refused in a sentence; never is there an error.

By default, MUTANTS of a fixed seed are tried, and FRESH ones of a new seed. All of them:

    ATTENTION_LIB_MUTANTS=10000 pytest tests/grading/intake/test_fuzz.py
"""

import json
import os
import random
import secrets

import nbformat
import pytest

from attention_lib.grading.intake.submission import Submission, prepare
from attention_lib.grading.judge.execution import put_into
from attention_lib.grading.judge.task import Ran
from attention_lib.grading.resource_limits import cpu_limit
from tests.grading.intake.mutants import Mutator
from tests.grading.intake.released import ANSWER, RELEASED

# A limit may strike in a finalizer, where Python warns and the limit strikes again.
pytestmark = [
    pytest.mark.slow,
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]

MUTANTS = int(os.environ.get("ATTENTION_LIB_MUTANTS", "800"))
FRESH = 200
PARTS = 4
FIXED_SEED = 7


@pytest.fixture(scope="module")
def course(tmp_path_factory):
    """The paths of a released notebook and of the folder of its source."""
    folder = tmp_path_factory.mktemp("course")
    (folder / "source").mkdir()
    nbformat.write(RELEASED, folder / "01_lesson.ipynb")
    return {"released": folder / "01_lesson.ipynb", "source": folder / "source"}


def require_sound(course, content):
    """Prepare a notebook as the grader does, and do what its own process does then."""
    prepared = prepare(Submission(content), **course)
    assert prepared.problem is None or (prepared.problem and "\n" not in prepared.problem)
    assert all(note.endswith(".") for note in prepared.notes)
    released = [cell for cell in prepared.notebook.cells if cell.id in RELEASED_IDS]
    assert [cell.id for cell in released] == RELEASED_IDS
    notebook = nbformat.reads(json.dumps(prepared.notebook), as_version=4)
    put_into(notebook, Ran())
    nbformat.validate(notebook)
    nbformat.writes(notebook).encode()


RELEASED_IDS = [cell.id for cell in RELEASED.cells]


@pytest.mark.parametrize("part", range(PARTS))
def test_mutants_of_a_fixed_seed_are_rebuilt_or_refused(course, part):
    try_all(course, FIXED_SEED, range(part, MUTANTS, PARTS))


def test_mutants_of_a_new_seed_are_rebuilt_or_refused(course):
    try_all(course, secrets.randbits(32), range(FRESH))


def try_all(course, seed, numbers):
    mutator = Mutator(seed)
    for number in numbers:
        content = mutator.mutant(number)
        try:
            require_sound(course, content)
        except Exception as error:
            error.add_note(f"Mutator({seed}).mutant({number}) makes {content[:2000]!r}")
            raise


PICTURES = {str(number): {"image/png": "A"} for number in range(200_000)}
LARGE = {
    "cells": [{"cell_type": "code", "source": "x = 1\n" * 300}] * 9_900,
    "pictures": [{"cell_type": "markdown", "source": "x", "attachments": PICTURES}],
    "definitions": [{"cell_type": "code", "source": "def\n" * 49_000}] * 90,
}


@pytest.mark.parametrize("cells", LARGE.values(), ids=LARGE)
def test_large_notebook_takes_little_time(course, cells):
    answer = {"cell_type": "code", "id": "double", "source": ANSWER}
    content = json.dumps({"nbformat": 4, "cells": [answer, *cells]}).encode()
    with cpu_limit(30):
        require_sound(course, content)


def test_mutants_reach_both_results(course):
    mutator = Mutator(FIXED_SEED)
    results = [prepare(Submission(mutator.mutant(n)), **course).problem for n in range(200)]
    assert 40 < results.count(None) < 180
    assert len(set(results)) > 8


def test_mutant_is_made_from_its_seed_and_number_alone():
    state = random.getstate()
    assert Mutator(3).mutant(5) == Mutator(3).mutant(5) != Mutator(3).mutant(6)
    assert random.getstate() == state
