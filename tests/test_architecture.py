"""What an import costs and brings, and which module may know which."""

import ast
import graphlib
import importlib
import inspect
import json
import subprocess
import sys
from pathlib import Path

import pytest

import attention_lib
from attention_lib.lessons import LESSONS, module_of

LIBRARY = Path(attention_lib.__file__).parent
REPORT = """
import json, sys
before = set(sys.modules)
import attention_lib
print(json.dumps(sorted(set(sys.modules) - before)))
"""
LIGHT = {  # what `import attention_lib` brings of the library
    "attention_lib",
    "attention_lib.arguments",
    "attention_lib.lessons",
    "attention_lib.outdated",
    *(f"attention_lib.lessons.{module_of(lesson)}" for lesson in LESSONS if lesson != "10_gpu"),
}


def import_in_a_fresh_process():
    """Return the names of the modules that importing the library brings."""
    result = subprocess.run(
        [sys.executable, "-W", "error", "-c", REPORT], capture_output=True, text=True, check=True
    )
    assert result.stderr == ""
    return json.loads(result.stdout)


def test_importing_the_library_brings_its_first_lessons_and_numpy_alone():
    modules = import_in_a_fresh_process()
    assert {name for name in modules if name.split(".")[0] == "attention_lib"} == LIGHT
    others = {name.split(".")[0] for name in modules} - sys.stdlib_module_names
    assert {name for name in others if "cython" not in name} == {"attention_lib", "numpy"}


def test_everything_exported_is_there():
    assert sorted(set(attention_lib.__all__)) == attention_lib.__all__
    for name in attention_lib.__all__:
        assert callable(getattr(attention_lib, name))


def test_tab_completion_offers_everything_exported():
    assert {"check", "hint", "solution", "torch_attention"} <= set(dir(attention_lib))
    assert set(attention_lib.__all__) <= set(dir(attention_lib))


def test_what_is_imported_later_is_exported_by_the_module_named_for_it():
    for name, module in attention_lib.LAZY_EXPORTS.items():
        assert name in importlib.import_module(module).__all__


def test_a_lesson_named_as_a_function_is_a_module():
    assert inspect.ismodule(importlib.import_module("attention_lib.lessons.softmax"))
    assert inspect.ismodule(importlib.import_module("attention_lib.lessons.attention"))
    assert inspect.isfunction(attention_lib.softmax)
    assert inspect.isfunction(attention_lib.attention)


def imports(path, *, at_the_top=False):
    """List what a module imports, by full name; `at_the_top` leaves out imports in functions."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    for node in tree.body if at_the_top else ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path.name} imports by relative name"
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def own_parts(path):
    """List the parts of the library that a module imports: modules at its top, or packages."""
    return {name.split(".")[1] for name in imports(path) if name.startswith("attention_lib.")}


def lesson_modules(lesson):
    """List the files of a lesson: its module, or all in the folder of its name."""
    place = LIBRARY / "lessons" / module_of(lesson)
    return sorted(place.glob("*.py")) if place.is_dir() else [place.with_suffix(".py")]


@pytest.mark.parametrize(
    ("lesson", "path"),
    [
        pytest.param(lesson, path, id=f"{lesson}-{path.stem}")
        for lesson in LESSONS
        for path in lesson_modules(lesson)
    ],
)
def test_a_lesson_knows_only_earlier_ones(lesson, path):
    earlier = [module_of(name) for name in LESSONS[: LESSONS.index(lesson)]]
    own = {f"lessons.{module_of(lesson)}"} if path.parent.name != "lessons" else set()
    known = {"arguments", *own, *(f"lessons.{module}" for module in earlier)}
    imported = {".".join(name.split(".")[:2]) for name in own_modules(path)}
    assert imported <= known
    outside = {name.split(".")[0] for name in imports(path, at_the_top=True)} - {"attention_lib"}
    allowed = {"numpy"} if lesson != "10_gpu" else {"numpy", "torch", "triton"}
    assert outside - set(sys.stdlib_module_names) <= allowed


@pytest.mark.parametrize(
    ("module", "known"),
    [
        ("arguments", set()),
        ("lessons.gpu.tile_language", set()),
        ("lessons.gpu.programs", {"lessons.gpu.tile_language"}),
        ("lessons.gpu.triton", {"lessons.gpu.programs", "lessons.gpu.tile_language"}),
    ],
)
def test_what_lessons_rest_on_knows_nothing_else(module, known):
    assert set(own_modules(LIBRARY.joinpath(*module.split(".")).with_suffix(".py"))) == known


@pytest.mark.parametrize(
    "path", sorted((LIBRARY / "plots").glob("*.py")), ids=lambda path: path.stem
)
def test_the_figures_know_no_lesson(path):
    assert own_parts(path) <= {"outdated", "plots"}


@pytest.mark.parametrize(
    "path", sorted((LIBRARY / "checks").rglob("*.py")), ids=lambda path: path.stem
)
def test_checks_know_nothing_of_grading(path):
    assert own_parts(path).isdisjoint({"edition", "grading"})
    assert "nbgrader" not in {name.split(".")[0] for name in imports(path)}


def is_module(place):
    return place.with_suffix(".py").exists() or (place / "__init__.py").exists()


def own_modules(path, *, at_the_top=False):
    """List the modules of the library that a module imports, as ``checks.calling``."""
    for name in imports(path, at_the_top=at_the_top):
        if name.partition(".")[0] == "attention_lib":
            parts = name.split(".")[1:]
            while parts and not is_module(LIBRARY.joinpath(*parts)):
                parts.pop()  # the last one is a name in the module
            yield ".".join(parts)


IN_THE_ANSWERS_PROCESS = ("checks.calls", "checks.errors")


@pytest.mark.parametrize(
    "path",
    [
        path
        for folder in ("calls", "errors")
        for path in sorted((LIBRARY / "checks" / folder).glob("*.py"))
    ],
    ids=lambda path: f"{path.parent.name}.{path.stem}",
)
def test_what_runs_in_the_process_of_an_answer_knows_no_solution(path):
    """A process that must not see cases and references has these folders and no other of checks."""
    at_the_top = set(own_modules(path, at_the_top=True))
    assert {name for name in at_the_top if not name.startswith(IN_THE_ANSWERS_PROCESS)} == set()
    later = set(own_modules(path)) - at_the_top
    assert later <= {"lessons.gpu.launch", "lessons.gpu.loops"}


SHOWN_TO_SUBMISSIONS = [
    path
    for folder in ("grading/inside", "checks/calls", "checks/errors")
    for path in sorted((LIBRARY / folder).glob("**/*.py"))
]


def type_checking_imports(path):
    """List the modules that a module imports for type checkers alone."""
    for node in ast.parse(path.read_text(encoding="utf-8")).body:
        if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING":
            yield from (f"{statement.module}" for statement in node.body)


@pytest.mark.parametrize(
    "path", SHOWN_TO_SUBMISSIONS, ids=lambda path: f"{path.parent.name}.{path.stem}"
)
def test_submission_sees_code_that_imports_nothing_hidden(path):
    """The security boundary is made of folders, which a submission's process sees as a whole."""
    shown = ("grading.inside", *IN_THE_ANSWERS_PROCESS, "arguments", "lessons", "grading.limits")
    for_types = {name.removeprefix("attention_lib.") for name in type_checking_imports(path)}
    hidden = {
        name
        for name in set(own_modules(path)) - for_types
        if not any(name == module or name.startswith(f"{module}.") for module in shown)
    }
    assert hidden == set()


def test_limits_shown_to_submissions_import_nothing():
    assert list(imports(LIBRARY / "grading" / "limits.py")) == []


def test_the_launch_of_a_kernel_holds_neither_of_the_kernels_that_learners_write():
    path = LIBRARY / "lessons" / "gpu" / "launch.py"
    known = {f"lessons.gpu.{name}" for name in ("programs", "tile_language", "triton")}
    assert set(own_modules(path, at_the_top=True)) == known
    assert set(own_modules(path)) == {*known, "lessons.gpu.forward", "lessons.gpu.kernel"}
    assert "def flash_kernel" not in path.read_text(encoding="utf-8")


def test_loops_of_the_checks_hold_no_answer():
    path = LIBRARY / "lessons" / "gpu" / "loops.py"
    assert set(own_modules(path)) == {"lessons.gpu.triton"}
    assert "tl.max(" not in path.read_text(encoding="utf-8")


def test_no_module_imports_itself_by_way_of_others():
    names = {
        path: ".".join(path.relative_to(LIBRARY).with_suffix("").parts)
        for path in LIBRARY.rglob("*.py")
        if path.name != "__init__.py"
    }
    graph = {name: set(own_modules(path)) - {""} for path, name in names.items()}
    graphlib.TopologicalSorter(graph).prepare()  # raises what it finds
