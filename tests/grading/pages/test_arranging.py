"""What stands on a feedback page, and where: exercises in view, the lesson's text folded."""

import html
import os
import re
from datetime import datetime

import pytest
from bs4 import BeautifulSoup
from nbformat import from_dict
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook, new_output

from attention_lib.grading import limits
from attention_lib.grading.pages import display
from attention_lib.grading.pages.arranging import ArrangeFeedback, ReadGrades
from attention_lib.grading.pages.feedback import FeedbackExporter
from attention_lib.grading.release import release
from tests.grading.sample_class import LESSONS, ROOT, Classroom, Course, make_course, quietly

pytestmark = pytest.mark.slow

SENTENCE = "The sum must run along <axis> only."


def graded(name, score, points, **more):
    marks = {"grade_id": name, "grade": True, "solution": False, "score": score, "points": points}
    return {"nbgrader": marks | more}


def verdict(outcome, sentence="", awaits=""):
    told = {"exercise": "softmax", "outcome": outcome, "sentence": sentence, "awaits": awaits}
    return new_output(
        "display_data", {"text/html": "<b>panel</b>"}, metadata={"attention_lib": told}
    )


def notebook():
    return new_notebook(
        cells=[
            new_markdown_cell("**Put in order.**", metadata={"attention_lib": {"problem": None}}),
            new_markdown_cell("# Scores and `weights`\n\nA long story with $e^s$."),
            new_code_cell("plots.of_the_lesson()"),
            new_code_cell("import numpy", metadata={"tags": ["setup"]}),
            new_markdown_cell("The end of a story.\n\n### Exercise: softmax (3 points)\n\nDivide."),
            new_code_cell(
                "def softmax(scores): ...",
                metadata={"nbgrader": {"grade_id": "softmax", "grade": False, "solution": True}},
                outputs=[new_output("error", ename="Syntax<Error>", evalue="cut")],
            ),
            new_code_cell(
                "check('softmax', softmax)",
                metadata=graded("check_softmax", 0, 3),
                outputs=[
                    verdict("wrong", SENTENCE),
                    new_output("error", ename="CheckFailed", evalue="wrong"),
                ],
            ),
            new_markdown_cell("Another story."),
            new_code_cell("mine = 1", id="added-1"),
            new_code_cell("theirs = 1", id="earlier-2"),
            new_markdown_cell("Still a story."),
            new_markdown_cell("### Exercise: why (2 points)\n\nWhy is $e^s$ positive?"),
            new_code_cell("plots.of_the_exercise()"),
            new_markdown_cell(
                "Because $e^s>0$:\n\n$$\\frac{1}{2}$$",
                metadata=graded("why", 0, 2, solution=True, unmarked=True, comment="*Good*"),
            ),
        ]
    )


def resources(late=False, late_penalty=0):
    about = {"notebook": "01", "score": 1, "max_score": 5}
    return {"nbgrader": {**about, "late": late, "late_penalty": late_penalty}}


def page_of(book, late=False, late_penalty=0, **settings):
    """Write the page as nbgrader does with the course's settings."""
    exporter = FeedbackExporter(config=Course(ROOT).nbgrader().config, **settings)
    exporter.register_preprocessor(ArrangeFeedback, enabled=True)
    return exporter.from_notebook_node(book, resources(late, late_penalty))[0]


@pytest.fixture(scope="module")
def page():
    return BeautifulSoup(page_of(notebook()), "html.parser")


def test_exercises_are_listed_with_points_and_the_sentence_of_the_check(page):
    rows = [[cell.text for cell in row.select("td")] for row in page.select(".summary tr")[1:]]
    assert rows == [
        ["softmax", "0 of 3", SENTENCE],
        ["why", "waits", "This answer waits to be read."],
    ]
    for link in page.select(".summary a"):
        assert page.find(id=link["href"].removeprefix("#")) is not None


def test_answers_that_stopped_are_named_above_the_summary(page):
    above = page.select_one(".summary").find_previous_sibling("p").text
    assert above == "Stopped with an error: softmax (Syntax<Error>)."


def test_cell_that_was_stopped_is_named_once_with_the_reason():
    names = ("KeyboardInterrupt", "CellTimeout")
    outputs = [new_output("error", ename=name, evalue="", traceback=[]) for name in names]
    book = new_notebook(cells=[new_code_cell("while True: pass", outputs=outputs)])
    assert "Stopped with an error: another cell (CellTimeout)." in page_of(book)


def test_lesson_text_is_folded_and_nothing_else(page):
    folds = page.select("details")
    assert [fold.summary.text for fold in folds] == [
        "Lesson text: Scores and weights",
        "Lesson text",
        "Lesson text",
        "Lesson text",
    ]
    assert not any(fold.has_attr("open") for fold in folds)
    folded = " ".join(
        fold.extract().text for fold in BeautifulSoup(str(page), "html.parser")("details")
    )
    for text in ("A long story", "plots.of_the_lesson", "The end of", "Another story", "Still a"):
        assert text in folded
    for text in (
        "Put in order",
        "import",
        "Divide.",
        "mine",
        "theirs",
        "Because",
        "Why is",
        "of_the_exercise",
    ):
        assert text not in folded
        assert text in page.text


def test_page_fetches_nothing_and_shows_formulas_as_tex(page):
    assert page.select("script, link, iframe") == []
    assert "http" not in re.sub(r"http-equiv", "", str(page.head))
    tex = [code.text for code in page.select(".attention-tex")]
    assert tex == ["e^s", "e^s", "e^s>0", r"\frac{1}{2}"]
    assert "$" not in page.body.text


def test_points_are_those_so_far_while_an_answer_waits():
    text = " ".join(BeautifulSoup(page_of(notebook()), "html.parser").body.text.split())
    assert "1 of 5 so far. Not marked yet: why, worth 2." in text
    book = notebook()
    book.cells[-1].metadata.nbgrader.unmarked = False
    text = " ".join(BeautifulSoup(page_of(book), "html.parser").body.text.split())
    assert "1 of 5 Stopped" in text
    assert "so far" not in text


def test_blank_answers_are_called_not_attempted():
    book = notebook()
    stub = "Write your answer in the cell above in place of raise NotImplementedError()."
    book.cells[6].outputs = [verdict("unattempted", stub)]
    book.cells[-1].metadata.nbgrader.update(unmarked=False, blank=True, comment=None)
    rows = BeautifulSoup(page_of(book), "html.parser").select(".summary tr")
    told = ["Not attempted.", "Not attempted."]
    assert [row.select("td")[2].text for row in rows[1:]] == told
    # An answer that calls another function's stub is an attempt.
    book.cells[6].outputs = [verdict("unattempted", "softmax calls entropy.", awaits="entropy")]
    book.cells[-1].metadata.nbgrader.comment = "Have a try."
    rows = BeautifulSoup(page_of(book), "html.parser").select(".summary tr")
    assert [" ".join(row.select("td")[2].text.split()) for row in rows[1:]] == [
        "softmax calls entropy.",
        "Not attempted. Comment: Have a try.",
    ]


def test_page_is_headed_by_student_and_time():
    book, about = notebook(), resources()
    about["nbgrader"] |= {"name": "Ada <b>", "time": "handed in 2026-01-02 17:00 UTC"}
    exporter = FeedbackExporter(config=Course(ROOT).nbgrader().config)
    exporter.register_preprocessor(ArrangeFeedback, enabled=True)
    page = BeautifulSoup(exporter.from_notebook_node(book, about)[0], "html.parser")
    assert page.select_one("h1").find_next("p").text == "Ada <b>, handed in 2026-01-02 17:00 UTC"
    assert page.title.text == "01, Ada <b>"


def test_comment_of_the_marker_is_shown(page):
    assert page.select_one(".comment em").text == "Good"


@pytest.mark.parametrize(
    ("about", "told"),
    [
        ({}, []),
        ({"late": True}, ["This work was handed in late."]),
        (
            {"late": True, "late_penalty": 1.5},
            ["This work was handed in late: 1.5 points are taken off."],
        ),
    ],
)
def test_lateness_and_its_penalty_are_told_in_a_sentence(about, told):
    page = BeautifulSoup(page_of(notebook(), **about), "html.parser")
    assert [" ".join(late.text.split()) for late in page.select(".late")] == told


@pytest.mark.parametrize(
    ("marks", "shown"),
    [
        ({"unmarked": False, "score": 1.5}, ["1.5 of 2", "Comment: Good"]),
        (
            {"unmarked": False, "score": 1.5, "in_doubt": True},
            ["1.5 of 2", "This mark will be looked at again. Comment: Good"],
        ),
    ],
)
def test_marked_answer_shows_its_mark(marks, shown):
    book = notebook()
    book.cells[-1].metadata.nbgrader.update(marks)
    last = BeautifulSoup(page_of(book), "html.parser").select(".summary tr")[-1]
    assert [" ".join(cell.text.split()) for cell in last.select("td")][1:] == shown
    assert last.select_one("em").text == "Good"


def test_page_of_points_alone_keeps_the_sentences():
    page = BeautifulSoup(page_of(notebook(), points_alone=True), "html.parser")
    assert SENTENCE in page.select_one(".summary").text
    assert "too much memory, to be shown" in page.text
    assert page.select("details") == []
    assert "panel" not in page.text
    assert "Because" not in page.text


def test_summary_runs_no_html_and_is_cut():
    book = notebook()
    book.cells[6].outputs = [verdict("wrong", "<script>x</script>" + "a" * 10_000)]
    text = page_of(book)
    assert "<script" not in text
    assert html.escape("<script>x</script>") in text
    assert text.count("a" * limits.SUMMARY_CHARACTERS) == 0


def test_lesson_text_is_rendered_once_and_answers_each_time(monkeypatch):
    page_of(notebook())
    rendered = []
    render = display._render

    def counted(context, source, *more):
        rendered.append(source)
        return render(context, source, *more)

    monkeypatch.setattr(display, "_render", counted)
    page_of(notebook())
    assert len(rendered) == 3
    assert [text[:7] for text in rendered] == ["**Put i", "Because", "*Good*"]


def test_unread_answer_differs_from_one_without_points(tmp_path):
    lesson = LESSONS[0]
    course = make_course(tmp_path, lesson)
    quietly(release, course, [lesson])
    cells = [from_dict(cell) for cell in Classroom(course, lesson).blank().cells]
    place = {"notebook": lesson, "assignment": lesson, "student": "ada"}
    config = course.nbgrader().config
    url = course.nbgrader().coursedir.db_url

    def marks():
        book, about = quietly(
            ReadGrades(config=config).preprocess,
            new_notebook(cells=cells),
            {"nbgrader": {**place, "db_url": url}},
        )
        found = next(c for c in book.cells if c.get("id") == "written_softmax").metadata.nbgrader
        comments.append(found.comment)
        headings.append((about["nbgrader"]["name"], about["nbgrader"]["time"]))
        return found.score, found.unmarked, found.in_doubt, found.blank

    headings, comments = [], []
    with course.gradebook() as gradebook:
        gradebook.update_or_create_student("ada")
        quietly(gradebook.update_or_create_submission, lesson, "ada")
        grade = gradebook.find_grade("written_softmax", lesson, lesson, "ada")
        assert marks() == (0, True, False, False)
        grade.auto_score = 0.0
        comment = gradebook.find_comment("written_softmax", lesson, lesson, "ada")
        comment.auto_comment = "No response."  # nbgrader's own, where the page says not attempted
        gradebook.db.commit()
        assert marks() == (0, False, False, True)
        assert comments[-2:] == [None, None]
        grade.manual_score, grade.needs_manual_grade = 0.0, False
        gradebook.update_or_create_student("ada", first_name="Ada", last_name="Love\u202elace")
        assert marks() == (0, False, False, False)
        grade.needs_manual_grade = True
        gradebook.find_submission(lesson, "ada").timestamp = datetime(2026, 1, 2, 17)
        gradebook.db.commit()
        assert marks() == (0, False, True, False)
        gradebook.find_submission(lesson, "ada").timestamp = None
        gradebook.db.commit()
    submitted = course.submission(lesson, "ada")
    submitted.mkdir(parents=True)
    for file, seconds in (("mine.ipynb", 1_700_000_000), ("far.ipynb", 0)):
        (submitted / file).touch()
        os.utime(submitted / file, (seconds, seconds))
    marks()
    ada = r"Ada Love\u202elace (ada)"
    assert headings == [
        ("ada", ""),
        ("ada", ""),
        (ada, ""),
        (ada, "handed in 2026-01-02 17:00 UTC"),
        (ada, "collected 2023-11-14 22:13 UTC"),
    ]
