"""Notebooks changed at random: each is rebuilt, or refused in a sentence; never is there an error."""

import json
from copy import deepcopy

import nbformat
import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from attention_lib.grading.intake.submission import Submission, prepare
from attention_lib.grading.judge.execution import put_into
from attention_lib.grading.judge.task import Ran
from attention_lib.grading.resource_limits import cpu_limit
from tests.grading.intake.released import ANSWER, CHECK, RELEASED, marks

# A limit may strike in a finalizer, where Python warns and the limit strikes again.
pytestmark = [
    pytest.mark.slow,
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]
EXAMPLES = 1000

CELL = {
    "cell_type": "code",
    "id": "double",
    "metadata": {**marks("double", solution=True), "tags": ["setup"], "collapsed": False},
    "execution_count": 1,
    "outputs": [{"output_type": "stream", "name": "stdout", "text": ["4\n"]}],
    "source": ANSWER.splitlines(keepends=True),
}
PICTURE = {"cell_type": "markdown", "id": "why", "metadata": marks("why", grade=True, points=3)}
PICTURE |= {"source": "![](attachment:p)", "attachments": {"p": {"image/png": "iVBORw0KGgo="}}}
NEW = {"nbformat": 4, "nbformat_minor": 5, "metadata": dict(RELEASED.metadata)}
NEW |= {"cells": [*map(dict, RELEASED.cells[:2]), CELL, dict(RELEASED.cells[3]), PICTURE]}
OLD_CELLS = [
    {"cell_type": "heading", "level": 1, "metadata": {}, "source": ["Lesson"]},
    {"cell_type": "code", "input": [ANSWER], "language": "python", "outputs": []},
    {"cell_type": "code", "input": CHECK, "metadata": marks("check_double", grade=True)},
]
OLD = {"nbformat": 3, "nbformat_minor": 0, "metadata": {"name": ""}}
OLD |= {"worksheets": [{"cells": OLD_CELLS, "metadata": {}}]}
ODD_VALUES = st.sampled_from(
    [
        *(None, True, False, 0, 1, -1, 3, 4, 5, 1.0, 4.0, -0.5, 1e308, 10**300, 2**63),
        *(float("nan"), float("inf"), float("-inf"), "", "x", "\0", "\ud800", "\udfff x", "\u202e"),
        *("code", "markdown", "heading", "raw", "double", "check_double", "4", "a" * 250_000),
        *("\n" * 50_000, "x = 1\n" * 50_000),
    ]
)
ODD_NAMES = st.sampled_from(
    [
        *(
            "nbformat",
            "cells",
            "worksheets",
            "cell_type",
            "source",
            "input",
            "level",
            "id",
            "\ud800",
        ),
        *("metadata", "nbgrader", "grade_id", "tags", "attachments", "outputs", "image/png", ""),
    ]
)
ODD_JSON = st.recursive(
    ODD_VALUES,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(ODD_NAMES, inner, max_size=2),
    max_leaves=4,
)


def places(value):
    """Yield every container of a value with every key or index in it."""
    for key, inner in list(value.items() if isinstance(value, dict) else enumerate(value)):
        yield value, key
        if isinstance(inner, dict | list):
            yield from places(inner)


@st.composite
def changed_notebooks(draw):
    """Draw the bytes of a notebook that has been changed in a few places."""
    notebook = deepcopy(draw(st.sampled_from([NEW, OLD])))
    for _ in range(draw(st.integers(1, 6))):
        found = list(places(notebook))
        if not found:
            break
        container, key = found[draw(st.integers(0, len(found) - 1))]
        match draw(st.sampled_from(["replace", "replace", "delete", "double", "wrap", "add"])):
            case "replace":
                container[key] = deepcopy(draw(ODD_JSON))
            case "delete":
                del container[key]
            case "double" if isinstance(container, list):
                container[key:key] = [container[key]] * draw(st.sampled_from([1, 2, 50]))
            case "double":
                container[draw(ODD_NAMES)] = container[key]
            case "wrap":
                for _ in range(draw(st.sampled_from([1, 2, 30, 200]))):
                    container[key] = [container[key]]
            case "add" if isinstance(container, list):
                container.insert(key, deepcopy(draw(ODD_JSON)))
            case "add":
                container[draw(ODD_NAMES)] = deepcopy(draw(ODD_JSON))
    text = json.dumps(notebook, ensure_ascii=draw(st.booleans()))
    content = text.encode("utf-8", "surrogatepass")
    return content if draw(st.integers(0, 9)) else changed_bytes(content, draw)


def changed_bytes(content, draw):
    """Cut the text of a notebook, or write what JSON does not allow or seldom holds."""
    place = draw(st.integers(0, len(content)))
    number = draw(st.sampled_from([b"9" * 5_000, b"4e0", b"-0", b"4."]))
    return draw(
        st.sampled_from(
            [
                content[:place],
                content[:place] + draw(st.binary(min_size=1, max_size=1)) + content[place + 1 :],
                content[:place] + b'"nbformat": 4, ' + content[place:],
                content.replace(b": 4,", b": " + number + b",", 1),
                content.replace(b": 1", b": 1e99999"),
                b"\xef\xbb\xbf" + content,
                content.decode("utf-8", "replace").encode("utf-16"),
                b"[" * draw(st.sampled_from([10, 900, 100_000])) + content,
                content.replace(b'"', b'"\\u0000\\ud834', draw(st.integers(0, 8))),
            ]
        )
    )


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
    return prepared.problem


RELEASED_IDS = [cell.id for cell in RELEASED.cells]


@settings(max_examples=EXAMPLES, suppress_health_check=list(HealthCheck))
@given(content=changed_notebooks())
def test_changed_notebooks_are_rebuilt_or_refused(course, content):
    require_sound(course, content)


def test_changed_notebooks_reach_both_results(course):
    results = []

    @settings(max_examples=200, phases=[Phase.generate], suppress_health_check=list(HealthCheck))
    @given(changed_notebooks())
    def collect(content):
        results.append(require_sound(course, content))

    collect()
    assert 40 < results.count(None) < 180
    assert len(set(results)) > 8


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
