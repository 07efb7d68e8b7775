"""What a marker reads below an answer in words, and nobody else."""

import pytest
from bs4 import BeautifulSoup
from nbconvert.exporters import HTMLExporter
from nbformat.v4 import new_markdown_cell, new_notebook

from attention_lib.exercises import EXERCISES
from attention_lib.grading.pages.arranging import ArrangeFeedback
from attention_lib.grading.pages.feedback import FeedbackExporter
from attention_lib.grading.release import release
from tests.grading.sample_class import LESSONS, Course, make_course, quietly

pytestmark = pytest.mark.slow

LESSON = LESSONS[0]
WRITTEN = [exercise for exercise in EXERCISES.values() if exercise.kind == "written"]
MODEL_ANSWER = "makes numbers that add up to 1, but they are not always weights"


def answer():
    marks = {"grade_id": "written_softmax", "grade": True, "solution": True, "points": 2}
    return new_notebook(cells=[new_markdown_cell("Mine.", metadata={"nbgrader": marks})])


@pytest.fixture(scope="module")
def course(tmp_path_factory) -> Course:
    """A course in which three students have handed in, and one answer is marked."""
    course = make_course(tmp_path_factory.mktemp("course"), LESSON)
    quietly(release, course, [LESSON])
    with course.gradebook() as gradebook:
        for student in ("ada", "bo", "cy"):
            gradebook.update_or_create_student(student)
            quietly(gradebook.update_or_create_submission, LESSON, student)
            for grade in gradebook.find_submission_notebook(LESSON, LESSON, student).grades:
                waits = student != "bo" and grade.name == "written_softmax"
                grade.auto_score, grade.needs_manual_grade = None if waits else 0.0, waits
        gradebook.db.commit()
    return course


def ids(course):
    with course.gradebook() as gradebook:
        return {
            student: gradebook.find_submission_notebook(LESSON, LESSON, student).id
            for student in ("ada", "bo", "cy")
        }


def marker_page(course, student):
    exporter = HTMLExporter(config=course.nbgrader().config, template_name="classic")
    resources = {
        "submission_id": ids(course)[student],
        "notebook_id": LESSON,
        "assignment_id": LESSON,
        "base_url": "/base",
    }
    return quietly(exporter.from_notebook_node, answer(), resources)[0]


def test_marker_reads_rubric_and_model_answer_below_the_answer(course):
    page = marker_page(course, "ada")
    assert page.index("Mine.") < page.index("Rubric of written_softmax, 2 points")
    assert page.index("Rubric of") < page.index(MODEL_ANSWER)


def test_marker_is_led_to_what_waits_and_past_what_is_marked(course):
    known = ids(course)
    for student, other in (("ada", "cy"), ("cy", "ada")):
        link = BeautifulSoup(marker_page(course, student), "html.parser").find(
            "a", string="Next that waits to be marked"
        )
        assert link["href"] == f"/base/formgrader/submissions/{known[other]}/"
        assert link["accesskey"] == ["n"]


def test_no_submission_has_the_key_of_the_marker(course):
    notebook = answer()
    notebook.cells[0].source = '<a href="https://example.org" accesskey="n">Mine.</a>'
    exporter = HTMLExporter(config=course.nbgrader().config, template_name="classic")
    page = quietly(exporter.from_notebook_node, notebook, {})[0]
    assert "Mine." in page
    assert "accesskey" not in page


def test_rubric_and_model_answer_are_in_no_other_page(course):
    config = course.nbgrader().config
    place = {"notebook": LESSON, "score": 0, "max_score": 2, "late_penalty": 0}
    stock = HTMLExporter(config=config, template_name="classic")
    feedback = FeedbackExporter(config=config)
    feedback.register_preprocessor(ArrangeFeedback, enabled=True)
    for exporter in (stock, feedback):
        page, _ = exporter.from_notebook_node(answer(), {"nbgrader": place})
        assert "Mine." in page
        assert "Rubric" not in page
        assert MODEL_ANSWER not in page
    # not even where a page for students is made with formgrader's resources
    resources = {"nbgrader": place, "submission_id": ids(course)["ada"]}
    assert "Rubric" not in feedback.from_notebook_node(answer(), resources)[0]


@pytest.mark.parametrize("exercise", WRITTEN, ids=lambda exercise: exercise.name)
def test_points_of_a_rubric_add_up_to_those_of_the_exercise(exercise):
    assert 2 <= len(exercise.rubric) <= 4
    assert sum(points for points, _ in exercise.rubric) == exercise.points
