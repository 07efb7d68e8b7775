"""Calls are recorded as the cells of a lesson make them, but for those that would go on and on."""

import sys
from pathlib import Path

import numpy as np

from attention_lib.edition import tracing
from attention_lib.edition.keys import key_of
from attention_lib.edition.making import visible_code
from attention_lib.edition.tracing import Tracer
from attention_lib.exercises import EXERCISES
from attention_lib.grading.classroom.course import Course
from attention_lib.grading.lesson.markdown import read_lesson

ROOT = Path(__file__).parents[2]


def doubled(x):
    return 2 * np.asarray(x)


def halved(x):
    return np.asarray(x) / 2


def recorded_calls(cells):
    """Return the arguments of each function whose calls are recorded: each cell is a list of calls."""
    tracer, module = Tracer(), sys.modules[__name__]
    with tracer.replacing([(module, "doubled"), (module, "halved")]):
        for cell in cells:
            tracer.begin_cell()
            for name, argument in cell:
                getattr(module, name)(argument)
    by_key = {key_of((argument,)): argument for cell in cells for _, argument in cell}
    return {
        table.rpartition(".")[2]: [by_key[key] for key in keys]
        for table, keys in tracer.tables.tables.items()
    }


def test_function_that_a_cell_calls_too_often_has_none_of_the_cells_calls(monkeypatch):
    monkeypatch.setattr(tracing, "MOST_CALLS", 3)
    loop = [("doubled", number) for number in range(4)]
    cells = [[*loop, ("halved", 1)], [("doubled", 0), ("doubled", 7), ("doubled", 0)]]
    assert recorded_calls(cells) == {"halved": [1], "doubled": [0, 7]}


def test_function_whose_results_are_too_large_has_none_of_the_cells_calls(monkeypatch):
    monkeypatch.setattr(tracing, "MOST_BYTES", 20)
    cells = [[("doubled", [1.0]), ("doubled", [2.0]), ("halved", [1.0]), ("doubled", [3.0])]]
    assert recorded_calls(cells) == {"halved": [[1.0]]}


def test_result_is_recorded_as_it_was_returned():
    tracer, module = Tracer(), sys.modules[__name__]
    with tracer.replacing([(module, "doubled")]):
        module.doubled([1.0, 2.0])[:] = 0.0
    table = next(iter(tracer.tables.tables.values()))
    kind, encoded = tracer.tables.content()["outcomes"][table[key_of(([1.0, 2.0],))]]
    (block,) = [block for *_, block in tracer.tables.packer._places]
    assert (kind, encoded, np.frombuffer(block).tolist()) == ("value", {"a": 0}, [2.0, 4.0])


def test_hidden_tests_of_a_lesson_are_not_run():
    cells = read_lesson(Course(ROOT).written("02_stability"), EXERCISES).cells
    assert "HIDDEN" in "".join(cell.source for cell in cells)
    code = "\n".join(visible_code(cells))
    assert 'check("logsumexp", logsumexp)' in code
    assert "HIDDEN" not in code
    assert "seed=None" not in code
