"""`solution` shows the lesson's own model answer, and that answer is right."""

import ast
import functools
import linecache

import jupytext

from attention_lib import solution
from attention_lib.checks.judging import judge
from attention_lib.exercises import EXERCISES, model_answers
from attention_lib.exercises.model_answers import SOLUTIONS, model_answer
from tests.exercises.chosen import chosen

BEGIN, END = "### BEGIN SOLUTION", "### END SOLUTION"


@functools.cache
def cells_of(lesson):
    return jupytext.reads((SOLUTIONS / f"{lesson}.md").read_text(encoding="utf-8"), fmt="md").cells


def answer_cell(exercise):
    """Return the source of an exercise's answer cell, as the release reads it."""
    role = "written" if exercise.kind == "written" else "exercise"
    sources = [
        cell.source
        for cell in cells_of(exercise.lesson)
        if cell.metadata.get(role) == exercise.name
    ]
    assert len(sources) == 1, (
        f'Write one answer cell marked {role}="{exercise.name}" in solutions/{exercise.lesson}.md.'
    )
    return sources[0]


def pytest_generate_tests(metafunc):
    if "name" in metafunc.fixturenames:
        exercises = chosen(metafunc.config).items()
        by_hand = metafunc.function is test_solution_shows_the_lines_of_the_lesson
        names = [name for name, e in exercises if by_hand or e.kind != "written"]
        metafunc.parametrize("name", names)


def test_solution_shows_the_lines_of_the_lesson(name, capsys):
    source = answer_cell(EXERCISES[name])
    solution(name)
    shown = capsys.readouterr().out.strip()
    assert "### " not in shown
    if EXERCISES[name].kind == "written":
        assert shown == source.strip()
    else:
        _, _, answer = source.partition(BEGIN)
        assert shown.endswith(answer.partition(END)[0].strip())
        expected = f"def {name}(" if EXERCISES[name].kind == "function" else f"{name} ="
        assert expected in shown


def test_shown_answer_is_right(name):
    exercise = EXERCISES[name]
    answer_cell(exercise)  # fails with a sentence where there is none
    namespace = {}
    for cell in cells_of(exercise.lesson):
        if cell.cell_type == "code":
            execute("\n".join(import_lines(cell.source)), namespace)
    for earlier in EXERCISES.values():
        if earlier.lesson == exercise.lesson and earlier.kind == "function":
            execute(model_answer(earlier), namespace, earlier.name)
        if earlier is exercise:
            break
    if exercise.kind == "value":
        execute(model_answer(exercise), namespace)
    report = judge(exercise, namespace[name], seed=0)
    assert report.outcome == "right", (
        f"Mend the model answer of {name} in solutions/{exercise.lesson}.md: {report.sentence}"
    )


def import_lines(source):
    """Yield the import statements at the top level of a cell."""
    for node in ast.parse(source).body:
        if isinstance(node, (ast.Import, ast.ImportFrom)):
            yield ast.unparse(node)


def execute(source, namespace, name=""):
    """Execute source text that `inspect` can find again, as it can a notebook's cell."""
    filename = f"<model answer {name}>"
    linecache.cache[filename] = len(source), None, source.splitlines(keepends=True), filename
    exec(compile(source, filename, "exec"), namespace)


def test_solution_shows_the_library_version_on_request(capsys):
    solution("softmax", library=True)
    shown = capsys.readouterr().out
    assert shown.startswith("def softmax(")
    assert "Returns\n" in shown


def test_solution_without_the_lessons_shows_the_library_version_and_says_so(
    capsys, monkeypatch, tmp_path
):
    monkeypatch.setattr(model_answers, "SOLUTIONS", tmp_path)
    solution("softmax")
    first, _, rest = capsys.readouterr().out.partition("\n")
    assert first == "solutions/01_softmax.md is not here, so this is the library's version."
    assert rest.startswith("def softmax(")
    solution("study_weights")
    assert capsys.readouterr().out.endswith("study_weights = [0.0634, 0.4683, 0.4683]\n")
    solution("written_softmax")
    assert capsys.readouterr().out == (
        "written_softmax is answered in words; a model answer is in solutions/01_softmax.md.\n"
    )
