"""Running a submission: cells in the sandbox, checks outside it, whatever the cells do."""

import inspect

import numpy as np
import pytest
from nbformat import writes
from nbformat.v4 import new_code_cell, new_notebook
from traitlets.config import Config

from attention_lib.commands import SEED_VARIABLE
from attention_lib.exercises import EXERCISES
from attention_lib.grading import limits
from attention_lib.grading.batch.recording import note_for_instructor
from attention_lib.grading.intake.submission import Prepared, Submission
from attention_lib.grading.judge import execution, stand_in
from attention_lib.grading.judge.execution import run_notebook
from attention_lib.grading.judge.missing import PYTHON
from attention_lib.grading.judge.task import Ran, Task
from attention_lib.grading.nbgrader_plugins.autograde import ExecuteSubmission
from attention_lib.grading.sandbox.session import Session
from tests.exercises.model import generate
from tests.grading.judge.running import answer_cell, check_cell, errors, run_cells, texts

RIGHT = "def normalize_by_sum(scores):\n    return scores / scores.sum(axis=-1, keepdims=True)"
NUMPY = "import numpy as np"
pytestmark = [pytest.mark.sandbox, pytest.mark.slow]


def run(*sources, checks=(), seconds=20.0, in_all=60.0, **settings):
    """Run cells of a student's, then checks; return all cells as they are shown."""
    cells = [new_code_cell(source, id=f"added-{i}") for i, source in enumerate(sources)]
    limited = {"cell_seconds": seconds, "seconds": in_all, **settings}
    return run_cells(*cells, *map(check_cell, checks), **limited)


def verdict(*sources, name="normalize_by_sum", **settings):
    """Return whether an answer is right, and all that its check cell shows."""
    cell = run(*sources, checks=[name], **settings)[-1]
    said = cell.outputs[0].get("metadata", {}).get("attention_lib", {})
    return not errors(cell) and said.get("outcome") == "right", str(cell.outputs)


def test_outputs_of_cells_are_returned():
    first, second, third = run(
        "print('one')\nimport sys\nprint('two', file=sys.stderr)\n1 + 1",
        "import matplotlib.pyplot as plt\nplt.plot([1, 2]);",
        "1 / 0",
    )
    assert texts(first) == "one\ntwo\n"
    assert first.outputs[-1].data["text/plain"] == "2"
    assert "image/png" in second.outputs[-1].data
    assert errors(third) == ["ZeroDivisionError"]
    assert [cell.execution_count for cell in (first, second, third)] == [1, 2, 3]


def test_longest_cell_that_is_taken_runs_whole():
    answer = "#" * (limits.CODE_CELL_CHARACTERS - len(RIGHT) - 1) + f"\n{RIGHT}"
    assert verdict(answer)[0]


def run_below_a_lesson(source, name="normalize_by_sum"):
    """Run a student's cell below a cell of the lesson's setup and one that shows something."""
    return run_cells(
        new_code_cell("import math", id="imports", metadata={"tags": ["setup"]}),
        new_code_cell("factor = 1.0\nprint('shown')", id="figure"),
        new_code_cell(source, id="added-1"),
        check_cell(name),
    )


def test_lesson_cells_that_only_show_something_are_not_run():
    imports, figure, own, _ = run_below_a_lesson("print(math.pi)")
    assert [cell.execution_count for cell in (imports, figure, own)] == [1, None, 2]
    assert texts(own) == "3.141592653589793\n"


@pytest.mark.parametrize(
    "source",
    [
        "def normalize_by_sum(scores):\n    return factor * scores / scores.sum(-1, keepdims=True)",
        "scale = factor\ndef normalize_by_sum(s):\n    return scale * s / s.sum(-1, keepdims=True)",
        "scale = globals()['factor']\n"
        "def normalize_by_sum(s):\n    return scale * s / s.sum(-1, keepdims=True)",
    ],
    ids=["in the answer", "in the cell", "as text"],
)
def test_all_lesson_cells_are_run_where_a_name_was_missing(source):
    *cells, check = run_below_a_lesson(source)
    assert [cell.execution_count for cell in cells] == [1, 2, 3]
    assert texts(cells[1]) == "shown\n"
    assert not errors(check)


def test_lesson_cell_that_uses_a_withheld_reference_shows_no_error():
    lesson = "import attention_lib as lib\nprint('begun')\nlib.softmax([1.0])"
    own, added = run_cells(
        new_code_cell(lesson, id="lesson", metadata={"tags": ["setup"]}),
        new_code_cell(lesson, id="added-1"),
    )
    assert (texts(own), errors(own)) == ("begun\n", [])
    assert errors(added) == ["NotAvailable"]


@pytest.mark.parametrize(("whose", "imported"), [("lesson", True), ("earlier-1", False)])
def test_only_lesson_cells_decide_what_the_sandbox_imports(whose, imported):
    """A student can make a cell that passes for one of an earlier version of the lesson."""
    execution._close_sandboxes()
    cells = run_cells(
        new_code_cell("import sys\nprint('colorsys' in sys.modules)", id="added-0"),
        new_code_cell("import colorsys", id=whose, metadata={"tags": ["setup"]}),
        new_code_cell("colorsys", id="added-1"),
    )
    assert [texts(cell) for cell in cells] == [f"{imported}\n", "", ""]
    assert [errors(cell) for cell in cells] == [[], [], []]


@pytest.mark.parametrize(
    "source",
    ["%timeit -n1 -r1 pass", "x = !echo 5\nprint(x)", "import asyncio\nawait asyncio.sleep(0)"],
)
def test_ipython_syntax_works(source):
    (cell,) = run(source)
    assert errors(cell) == []


@pytest.mark.parametrize(
    "ending",
    [
        "import os; os._exit(0)",
        "import os, signal; os.kill(os.getpid(), signal.SIGKILL)",
        "import ctypes; ctypes.string_at(0)",
        "import os; os.closerange(0, 100)",
    ],
)
def test_after_a_crash_all_but_the_cell_with_it_is_run(ending):
    first, second, third, check = run("print('earned')", ending, RIGHT, checks=["normalize_by_sum"])
    assert texts(first) == "earned\n"
    assert errors(second) == ["PythonStopped"]
    assert third.execution_count == 3
    assert errors(check) == []


@pytest.mark.parametrize(
    "source", ["exit()", "quit", "import sys; sys.exit(3)", "raise SystemExit"]
)
def test_exit_ends_only_its_cell(source):
    assert verdict(NUMPY, source, RIGHT)[0]


def test_endless_loop_is_interrupted_and_the_next_cell_runs():
    first, second = run("while True: pass", "print('still here')", seconds=1.0)
    assert errors(first) == ["KeyboardInterrupt", "CellTimeout"]
    assert texts(second) == "still here\n"


def test_cell_that_ignores_interrupts_is_killed(monkeypatch):
    monkeypatch.setattr("attention_lib.grading.limits.INTERRUPT_GRACE_SECONDS", 0.3)
    stubborn = "import signal\nsignal.signal(signal.SIGINT, signal.SIG_IGN)\nwhile True: pass"
    first, second, third = run("1", stubborn, "2", seconds=1.0)
    assert errors(first) == []
    assert errors(second) == ["PythonStopped"]
    assert third.outputs


def test_long_output_is_cut_in_the_sandbox():
    flood, rich = run(
        "for i in range(10**5): print('x' * 100)",
        "from IPython.display import HTML, display\n"
        "for _ in range(100): display(HTML('y' * 10**5))",
    )
    assert len(texts(flood)) < 110_000
    assert "left out" in texts(flood)
    assert sum(len(str(output)) for output in rich.outputs) < 5_000_000


def test_long_output_is_cut_again_by_the_grader(monkeypatch):
    """A student's process need not cut anything."""
    uncut = "from attention_lib.grading import limits\nlimits.CELL_CHARACTERS = 10**9"
    monkeypatch.setattr(limits, "ALL_OUTPUT_BYTES", 150_000)
    _, first, second, third = run(uncut, *["print('x' * 10**6)"] * 2, "print('x' * 10**7)")
    assert 100_000 < len(texts(first)) < 100_200
    for cell in (second, third):
        assert "left out" in texts(cell)
        assert len(texts(cell)) < 200


def test_many_outputs_are_cut_by_the_grader(monkeypatch):
    monkeypatch.setattr(limits, "ALL_OUTPUTS", 250)
    show = "from IPython.display import display\nfor _ in range(150): display({'text/plain': ''}, raw=True)"
    cells = run(show, show, "print('after')")
    assert [len(cell.outputs) for cell in cells] == [150, 1, 1]
    assert "left out" in texts(cells[1])


@pytest.mark.parametrize("given", ["12345", ""])
def test_seed_comes_from_the_environment_or_is_drawn_anew(monkeypatch, given):
    """A batch may follow another one whose hidden cases a student has printed."""
    monkeypatch.setenv(SEED_VARIABLE, given)
    seeds = {execution.draw_seed() for _ in range(3)}
    assert seeds == {int(given)} if given else len(seeds) == 3


def test_right_answer_is_right():
    right, shown = verdict(NUMPY, RIGHT)
    assert right
    assert "normalize_by_sum: right. All" in shown


def test_answer_that_knows_only_the_visible_cases_is_wrong():
    """Its author has printed what comes in at home, and written down what should come out."""
    cases = EXERCISES["normalize_by_sum"].cases(np.random.default_rng(0))
    known = {}
    for case in cases:
        scores = case.args[0]
        known[repr(scores.tolist())] = (scores / scores.sum(-1, keepdims=True)).tolist()
    answer = (
        f"nan, inf = float('nan'), float('inf')\nKNOWN = {known}\n"
        "def normalize_by_sum(scores):\n"
        "    dtype = np.result_type(scores, np.float32)\n"
        "    return np.array(KNOWN[repr(scores.tolist())], dtype)"
    )
    right, shown = verdict(NUMPY, answer)
    assert not right
    assert "With numbers that are not in the notebook" in shown
    assert "the call" not in shown


def test_missing_answer_is_reported():
    assert "normalize_by_sum is not defined: no cell defines it." in verdict("x = 1")[1]
    assert (
        "not attempted yet" in verdict("def normalize_by_sum(s):\n    raise NotImplementedError")[1]
    )
    assert "give it the function itself" in verdict("normalize_by_sum = [0.5]")[1]


STOPPED_CELLS = {
    "```python\nx = 1\n```": "delete lines 1 and 3, Markdown's marks of code (```).",
    "import no_such_package": "its cell stopped with ModuleNotFoundError: No module named "
    "'no_such_package'. Notebooks are graded with Python 3.",
    "rows = = 2": f"its cell is not valid in {PYTHON}: invalid syntax (line 1).",
    "if True:": f"its cell is not valid in {PYTHON}: expected an indented block",
    "n = int(input('rows? '))": "its cell stopped with EOFError: input() waits for somebody to type",
    "from getpass import getpass\ngetpass()": "EOFError: getpass() waits for somebody to type",
    "while True: pass": "its cell did not end. This cell was still running after 0.5 seconds",
    "import os\nos._exit(1)": "its cell did not end. Python ended while this ran",
    "assert 1 > 2, 'of rows'": "its cell stopped with AssertionError: of rows.",
}


@pytest.mark.parametrize("line", STOPPED_CELLS)
def test_the_error_of_the_cell_that_defines_an_answer_is_named(line):
    shown = verdict(f"{line}\nnormalize_by_sum = not_defined", seconds=0.5)[1]
    assert STOPPED_CELLS[line] in shown.replace("\\'", "'")


def test_another_name_for_an_answer_is_named():
    other = "helper = 1\n" + RIGHT.replace("normalize_by_sum", "normalise_by_sum")
    answer = answer_cell("normalize_by_sum", other)
    (error,) = run_cells(answer, check_cell("normalize_by_sum"))[-1].outputs
    assert error["evalue"] == (
        "normalize_by_sum is not defined: its answer cell defines normalise_by_sum instead of "
        "normalize_by_sum."
    )


@pytest.mark.parametrize("call", ["breakpoint()", "import pdb; pdb.set_trace()"])
def test_breakpoints_are_passed_over(call):
    assert verdict(NUMPY, RIGHT.replace("    return", f"    {call}\n    return"))[0]


def test_input_in_an_answer_is_named():
    right, shown = verdict(NUMPY, RIGHT.replace("    return", "    input()\n    return"))
    assert not right
    assert "input() waits for somebody to type, and nobody is there while this is graded" in shown


def test_remarks_on_method_and_warnings_cost_no_points():
    warns = RIGHT.replace("return", "print('hm')\n    np.log(0 * scores)\n    return")
    right, shown = verdict(NUMPY, warns)
    assert right
    assert "A remark" in shown
    assert "divide by zero" in shown
    scipy = "from scipy import special\ndef softmax(scores, axis=-1):\n    return special.softmax"
    right, shown = verdict(f"{scipy}(scores, axis=axis)", name="softmax")
    assert right
    assert "scipy" in shown


def test_step_that_is_called_too_often_is_seen_though_its_error_is_caught():
    answer = inspect.getsource(generate.wrong_error_of_one_step_more_is_caught)
    answer = answer.replace("wrong_error_of_one_step_more_is_caught", "generate")
    right, shown = verdict(NUMPY, answer, name="generate", lesson="09_model")
    assert not right
    assert "step was called for word 5 of 4" in shown


def test_forbidden_library_costs_points_where_that_is_set():
    settings = ExecuteSubmission(
        config=Config(ExecuteSubmission={"forbidden_libraries_cost_points": True})
    )
    assert settings.task("01_softmax", new_notebook(), {}, 1).forbidden_costs
    scipy = "from scipy import special\ndef softmax(scores, axis=-1):\n    return special.softmax"
    source = f"{NUMPY}\n{RIGHT}\n{scipy}(scores, axis=axis)"
    other, own = run(source, checks=["normalize_by_sum", "softmax"], forbidden_costs=True)[1:]
    assert not errors(other)
    assert errors(own)
    said = own.outputs[0].metadata["attention_lib"]
    assert "scipy" in said["sentence"]
    assert "this call costs the points" in said["sentence"]
    note = note_for_instructor(Prepared(Submission(), new_notebook()), Ran({"check": own.outputs}))
    assert note == "softmax lost its points for a forbidden call"


@pytest.mark.parametrize(
    "reply",
    [
        "b'x' * 100",
        "LENGTH.pack(2**31)",
        "frame({'observations': []})",
        "frame({'observations': [None] * 99})",
        "frame({'observations': ({'changed': ('99',)},) * 50})",
        "frame({'ask': 5, 'what': 'call', 'args': ()})",
        "frame({'kind': 'function'})",
        "frame({'unsendable': 3})",
    ],
)
def test_forged_replies_earn_nothing_and_spare_the_next_submission(reply):
    """A thread sends the grader whatever it likes, before the answer itself comes back."""
    forge = (
        "import socket\nfrom attention_lib.grading.inside.wire import LENGTH, pack\n"
        "def frame(message):\n    data = pack(message)\n    return LENGTH.pack(len(data)) + data\n"
        "def normalize_by_sum(scores):\n"
        f"    socket.socket(fileno=3).sendall({reply})\n    return scores"
    )
    assert not verdict(NUMPY, forge)[0]
    assert verdict(NUMPY, RIGHT)[0]


def test_answer_that_claims_to_be_a_quantized_tensor_is_wrong_and_harms_nobody():
    claim = (
        "import torch\nfrom attention_lib.grading.inside import wire\n"
        "def claim(self, tensor, torch):\n"
        "    return {'tensor': [self._buffer(bytes(1 << 20)), 'qint8', [1 << 20]]}\n"
        "wire._Packing._tensor = claim\n"
        "def torch_attention(query, key, value, is_causal=False): return query"
    )
    right, shown = verdict(claim, name="torch_attention", lesson="10_gpu")
    assert not right
    assert "cannot be taken" in shown
    assert verdict(NUMPY, RIGHT)[0]


@pytest.mark.parametrize("outputs", ["[300]", "'text'", "[1.5, None]", "np.zeros(3)"])
def test_outputs_of_a_cell_that_are_no_bytes_are_left_out(outputs):
    forge = (
        "import numpy as np\nfrom attention_lib.grading.inside import conversation\n"
        f"conversation.Student.do = lambda *_: {{'outputs': {outputs}}}"
    )
    cells = run(forge, "1 / 0", checks=["normalize_by_sum"])
    assert [cell.outputs for cell in cells[:2]] == [[], []]
    assert errors(cells[2])


def test_callbacks_iterators_and_measurements_reach_the_sandbox():
    gradient = (
        "def numerical_gradient(f, x, eps=1e-6):\n    g = np.zeros(x.shape)\n"
        "    for i in np.ndindex(x.shape):\n        up, down = x.copy(), x.copy()\n"
        "        up[i] += eps\n        down[i] -= eps\n"
        "        g[i] = (f(up) - f(down)) / (2 * eps)\n    return g"
    )
    assert verdict(NUMPY, gradient, name="numerical_gradient", lesson="04_gradients")[0]
    keeps = (
        "def online_softmax_stats(blocks):\n    blocks = list(blocks)\n"
        "    m = np.max([b.max(axis=-1) for b in blocks], axis=0)\n"
        "    return m, sum(np.exp(b - m[..., None]).sum(axis=-1) for b in blocks)"
    )
    right, shown = verdict(NUMPY, keeps, name="online_softmax_stats", lesson="07_flash")
    assert not right
    assert "keeps the blocks" in shown


def test_students_files_lie_beside_the_notebook():
    (cell,) = run("print(open('data/notes.txt').read())", files={"data/notes.txt": b"mine"})
    assert texts(cell) == "mine\n"


def test_modules_in_the_folder_are_not_imported():
    files = {f"{name}.py": b"raise SystemExit" for name in ("statistics", "numpy", "attention_lib")}
    (cell,) = run("import statistics, numpy, attention_lib", files=files)
    assert errors(cell) == []


def test_answers_are_judged_from_outside_without_a_sandbox_too():
    assert verdict(NUMPY, RIGHT, without_sandbox=True)[0]
    borrowed = "import attention_lib as lib\nnormalize_by_sum = lib.normalize_by_sum"
    assert not verdict(borrowed, without_sandbox=True)[0]
    loop, check = run("while True: pass", seconds=1.0, checks=["softmax"], without_sandbox=True)
    assert errors(loop) == ["KeyboardInterrupt", "CellTimeout"]
    assert "softmax is not defined" in str(check.outputs)


NO_CHARACTERS = "np.frombuffer(b'\\xff\\xff\\xff\\x7f' * 3, '<U1')"


@pytest.mark.parametrize(
    "source",
    [
        f"import numpy as np\ndef normalize_by_sum(scores):\n    return {NO_CHARACTERS}",
        f"import numpy as np\ndef normalize_by_sum(scores):\n    return {NO_CHARACTERS}, '\\udc80'",
        "def normalize_by_sum(scores):\n    raise ValueError('\\udc80')",
        "print('\\udc80')\nraise ValueError('\\udc80')",
    ],
    ids=["array", "tuple", "error", "cell"],
)
def test_text_whose_bytes_are_no_characters_ends_in_a_verdict(source):
    assert errors(run_below_a_lesson(source)[-1])


def test_value_that_is_too_large_is_refused_in_a_short_sentence():
    forged = (
        "import numpy as np\nfrom attention_lib.grading.inside import conversation\n"
        "data = np.zeros(8 << 20, np.uint8)\nstudy_weights = 1\n"
        "conversation.packed = lambda value: dict(value=data, unsendable="
    )
    for problem in ("'')", "'x' * 50_000)"):
        cell = run(forged + problem, checks=["study_weights"])[-1]
        assert errors(cell) == ["TypeError"]
        assert "study_weights is a value that cannot be taken" in str(cell.outputs)
        assert len(str(cell.outputs)) < 2000


def test_student_cannot_write_why_python_ended():
    def stops(source):
        notebook = new_notebook(cells=[new_code_cell(source, id="added-1"), check_cell("softmax")])
        return run_notebook(Task("01_softmax", writes(notebook), {}, seed=7)).stops

    forged = "class PythonStopped(Exception): pass\nraise PythonStopped('Give me full marks.')"
    assert stops(forged) == []
    (sentence,) = stops("import os\nos._exit(0)")
    assert sentence.endswith("The cells below were run without it.")


def test_an_error_is_explained_by_the_names_in_the_line_that_failed():
    cell = (
        "import numpy as np\ndef normalize_by_sum(scores):\n"
        "    total = np.sum(scores, axis=-1)\n    rows, columns = scores.shape\n"
    )
    is_right, shown = verdict(cell)
    assert not is_right
    assert "stopped in line 4 of its cell" in shown
    assert "The axes of an array may be any number" in shown


def test_passes_have_one_deadline_and_after_a_stop_for_time_there_is_no_other(monkeypatch):
    """A cell sleeps, and another one does not find a name of a lesson's cell that is not run."""
    deadlines, run_and_check = [], execution._run_and_check
    monkeypatch.setattr(
        execution,
        "_run_and_check",
        lambda *arguments: deadlines.append(arguments[-1]) or run_and_check(*arguments),
    )
    for source, expected in (("import time\ntime.sleep(60)", 1), ("1", 2)):
        deadlines.clear()
        run_cells(
            new_code_cell("factor = 1", id="figure"),
            new_code_cell(source, id="added-1"),
            new_code_cell("factor", id="added-2"),
            check_cell("softmax"),
            cell_seconds=0.5,
        )
        assert len(deadlines) == expected
        assert len(set(deadlines)) == 1


SLEEPERS = {
    "no timer": "signal.setitimer(signal.ITIMER_REAL, 0)\n    time.sleep(600)\n    raise ValueError",
    "another handler": "signal.signal(signal.SIGALRM, signal.SIG_IGN)\n    time.sleep(600)",
    "a blocked signal": "signal.pthread_sigmask(0, [signal.SIGALRM])\n    time.sleep(600)",
    "no signal at all": "signal.pthread_sigmask(0, range(1, 65))\n    time.sleep(600)",
    "stopped": "os.kill(os.getpid(), signal.SIGSTOP)",
    "in a finalizer": "type('', (), {'__del__': lambda self: time.sleep(600)})()",
    "a bit in each": "time.sleep(0.3)\n    return scores",
}


@pytest.mark.parametrize("way", SLEEPERS)
def test_each_call_of_a_sleeper_has_a_deadline_and_others_get_their_points(monkeypatch, way):
    monkeypatch.setattr(stand_in, "PATIENCE_SECONDS", 1.0)
    monkeypatch.setattr(limits, "CHECK_SECONDS", 2.0)
    monkeypatch.setattr(limits, "INTERRUPT_GRACE_SECONDS", 0.3)
    asked, ask = [], Session.ask

    def noted(session, request, seconds):
        if request["do"] == "observe" and request["name"] == "softmax":
            asked.append(seconds)
        return ask(session, request, seconds)

    monkeypatch.setattr(Session, "ask", noted)
    sleeps = f"import os, signal, time\ndef softmax(scores, axis=-1):\n    {SLEEPERS[way]}"
    _, _, late, right = run(NUMPY, f"{sleeps}\n{RIGHT}", checks=["softmax", "normalize_by_sum"])
    shown = str(late.outputs)
    assert "could not be interrupted" in shown or "softmax was still running after" in shown
    assert errors(right) == []
    assert max(asked) <= 1.0
    assert sum(asked) <= 2.0 + len(asked)


def test_cells_that_sleep_leave_time_for_the_others():
    sleeps = ["import time\ntime.sleep(600)"] * 2
    *_, shown, check = run(NUMPY, RIGHT, *sleeps, "1 + 1", checks=["normalize_by_sum"], in_all=6.0)
    assert shown.outputs[-1].data["text/plain"] == "2"
    assert errors(check) == []
