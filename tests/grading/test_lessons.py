"""Each lesson as it is: solved, run from top to bottom; as it is given out, what answers change."""

import ast
import symtable

import nbformat
import pytest
from jupyter_client.manager import AsyncKernelManager
from jupyter_core.utils import run_sync
from nbconvert.preprocessors import ExecutePreprocessor
from nbformat.v4 import new_code_cell

from attention_lib.exercises import EXERCISES
from benchmarks.lesson import ONE_THREAD
from tests.grading.sample_class import LESSONS

SECONDS_A_LESSON = 600  # many times what one takes
SMALL_FIGURES = (
    "import attention_lib.plots.style as _look\n_look.PIXELS_PER_INCH = 10"  # are drawn sooner
)
SHORTER = {  # of a lesson's text: what repeats a call that is timed or prints more, and what does not
    "07_flash": {"range(repeats + 1)": "range(1)"},
    # With stored results; tests/test_model.py runs the page with the model.
    "09_model": {
        "helper.open_model()": "setattr(helper, 'is_installed', bool) or helper.open_model()"
    },
    "10_gpu": {"20 if on_cuda else 3": "1"},
}
SHOWN = ("display_data", "execute_result")
WIDGET = "application/vnd.jupyter.widget-view+json"
pytestmark = pytest.mark.batch


@pytest.fixture(scope="module")
def kernel():
    """One kernel for all lessons, which starts with the first; each finds it without names."""
    manager = AsyncKernelManager()
    with pytest.MonkeyPatch.context() as environment:
        for name, value in ONE_THREAD.items():
            environment.setenv(name, value)
        yield manager
    if manager.has_kernel:
        run_sync(manager.shutdown_kernel)(now=True)


def run(path, kernel, cells_to_run=lambda cells: cells):
    text = path.read_text("utf-8")
    for long, short in SHORTER.get(path.stem, {}).items():
        assert long in text
        text = text.replace(long, short)
    notebook = nbformat.reads(text, as_version=4)
    cells = cells_to_run([cell for cell in notebook.cells if cell.cell_type == "code"])
    begin = f"%reset -f\n%cd -q {path.parent}\n{SMALL_FIGURES}"
    notebook.cells = [new_code_cell(begin), *cells]
    steps = ExecutePreprocessor(timeout=SECONDS_A_LESSON, allow_errors=True)
    done, _ = steps.preprocess(notebook, {}, km=kernel)
    steps.kc.stop_channels()
    return done.cells[1:]


def concerned_by_answers(cells):
    """Leave out the cells that do the same whatever the answers are.

    An answer, a check, and a cell that takes a name which an answer binds stay, and so on with the
    names that such a cell binds; and so do cells above them which bind or change what they use.
    """
    named = [names_in(cell.source) for cell in cells]
    stays, by_answers = [], set()
    for cell, (taken, _, bound) in zip(cells, named, strict=True):
        stays.append(bool(name_of(cell) or taken & by_answers))
        by_answers = by_answers | bound if stays[-1] else by_answers - bound
    imported = {
        alias.asname or alias.name
        for cell in cells
        for node in ast.walk(ast.parse(cell.source))
        if isinstance(node, ast.Import | ast.ImportFrom)
        for alias in node.names
    }
    used = set()
    for place in reversed(range(len(cells))):
        taken, changed, bound = named[place]
        if (changed - imported | bound) & used:
            stays[place] = True
        if stays[place]:
            used = (used - bound) | taken
    return [cell for cell, needed in zip(cells, stays, strict=True) if needed]


def names_in(source):
    """Return the names that a cell takes from above, those whose objects it changes, and those it binds."""
    taken, changed, bound = set(), set(), set()
    for statement in ast.parse(source).body:
        symbols = list(symbols_in(symtable.symtable(ast.unparse(statement), "cell", "exec")))
        loops = [node.target for node in ast.walk(statement) if isinstance(node, ast.For)]
        bound_first = {
            n.id for target in loops for n in ast.walk(target) if isinstance(n, ast.Name)
        }
        used = {symbol.get_name() for symbol in symbols if symbol.is_referenced()}
        taken |= used - bound_first - bound
        changed |= set(names_changed(statement))
        bound |= {
            symbol.get_name()
            for symbol in symbols
            if symbol.is_imported() or symbol.is_namespace() or symbol.is_assigned()
        }
    return taken, changed, bound


def names_changed(statement):
    """Yield names whose objects a statement changes: by their entries, or with a call of a method."""
    for node in ast.walk(statement):
        match node:
            case ast.Subscript(ctx=ast.Store()) | ast.Attribute(ctx=ast.Store()):
                yield root_of(node)
            case ast.Expr(value=ast.Call(func=ast.Attribute() as method, args=arguments)):
                yield root_of(method)
                if arguments and root_of(method) == "np":  # such as np.add.at
                    yield root_of(arguments[0])


def root_of(node):
    """Return the name at the left end of an expression such as `table.rows[0]`, or nothing."""
    while isinstance(node, ast.Attribute | ast.Subscript):
        node = node.value
    return node.id if isinstance(node, ast.Name) else ""


def symbols_in(table):
    """Yield the module's own names in a symbol table, and in those of the functions in it."""
    for symbol in table.get_symbols():
        if table.get_type() == "module" or symbol.is_global():
            yield symbol
    for inner in table.get_children():
        yield from symbols_in(inner)


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
def test_a_solved_lesson_runs_without_a_word_on_stderr(released_course, lesson, kernel):
    cells = run(released_course.source(lesson), kernel)
    assert outputs(cells, "error") == []
    assert [output for _, output in outputs(cells, "stream") if output.name == "stderr"] == []
    shown = [output.data for kind in SHOWN for _, output in outputs(cells, kind)]
    assert not any(WIDGET in data for data in shown)  # a stored page shows the figure instead
    checks = [cell for cell in cells if name_of(cell).startswith("check_")]
    assert checks
    for cell in checks:
        said = [output.metadata["attention_lib"]["outcome"] for output in cell.outputs]
        assert said == ["right", "right"], name_of(cell)  # of the visible cases, and the hidden


@pytest.mark.parametrize("lesson", LESSONS)
def test_a_lesson_as_given_out_stops_only_at_its_exercises(released_course, lesson, kernel):
    cells = run(released_course.released(lesson), kernel, concerned_by_answers)
    errors = outputs(cells, "error")
    expected = []
    for exercise in EXERCISES.values():
        if exercise.lesson == lesson and exercise.kind != "written":
            if exercise.kind == "value":
                expected.append((exercise.name, "NotImplementedError"))
            expected.append((f"check_{exercise.name}", "CheckFailed"))
    assert [(name, output.ename) for name, output in errors] == expected


def test_cells_that_use_an_answer_and_what_they_use_stay():
    sources = {
        "": ["import numpy as np", "table = {}", "table['a'] = 1", "other = np.ones(3)"],
        "softmax": ["def softmax(scores): raise NotImplementedError"],
        "check_softmax": ["check('softmax', softmax)"],
    }
    below = [
        "weights = softmax(table)",
        "np.sum(weights)",
        "np.sum(other)",
        "for weights in range(3):\n    print(weights)",
    ]
    cells = [
        new_code_cell(source, metadata={"nbgrader": {"grade_id": name}} if name else {})
        for name, texts in [*sources.items(), ("", below)]
        for source in texts
    ]
    left_out = {"other = np.ones(3)", "np.sum(other)", below[-1]}
    assert [cell.source for cell in concerned_by_answers(cells)] == [
        cell.source for cell in cells if cell.source not in left_out
    ]
