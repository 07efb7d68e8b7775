"""Honest notebooks as students make them: an answer counts wherever it is."""

import re
from copy import deepcopy

import pytest
from nbformat import NotebookNode
from nbformat.v4 import new_code_cell, new_markdown_cell, new_raw_cell

from tests.grading.sample_class import Classroom, cell_of, make_lean_course

LESSON, MANY = "01_softmax", "06_multihead"
WRITTEN = "written_softmax"
WORDS = "Exponentials turn differences between scores into ratios of weights."
pytestmark = [pytest.mark.sandbox, pytest.mark.batch, pytest.mark.xdist_group("elsewhere")]


@pytest.fixture(scope="module")
def rooms(tmp_path_factory) -> dict[str, Classroom]:
    """Two classes, of which each student hands in one odd notebook."""
    folder = tmp_path_factory.mktemp("course")
    course = make_lean_course(folder, LESSON, MANY)
    rooms = {lesson: Classroom(course, lesson) for lesson in (LESSON, MANY)}
    for lesson, students in STUDENTS.items():
        for name, (make, *_) in students.items():
            rooms[lesson].hand_in(name, make(rooms[lesson]))
        rooms[lesson].grade()
    return rooms


def code_of(room: Classroom) -> dict[str, str]:
    """The model answers that a check judges, by exercise."""
    return {name: cell_of(room.key(), name).source for name in room.checked}


def without(notebook: NotebookNode, *names: str) -> NotebookNode:
    for name in names:
        notebook.cells.remove(cell_of(notebook, name))
    return notebook


def place_of(notebook: NotebookNode, name: str) -> int:
    return notebook.cells.index(cell_of(notebook, name))


def all_in_one(where: str, keep: str = ""):
    """All functions in one own cell, the answer cells deleted or kept as given out."""

    def make(room):
        notebook = room.blank()
        everything = new_code_cell("\n\n\n".join(code_of(room).values()))
        if not keep:
            without(notebook, *room.checked)
        place = {"top": 2, "end": len(notebook.cells)}.get(where)
        notebook.cells.insert(place_of(notebook, where) + 1 if place is None else place, everything)
        return notebook

    return make


def checks_deleted(room):
    """All in one cell at the end, without answer cells and check cells."""
    notebook = all_in_one("end")(room)
    return without(notebook, *(f"check_{name}" for name in room.checked))


def below_softmax(room):
    """`study_weights` below `softmax` in its answer cell; its own as given out."""
    notebook, blank = room.key(), room.blank()
    answer = cell_of(notebook, "study_weights")
    cell_of(notebook, "softmax").source += "\n\n" + answer.source
    answer.source = cell_of(blank, "study_weights").source
    return notebook


def merged(room):
    """Two answer cells merged into the first one, with the lesson's cells between them."""
    notebook = below_softmax(room)
    cell = cell_of(notebook, "softmax")
    cell.source += '\n\ncheck("study_weights", study_weights)'
    return without(notebook, "study_weights", "check_softmax", "check_study_weights")


def in_check_cell(room):
    """The answer cell emptied, the answer above the check in the check cell."""
    notebook = room.key()
    answer, check = cell_of(notebook, "softmax"), cell_of(notebook, "check_softmax")
    check.source = f"{answer.source}\n\n{check.source}"
    answer.source = ""
    return notebook


def in_setup_cell(room):
    """The answer below the imports, in the lesson's first cell."""
    notebook = room.key()
    answer = cell_of(notebook, "weighted_sum")
    setup = next(cell for cell in notebook.cells if "import numpy" in cell.source)
    setup.source += f"\n\n{answer.source}"
    answer.source = cell_of(room.blank(), "weighted_sum").source
    return notebook


def in_text_turned_code(room):
    """The answer in the lesson's Markdown cell below the check, turned into code."""
    notebook = room.key()
    answer = cell_of(notebook, "normalize_by_sum")
    place = place_of(notebook, "check_normalize_by_sum") + 1
    old = notebook.cells[place]
    notebook.cells[place] = new_code_cell(answer.source, id=old.id)
    answer.source = cell_of(room.blank(), "normalize_by_sum").source
    return notebook


def helper_below(room):
    """The answer calls a helper that is defined in a cell of its own at the end."""
    notebook = room.key()
    cell_of(
        notebook, "softmax"
    ).source = "def softmax(scores, axis=-1):\n    return helper(scores, axis)"
    own = cell_of(room.key(), "softmax").source.replace("def softmax", "def helper")
    notebook.cells.append(new_code_cell(own))
    cell_of(notebook, "study_weights").source = "study_weights = softmax(np.array([2.0, 4.0, 4.0]))"
    return notebook


def second_try_below(room):
    """A wrong answer where it belongs, the right one in an own cell below its check."""
    notebook = room.key()
    right = cell_of(notebook, "softmax").source
    cell_of(notebook, "softmax").source = "def softmax(scores, axis=-1):\n    return scores"
    notebook.cells.insert(place_of(notebook, "check_softmax") + 1, new_code_cell(right))
    return notebook


def plays_below(room):
    """The right answer, and below the check a variant to see what it does."""
    notebook = room.key()
    play = "def softmax(scores, axis=-1):\n    return np.exp(scores)"
    notebook.cells.append(new_code_cell(play))
    return notebook


def split(room):
    """The answer cell split: a helper in its upper half, which keeps the metadata in JupyterLab."""
    notebook = room.key()
    answer = cell_of(notebook, "softmax")
    lower = new_code_cell(answer.source.replace("np.exp", "power"), id="lower")
    answer.source = "power = np.exp"
    notebook.cells.insert(place_of(notebook, "softmax") + 1, lower)
    return notebook


def split_with_copied_settings(room):
    """The answer in the upper half, a trial of it in the lower one, both with the same metadata."""
    notebook = room.key()
    answer = cell_of(notebook, "softmax")
    lower = deepcopy(answer)
    lower.source, lower.id = "softmax(np.ones(3))", "lower"
    notebook.cells.insert(place_of(notebook, "softmax") + 1, lower)
    return notebook


def pasted_for_another(room):
    """The answer cell of softmax, pasted with its settings and the answer of study_weights in it."""
    notebook = without(room.key(), "study_weights")
    pasted = deepcopy(cell_of(notebook, "softmax"))
    pasted.source = cell_of(room.key(), "study_weights").source
    notebook.cells.insert(place_of(notebook, "check_study_weights"), pasted)
    return notebook


def odd_definitions(room):
    """Definitions that are annotated, indented, magic, conditional, decorated, one of a pair."""
    notebook, code = room.blank(), code_of(room)
    forms = {
        "normalize_by_sum": "%%time\n@{0}\n".replace("@{0}\n", "") + code["normalize_by_sum"],
        "softmax": "import functools\n\nif True:\n"
        + re.sub("^", "    ", code["softmax"], flags=re.MULTILINE),
        "study_weights": "(study_weights, other), more = (np.array([0.1, 0.45, 0.45]), 1), 2\n"
        "%matplotlib inline\nstudy_weights: np.ndarray = np.exp([2.0, 4, 4]) / np.exp([2.0, 4, 4]).sum()",
        "weighted_sum": "@(lambda f: f)\n" + code["weighted_sum"],
    }
    notebook.cells[2:2] = [new_code_cell(text) for text in forms.values()]
    return notebook


def bound_by_text(room):
    """Definitions in a text that exec or a magic runs, and in the dictionary of names."""
    notebook, code = room.blank(), code_of(room)
    forms = (
        f"exec({code['normalize_by_sum']!r})",
        code["softmax"].replace("def softmax", "def own") + "\nglobals()['softmax'] = own",
        "%time study_weights = np.exp([2.0, 4, 4]) / np.exp([2.0, 4, 4]).sum()",
        f"source = {code['weighted_sum']!r}\nexec(source)",
    )
    notebook.cells[2:2] = map(new_code_cell, forms)
    return notebook


def without_metadata(room):
    """All metadata, ids and lesson's text lost, answers in their places: another program."""
    notebook = room.key()
    for cell in notebook.cells:
        cell.metadata = {}
        cell.pop("id", None)
        if cell.cell_type == "markdown":
            cell.source = cell.source.replace("*", "_")
    return notebook


def backwards(room):
    """All cells in the opposite order, answers in own cells below what they were."""
    notebook = room.key()
    own = [new_code_cell(text) for text in code_of(room).values()]
    notebook = without(notebook, *room.checked)
    notebook.cells = [notebook.cells[0], *notebook.cells[:0:-1], *own]
    return notebook


def one_wrong_in_all(room):
    """All in one cell at the end, of which one function, that others call, is wrong."""
    notebook = all_in_one("end")(room)
    own = notebook.cells[-1]
    own.source += "\n\ndef split_heads(x, num_heads):\n    return x"
    return notebook


def one_ends_python(room):
    """All in one cell at the end, of which one function ends Python when it is called."""
    notebook = all_in_one("end")(room)
    own = notebook.cells[-1]
    own.source += "\n\ndef rotary_embedding(*_, **__):\n    import os\n    os._exit(0)"
    return notebook


def stopped_by_what_is_withheld(room):
    """The library's function called above the definition, as a learner can and a grader cannot."""
    notebook = room.key()
    answer = cell_of(notebook, "softmax")
    answer.source = f"print(lib.softmax(np.ones(3)))\n\n{answer.source}"
    return notebook


def stopped_between_two(room):
    """Two answers in one cell, which stops between them."""
    notebook = room.key()
    answer = cell_of(notebook, "softmax")
    answer.source += "\n\nprint(missing)\n\n" + cell_of(notebook, "weighted_sum").source
    return without(notebook, "weighted_sum")


def swapped(room):
    """Two answers, each in the cell of the other."""
    notebook = room.key()
    one, other = cell_of(notebook, "softmax"), cell_of(notebook, "weighted_sum")
    one.source, other.source = other.source, one.source
    return notebook


def one_cell(room):
    """All code of the lesson in one cell, checks included, and nothing else."""
    notebook = room.key()
    code = [cell.source for cell in notebook.cells if cell.cell_type == "code"]
    notebook.cells = [new_code_cell("\n\n".join(code))]
    return notebook


def answers_alone(room):
    """Nothing but the answers, without settings and ids, and the words at the end."""
    notebook = room.key()
    answers = ["import numpy as np", *code_of(room).values()]
    notebook.cells = [*map(new_code_cell, answers), new_markdown_cell(WORDS)]
    return notebook


def in_text(room):
    """An answer in a Markdown cell, which runs nowhere."""
    notebook = room.key()
    answer = cell_of(notebook, "weighted_sum")
    notebook.cells.insert(place_of(notebook, "weighted_sum"), new_markdown_cell(answer.source))
    return without(notebook, "weighted_sum")


def in_broken_cell(room):
    """An answer in an own cell below its check that Python cannot parse."""
    notebook = room.key()
    answer = cell_of(notebook, "weighted_sum")
    notebook.cells.insert(
        place_of(notebook, "check_weighted_sum") + 1, new_code_cell(answer.source + "\n)")
    )
    answer.source = cell_of(room.blank(), "weighted_sum").source
    return notebook


def stub_and_helper(room):
    """The answer above, and in its cell a helper with the placeholder as given out below it."""
    notebook = room.key()
    answer = cell_of(notebook, "softmax")
    notebook.cells.insert(place_of(notebook, "softmax") - 1, new_code_cell(answer.source))
    answer.source = "shift = 0\n" + cell_of(room.blank(), "softmax").source
    return notebook


def sly_words(room):
    """No answer in an own cell: names in texts, comments, attributes, unrun magics, star imports."""
    notebook = room.blank()
    text = "# softmax = 1\n'study_weights = 2'\nclass A: pass\nA.weighted_sum = 3\n"
    notebook.cells.insert(2, new_code_cell(text))
    notebook.cells.insert(3, new_code_cell("%%script true\ndef softmax(x): return x"))
    notebook.cells.insert(4, new_code_cell("from scipy.special import *"))
    return notebook


def words(make_cell, where: str, text: str = WORDS):
    """Words in a cell of the student's, the question left blank."""

    def make(room):
        notebook = room.key()
        notebook.cells[place_of(notebook, WRITTEN)] = cell_of(room.blank(), WRITTEN)
        place = {"above": place_of(notebook, WRITTEN), "below": place_of(notebook, WRITTEN) + 1}
        place |= {"end": len(notebook.cells), "top": 1}
        notebook.cells.insert(place[where], make_cell(text))
        return notebook

    return make


def words_in(exercise: str, text: str):
    """Words in another cell of the lesson, the question left blank."""

    def make(room):
        notebook = room.key()
        notebook.cells[place_of(notebook, WRITTEN)] = cell_of(room.blank(), WRITTEN)
        cell = (
            cell_of(notebook, exercise)
            if exercise
            else notebook.cells[place_of(notebook, WRITTEN) - 1]
        )
        cell.source += text
        return notebook

    return make


def answered(text: str):
    def make(room):
        notebook = room.key()
        cell_of(notebook, WRITTEN).source = text
        return notebook

    return make


ALL: dict = {}
BLANK = {WRITTEN: 0}
ENDED = {"rotary_embedding": 0}
MAY_BE = "may be the answer"
STUDENTS = {
    MANY: {
        "all_on_top": (all_in_one("top"), ALL, "answered in a cell above split_heads"),
        "all_on_top_stubs_kept": (all_in_one("top", "keep"), ALL, "answered in a cell above"),
        "all_at_end": (all_in_one("end"), ALL, "answered in a cell below"),
        "all_at_end_stubs_kept": (all_in_one("end", "keep"), ALL, "answered in a cell below"),
        "all_in_the_middle": (
            all_in_one("check_merge_heads"),
            ALL,
            "answered in a cell below merge_heads",
        ),
        "checks_deleted": (checks_deleted, ALL, "answered in a cell below"),
        "one_wrong_in_all": (one_wrong_in_all, {"split_heads": 0}, "answered in a cell below"),
        "one_ends_python": (one_ends_python, ENDED, "answered in a cell below"),
        "no_metadata": (without_metadata, ALL, ""),
        "backwards": (backwards, ALL, "answered in a cell above split_heads"),
    },
    LESSON: {
        "below_softmax": (
            below_softmax,
            ALL,
            "study_weights: answered in the answer cell of softmax",
        ),
        "merged": (merged, ALL, "study_weights: answered in the answer cell of softmax"),
        "in_check_cell": (in_check_cell, ALL, "softmax: answered in the check cell of softmax"),
        "in_setup_cell": (
            in_setup_cell,
            ALL,
            "weighted_sum: answered in a cell above normalize_by_sum",
        ),
        "in_text_turned_code": (
            in_text_turned_code,
            ALL,
            "answered in a cell below normalize_by_sum",
        ),
        "helper_below": (helper_below, ALL, ""),
        "second_try_below": (
            second_try_below,
            ALL,
            "softmax right as defined again below its check",
        ),
        "plays_below": (plays_below, ALL, ""),
        "split": (split, ALL, "softmax: answered in a cell below softmax"),
        "split_with_copied_settings": (split_with_copied_settings, ALL, ""),
        "pasted_for_another": (pasted_for_another, ALL, "study_weights: answered in"),
        "odd_definitions": (odd_definitions, BLANK, "answered in a cell above"),
        "bound_by_text": (
            bound_by_text,
            {**BLANK, "weighted_sum": 0},
            "weighted_sum: a cell above normalize_by_sum may define it by exec",
        ),
        "stub_and_helper": (
            stub_and_helper,
            ALL,
            "softmax: answered in a cell below normalize_by_sum",
        ),
        "stopped_by_what_is_withheld": (stopped_by_what_is_withheld, ALL, ""),
        "stopped_between_two": (stopped_between_two, ALL, "weighted_sum: answered in"),
        "swapped": (swapped, ALL, "softmax: answered in the answer cell of weighted_sum"),
        "one_cell": (one_cell, BLANK, "softmax, study_weights, weighted_sum: answered in"),
        "answers_alone": (answers_alone, ALL, ""),
        "in_text": (
            in_text,
            {"weighted_sum": 0},
            "answer in a cell above weighted_sum does not run",
        ),
        "in_broken_cell": (in_broken_cell, {"weighted_sum": 0}, "below weighted_sum does not run"),
        "sly_words": (sly_words, None, ""),
        "no_metadata": (without_metadata, ALL, ""),
        "words_above": (words(new_markdown_cell, "above"), ALL, MAY_BE),
        "words_below": (words(new_markdown_cell, "below", "It sharpens."), ALL, MAY_BE),
        "words_raw": (words(new_raw_cell, "below"), ALL, MAY_BE),
        "words_at_end": (words(new_markdown_cell, "end"), ALL, MAY_BE),
        "words_comment": (words(new_code_cell, "below", "# It sharpens."), ALL, MAY_BE),
        "words_text_of_code": (words(new_code_cell, "end", f'answer = """{WORDS}"""'), ALL, MAY_BE),
        "words_as_broken_code": (words(new_code_cell, "below"), ALL, MAY_BE),
        "words_chinese": (words(new_markdown_cell, "end", "差变成了比。"), ALL, MAY_BE),
        "words_arabic": (words(new_markdown_cell, "end", "الفروق تصبح نسبا"), ALL, MAY_BE),
        "words_formula": (words(new_markdown_cell, "below", "$$e^{a-b}$$"), ALL, MAY_BE),
        "words_picture": (words(new_markdown_cell, "below", "![](attachment:a.png)"), ALL, MAY_BE),
        "words_in_question": (words_in("", f"\n\n{WORDS}"), ALL, MAY_BE),
        "words_in_code": (
            words_in("weighted_sum", f"\n\n# {WORDS}"),
            BLANK,
            "but there are words in the answer cell of weighted_sum",
        ),
        "words_in_check": (
            words_in("check_weighted_sum", f"\n# {WORDS}"),
            ALL,
            "the check cell of weighted_sum",
        ),
        "words_on_top": (
            words(new_markdown_cell, "top"),
            BLANK,
            "but there are words in a cell above",
        ),
        "name_on_top": (words(new_markdown_cell, "top", "Ada Lovelace, 12345"), BLANK, ""),
        "beside_placeholder": (answered(f"YOUR ANSWER HERE\n\n{WORDS}"), ALL, ""),
        "above_placeholder": (answered("Ratios.\nYOUR ANSWER HERE"), ALL, ""),
        "in_html_comment": (answered(f"<!-- {WORDS} -->"), ALL, ""),
        "emptied": (answered(""), BLANK, ""),
        "zero_width": (answered("YOUR ANSWER HERE\u200b \n...\n"), BLANK, ""),
    },
}
each = pytest.mark.parametrize(
    ("lesson", "name"), [(lesson, name) for lesson, row in STUDENTS.items() for name in row]
)


@each
def test_answer_gets_what_it_deserves_wherever_it_is(rooms, lesson, name):
    room, (_, differs, note) = rooms[lesson], STUDENTS[lesson][name]
    result = room.results[name]
    deserved = room.nothing if differs is None else {**room.most, **differs}
    assert (result.points, note in result.note) == (deserved, True), result.note
    if not note:
        assert "answered in" not in result.note
        assert "words in" not in result.note
    elif "answered in" in note:
        assert "is answered elsewhere" in room.feedback(name)


def test_words_that_only_a_comment_holds_are_shown(rooms):
    assert WORDS in re.sub("<[^>]*>", "", rooms[LESSON].feedback("in_html_comment"))
