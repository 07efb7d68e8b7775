"""Each lesson as it is, run from top to bottom: solved, and as it is given out."""

import nbformat
import pytest
from nbconvert.preprocessors import ExecutePreprocessor

from attention_lib.exercises import EXERCISES
from tests.grading.sample_class import LESSONS

SECONDS_A_LESSON = 120  # several times what one takes
pytestmark = pytest.mark.batch


def run(path):
    notebook = nbformat.read(path, as_version=4)
    resources = {"metadata": {"path": str(path.parent)}}
    steps = ExecutePreprocessor(timeout=SECONDS_A_LESSON, allow_errors=True)
    return steps.preprocess(notebook, resources)[0].cells


def name_of(cell):
    return cell.metadata.get("nbgrader", {}).get("grade_id", "")


def outputs(cells, kind):
    return [
        (name_of(cell), output)
        for cell in cells
        for output in cell.get("outputs", [])
        if output.output_type == kind
    ]


@pytest.mark.parametrize("lesson", LESSONS)
def test_a_solved_lesson_runs_without_a_word_on_stderr(released_course, lesson):
    cells = run(released_course.source(lesson))
    assert outputs(cells, "error") == []
    assert [output for _, output in outputs(cells, "stream") if output.name == "stderr"] == []
    checks = [cell for cell in cells if name_of(cell).startswith("check_")]
    assert checks
    for cell in checks:
        said = [output.metadata["attention_lib"]["outcome"] for output in cell.outputs]
        assert said == ["right", "right"], name_of(cell)  # of the visible cases, and the hidden


@pytest.mark.parametrize("lesson", LESSONS)
def test_a_lesson_as_given_out_stops_only_at_its_exercises(released_course, lesson):
    errors = outputs(run(released_course.released(lesson)), "error")
    expected = []
    for exercise in EXERCISES.values():
        if exercise.lesson == lesson and exercise.kind != "written":
            if exercise.kind == "value":
                expected.append((exercise.name, "NotImplementedError"))
            expected.append((f"check_{exercise.name}", "CheckFailed"))
    assert [(name, output.ename) for name, output in errors] == expected
