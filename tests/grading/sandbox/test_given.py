"""What a submission to a lesson is given is tried as the answer to each of its exercises."""

import ast
import importlib
import inspect
import json

import pytest

from attention_lib.checks.judging import Policy, judge
from attention_lib.exercises import EXERCISES
from attention_lib.grading.judge.checking import check_answer
from attention_lib.lessons import GIVEN, LESSONS, module_of
from tests.grading.sandboxes import new_session, shown

LESSON = LESSONS[-1]
VERDICT_ALONE = Policy(is_own=True, explains=False)
# Calls the outer kernel with which the library launches an inner loop, wherever that may be imported.
WRAPPED = """
import importlib
import attention_lib.lessons.gpu.launch as launch

tl = launch.tl
outer = getattr(launch, "forward", None)
for name in ("forward", "kernel"):
    try:
        outer = outer or importlib.import_module(f"attention_lib.lessons.gpu.{name}").forward
    except (ImportError, AttributeError):
        pass
outer = getattr(outer, "fn", outer)

@launch.jit
def flash_program(
    query, key, value, output, query_length, key_length, scale, INNER: tl.constexpr,
    HEAD: tl.constexpr, IS_CAUSAL: tl.constexpr, ROWS: tl.constexpr, BLOCK: tl.constexpr,
):
    head = tl.program_id(1)
    query += head * query_length * HEAD
    output += head * query_length * HEAD
    key += head * key_length * HEAD
    value += head * key_length * HEAD
    steps = (0, 0, HEAD, 1)
    outer(
        query, key, value, output, output, steps, steps, steps, steps, 1, query_length, key_length,
        scale, 0, INNER, HEAD, HEAD, True, IS_CAUSAL, False, ROWS, BLOCK,
    )
"""
# Binds all that the modules given can call to names, and prints these with their least and most arguments.
FOUND = """
import importlib, inspect, json
found = {}
for module in MODULES:
    for name, value in list(vars(importlib.import_module(module)).items()):
        ours = "attention_lib" in str(getattr(value, "__module__", ""))
        if ours and callable(value) and not inspect.isclass(value):
            every = inspect.signature(getattr(value, "fn", value)).parameters.values()
            least = sum(one.default is one.empty and one.kind < 2 for one in every)
            most = 99 if any(one.kind == 2 for one in every) else sum(one.kind < 2 for one in every)
            found[name] = least, most
            globals()[f"given_{name}"] = value
print(json.dumps(found))
"""


@pytest.fixture(scope="module")
def session():
    with new_session(LESSON, ["torch"]) as session:
        yield session


def outcome(session, name):
    outputs = check_answer(EXERCISES[name], session, 1, "")
    return [one.get("metadata", {}).get("attention_lib", {}).get("outcome") for one in outputs]


@pytest.mark.slow
@pytest.mark.sandbox
def test_outer_kernel_of_the_launch_is_no_answer_in_a_class(session):
    shown(session, WRAPPED)
    assert "right" not in outcome(session, "flash_program")


@pytest.mark.slow
@pytest.mark.sandbox
def test_nothing_given_in_the_lesson_is_an_answer_in_a_class(session):
    modules = [f"attention_lib.lessons.{module}" for module in GIVEN[LESSON]]
    found = json.loads(shown(session, FOUND.replace("MODULES", repr(modules))))
    assert {"flash_attention", "launch_forward", "sum_without_maximum"} <= set(found)
    for exercise in [one for one in EXERCISES.values() if one.lesson == LESSON]:
        written = ast.parse(f"{exercise.first_line}: pass").body[0].args.args
        for given, (least, most) in found.items():
            if least <= len(written) <= most:
                shown(session, f"{exercise.name} = given_{given}")
                assert "right" not in outcome(session, exercise.name), given


def functions_of(module):
    found = {f"{module.__name__}.{name}": value for name, value in vars(module).items()}
    draws = ("Figure", "Axes", "None")  # what a plot returns, which is no answer
    return {
        name: value
        for name, value in found.items()
        if inspect.isfunction(value) and str(value.__annotations__.get("return")) not in draws
    }


def fits(function, exercise):
    """Tell whether a function can be called with all parameters of an exercise, by their places."""
    try:
        inspect.signature(function).bind(*range(len(exercise.parameters)))
    except TypeError:
        return False
    return True


@pytest.mark.slow
@pytest.mark.parametrize("lesson", LESSONS[:-1])
def test_no_function_of_earlier_lessons_or_of_figures_is_an_answer(lesson):
    earlier = [f"lessons.{module_of(name)}" for name in LESSONS[: LESSONS.index(lesson)]]
    given = {}
    for name in ["arguments", f"plots.{module_of(lesson)}", "plots.drawing", *earlier]:
        given |= functions_of(importlib.import_module(f"attention_lib.{name}"))
    exercises = [one for one in EXERCISES.values() if one.lesson == lesson]
    for exercise in [one for one in exercises if one.kind == "function"]:
        for name, function in given.items():
            if fits(function, exercise):
                report = judge(exercise, function, 0, VERDICT_ALONE)
                assert report.outcome != "right", f"{name} answers {exercise.name}"
