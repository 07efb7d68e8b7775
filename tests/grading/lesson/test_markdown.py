"""What an author may write, and what they are told when a lesson does not fit its exercises."""

import re
import sys
from pathlib import Path
from types import SimpleNamespace

import nbformat
import pytest

from attention_lib.grading.classroom.course import CourseError
from attention_lib.grading.lesson.markdown import IF_MISSING, IMPORT, read_lesson
from attention_lib.lessons import LESSONS

NOTEBOOKS = Path(__file__).parents[3] / "notebooks"

LESSON = '''\
# A small lesson

```python
from attention_lib import check
```

### Exercise: double (2 points, about 5 minutes)

```python exercise="double"
def double(x):
    """Return x twice."""
    ### BEGIN SOLUTION
    return 2 * x
    ### END SOLUTION
```

```python check="double"
check("double", double)
```

### Exercise: answer (1 point, about 1 minute)

```python exercise="answer"
answer = None
### BEGIN SOLUTION
answer = 42
### END SOLUTION
```

```python check="answer"
check("answer", answer)
```

### Exercise: why (3 points, about 10 minutes)

<!-- #region written="why" -->
Because.
<!-- #endregion -->
'''

OWN_TEST = """\
```python check="own" points=1.5
assert double(2) == 4
### BEGIN HIDDEN TESTS
assert double(3) == 6
### END HIDDEN TESTS
```
"""


def declare(name, kind, points, minutes, lesson="01_small"):
    return SimpleNamespace(name=name, kind=kind, points=points, minutes=minutes, lesson=lesson)


EXERCISES = {
    "double": declare("double", "function", 2, 5),
    "answer": declare("answer", "value", 1, 1),
    "why": declare("why", "written", 3, 10),
    "later": declare("later", "function", 1, 5, lesson="02_next"),
}


@pytest.fixture
def read(tmp_path):
    def read_text(text):
        path = tmp_path / "01_small.md"
        path.write_text(text, encoding="utf-8")
        return read_lesson(path, EXERCISES)

    return read_text


def test_short_marks_become_nbgraders_metadata(read):
    marked = [cell for cell in read(LESSON).cells if "nbgrader" in cell.metadata]
    roles = {
        cell.metadata.nbgrader.grade_id: (
            cell.cell_type,
            cell.metadata.nbgrader.solution,
            cell.metadata.nbgrader.grade,
            cell.metadata.nbgrader.locked,
            cell.metadata.nbgrader.get("points"),
        )
        for cell in marked
    }
    assert roles == {
        "double": ("code", True, False, False, None),
        "check_double": ("code", False, True, True, 2),
        "answer": ("code", True, False, False, None),
        "check_answer": ("code", False, True, True, 1),
        "why": ("markdown", True, True, False, 3),
    }


def test_a_check_cell_gets_its_hidden_part(read):
    check = next(cell for cell in read(LESSON).cells if cell.id == "check_double")
    assert check.source.splitlines() == [
        'check("double", double)',
        "### BEGIN HIDDEN TESTS",
        'check("double", double, seed=None)',
        "### END HIDDEN TESTS",
    ]


def test_question_of_ones_own_is_not_declared_and_keeps_its_tests(read):
    (test,) = [cell for cell in read(LESSON + OWN_TEST).cells if cell.id == "check_own"]
    assert test.source == "\n".join(OWN_TEST.splitlines()[1:-1])
    settings = test.metadata.nbgrader
    assert (settings.points, settings.grade, settings.solution) == (1.5, True, False)


def test_last_cell_names_the_licenses(read):
    last = read(LESSON).cells[-1]
    assert last.cell_type == "markdown"
    assert "CC BY 4.0" in last.source
    assert "BSD 3-Clause" in last.source


def test_cell_ids_follow_their_text_and_not_their_place(read):
    before = {cell.source: cell.id for cell in read(LESSON).cells}
    after = {cell.source: cell.id for cell in read(f"```python\nnew = 1\n```\n\n{LESSON}").cells}
    new = after.pop("new = 1")
    assert after == before
    assert new not in before.values()


def test_equal_cells_get_unlike_ids(read):
    twice = "```python\nsame = 1\n```\n\n" * 2
    ids = [cell.id for cell in read(twice + LESSON).cells]
    assert len(set(ids)) == len(ids)


@pytest.mark.parametrize(
    ("old", "new", "told"),
    [
        ('exercise="double"', 'exercise="duoble"', "no exercise 'duoble'.*Did you mean double"),
        ('exercise="double"', 'exercise="later"', "later is an exercise of 02_next"),
        ('check="double"', "", "double needs one check cell"),
        ('check("double", double)', 'check("double", x)', "check cell of double must be exactly"),
        ("    ### BEGIN SOLUTION\n", "", "answer of double must stand between"),
        ("    ### END SOLUTION\n", "", "answer of double must stand between"),
        ("def double(x)", "def dbl(x)", r"needs a line 'def double\('"),
        ("answer = None", "answer = 0", "needs a line 'answer = None'"),
        ("(2 points", "(3 points", r"heading .*double \(2 points.*not .*\(3 points"),
        ("about 5 minutes", "about 6 minutes", r"about 5 minutes\)\", not"),
        ("### Exercise: double (2", "### Double (2", "there must be a heading"),
        ('exercise="answer"', "", "answer has no answer cells"),
        ('written="why"', 'exercise="why"', "exercise= marks a code cell"),
        ("Because.\n", "", "why has no model answer"),
        ("# A small lesson", "### BEGIN SOLUTION", "marks stand in a cell that may not"),
        ('check="answer"', 'check="answer" exercise="answer"', "both exercise and check"),
        ('check="answer"', 'check="answer" points=1', "'answer' is an exercise of 01_small: give"),
        ('check="answer"', 'check="own" points="1"', "points='1' of own is no number"),
        (
            "# A small lesson",
            '<!-- #region written="later" points=1 -->\nx\n<!-- #endregion -->',
            "'later' is an exercise of 02_next: give your own",
        ),
        ("# A small lesson", f"{OWN_TEST}\n{OWN_TEST}", "two cells are called 'check_own'"),
        (
            "# A small lesson",
            OWN_TEST.replace("### END HIDDEN TESTS\n", ""),
            "01_small.md: own needs a line ### END HIDDEN TESTS",
        ),
        (
            "# A small lesson",
            OWN_TEST.replace("assert", "check('double', double); assert"),
            "'own' calls check, which judges only",
        ),
    ],
)
def test_an_authors_mistake_is_one_clear_sentence(read, tmp_path, old, new, told):
    assert LESSON.count(old) >= 1
    with pytest.raises(CourseError, match=told) as caught:
        read(LESSON.replace(old, new, 1))
    assert str(caught.value).startswith(f"{tmp_path.name}/01_small.md: ")
    assert "\n" not in str(caught.value)


def test_exercises_out_of_order_are_named(read):
    head, double, answer, why = LESSON.split("### Exercise")
    with pytest.raises(
        CourseError, match=r"come in the order answer, double, why; .*double, answer"
    ):
        read("### Exercise".join([head, answer, double, why]))


def test_an_exercise_met_twice_is_named(read):
    head, double, *rest = LESSON.split("### Exercise")
    with pytest.raises(CourseError, match="double has 2 answer cells"):
        read("### Exercise".join([head, double, double, *rest]))


def test_a_check_above_its_answer_is_refused(read):
    check = '```python check="double"\ncheck("double", double)\n```\n\n'
    with pytest.raises(CourseError, match="double needs one check cell, after its answer"):
        read(check + LESSON.replace(check, ""))


@pytest.mark.parametrize("lesson", LESSONS)
def test_where_the_course_is_missing_the_line_that_fails_says_what_to_do(lesson):
    """It is the first that Python alone cannot do, so that no other package is missed before."""
    cells = nbformat.read(NOTEBOOKS / lesson / f"{lesson}.ipynb", as_version=4).cells
    first = next(cell for cell in cells if cell.cell_type == "code")
    imports = re.findall(r"^(?:import|from) (\w+).*", first.source, re.MULTILINE)
    assert next(name for name in imports if name not in sys.stdlib_module_names) == "attention_lib"
    assert f"{IMPORT.strip()}  # {IF_MISSING}\n" in first.source
