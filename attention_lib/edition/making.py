"""Make a students' edition: a folder with a package and notebooks, to be installed by pip."""

from __future__ import annotations

import ast
import importlib
import inspect
import json
import multiprocessing
import re
import secrets
import shutil
import tempfile
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

import numpy as np
from nbformat import NotebookNode

import attention_lib
from attention_lib.checks import changed_arguments
from attention_lib.checks.cases import cases_of
from attention_lib.checks.exercise import Exercise
from attention_lib.edition.contents import DECLARED, Slices, declaration, exercise_module
from attention_lib.edition.imports import missing_modules
from attention_lib.edition.packing import Unpacker
from attention_lib.edition.recording import SEED, recorded
from attention_lib.edition.slicing import Module, names_in, withheld_function
from attention_lib.edition.tracing import Tracer, run_cells, run_probes
from attention_lib.edition.values import hashed
from attention_lib.exercises import EXERCISES
from attention_lib.exercises.contracts import contract_of
from attention_lib.grading.classroom.course import Course
from attention_lib.grading.lesson.markdown import read_lesson
from attention_lib.lessons import BESIDE, LESSONS, module_of

__all__ = ["EditionError", "make_edition", "visible_code"]

LIBRARY = Path(attention_lib.__file__).parent
WITHOUT = ("09_gpu",)  # lessons that no edition can be made of yet
HIDDEN = re.compile(r"### BEGIN HIDDEN TESTS.*?### END HIDDEN TESTS", re.DOTALL)
# Of a docstring: some examples solve an exercise.
EXAMPLES = re.compile(r'\n\n +Examples\n +-{8}\n.*?(?=\n +""")', re.DOTALL)
# What lesson 01 says of open exercises, and what holds in an edition.
READ_ON = (
    "So you can read on even when an exercise is still open; the same holds in every lesson.",
    "In this edition of the course, it is your own function as soon as its check has passed; the "
    "same holds in every lesson. Until then it has the results of the lessons' own cells, but not "
    "of long loops and much data: such a cell stops, and says which exercise comes first.",
)
README = """\
# {title}

A students' edition of the attention course: lessons {lessons}. Install it and begin:

    python -m pip install --editable .
    python -m attention_lib.learn

Checks and hints are those of the course. In place of its own solutions to {graded}, the package has
recorded results of the calls that the lessons make. `lib.X` is your own function once `check("X", X)`
has passed, in every notebook of `learn/`: it is stored in `learn/.functions`, on this machine only.
Cells that need an open exercise run on the recorded results; where these do not reach, they stop and
say which exercise comes first.
"""


class EditionError(Exception):
    """Raised where an edition cannot be made; the text says why and what to do."""


def make_edition(
    course: Course,
    last: str,
    graded: Mapping[str, str],
    target: Path,
    report: Callable[[str], None] = lambda line: None,
) -> None:
    """Write an edition into a folder, in place of what is there.

    Parameters
    ----------
    course
        Where solutions and released notebooks are.
    last
        The last lesson that the edition has.
    graded
        The lessons among these whose answers are withheld, each with the day from which on they
        will show, or an empty string. They stand at the end: all before them are over.
    target
        The folder.
    report
        Called with a line on what is being recorded.

    Raises
    ------
    EditionError
        If lessons that are over come after one that is graded, no edition can have a lesson, or the
        folder holds something else.
    """
    given = LESSONS[: LESSONS.index(last) + 1]
    _refuse(given, graded)
    if target.exists() and any(target.iterdir()):
        if not (target / "attention_lib" / "records").is_dir():
            raise EditionError(
                f"{target} holds something else than an edition: choose another folder."
            )
        shutil.rmtree(target)
    package = target / "attention_lib"
    exercises = [one for one in EXERCISES.values() if one.lesson in given]
    slices = _slices(exercises, graded)
    tracer = Tracer()
    context = multiprocessing.get_context("spawn")
    with tempfile.TemporaryDirectory() as folder, ProcessPoolExecutor(mp_context=context) as pool:
        runs = {
            Path(folder) / lesson: pool.submit(trace_cells, course.root, lesson, [*graded], folder)
            for lesson in reversed(given)  # the longest first
            if lesson in graded
        }
        with tracer.replacing([(changed_arguments, "_softmax")]):
            _record_exercises(exercises, package, tracer, report)
        _trace_probes(exercises, slices, tracer)
        for path, run in sorted(runs.items()):
            report(f"running the cells of {path.name}")
            run.result()
            tracer.tables.add_all(Unpacker(path))
    tracer.tables.packer.write(package / "records" / "calls.bin", tracer.tables.content())
    (package / "records" / "graded.json").write_text(json.dumps(dict(graded)), encoding="utf-8")
    _write_exercises(package, given, slices)
    _write_lessons(package, given, graded, slices)
    _write_rest(package, given)
    if graded.keys() & {"01_softmax", "02_stability"}:
        _withhold_softmax(package / "checks" / "changed_arguments.py")
    _write_imported(package, given)
    _write_around(course, target, given, graded)


def _refuse(given: Sequence[str], graded: Mapping[str, str]) -> None:
    for lesson in given:
        if lesson in WITHOUT:
            raise EditionError(f"No edition can be made of {lesson} yet: choose an earlier lesson.")
    over = [lesson for lesson in given if lesson not in graded]
    if over != list(given[: len(over)]):
        first = next(lesson for lesson in given if lesson in graded)
        raise EditionError(
            f"{over[-1]} is over and {first} is not: the later lesson would show the answers to the "
            "earlier one. Let the earlier one be over too."
        )


def _lesson_module(lesson: str) -> str:
    return f"attention_lib.lessons.{module_of(lesson)}"


def _slices(exercises: Sequence[Exercise], graded: Mapping[str, str]) -> Slices:
    slices = Slices(map(_lesson_module, graded))
    for exercise in exercises:
        name = exercise_module(exercise)
        declared = _declared(exercise, slices.module(name), exercise.lesson not in graded)
        slices.replace(name, "EXERCISE", declared)
        for module, function in _functions_in_cases(exercise):
            slices.keep(module, function)
    return slices


def _functions_in_cases(exercise: Exercise) -> list[tuple[str, str]]:
    """List the functions of this library that stand in the cases, or verify their results."""
    found = []
    for case in cases_of(exercise, SEED) if exercise.kind == "function" else ():
        for value in (*case.args, *case.kwargs.values(), case.verify):
            function = getattr(value, "func", value)
            if inspect.isfunction(function):
                found.append((function.__module__, function.__qualname__.partition(".")[0]))
    return found


def _declared(exercise: Exercise, module: Module, is_over: bool) -> ast.stmt:
    """Return the declaration of an exercise without its reference and mistakes."""
    said = declaration(module)
    kept = [ast.keyword(name, value) for name, value in said.items() if name in DECLARED]
    if exercise.kind == "function":
        known = [
            (one.sentence, one.id, one.measured, 0 if one.measured else len(one.variants))
            for one in exercise.mistakes
        ]
        text = (
            f"EXERCISE = recorded_exercise({exercise.name!r}, "
            f"module={_lesson_module(exercise.lesson)!r}, mistakes={tuple(known)!r}, "
            f"has_magnitude={exercise.magnitude is not None}, is_over={is_over})"
        )
    else:
        values = ""
        if exercise.kind == "value":
            values = (
                f", reference={_value(exercise.reference, exercise.tolerance, is_over)}, mistakes=("
                + "".join(
                    f"Mistake({one.sentence!r}, "
                    + "".join(
                        f"{_value(variant, 2 * exercise.tolerance, is_over)}, "
                        for variant in one.variants
                    )
                    + f"id={one.id!r}), "
                    for one in exercise.mistakes
                )
                + ")"
            )
        text = f"EXERCISE = Exercise({exercise.name!r}{values})"
    (node,) = ast.parse(text).body
    assert isinstance(node, ast.Assign)
    assert isinstance(node.value, ast.Call)
    node.value.keywords += kept
    return ast.fix_missing_locations(node)


def _value(value: object, distance: float, is_over: bool) -> str:
    numbers = np.asarray(value, float)
    return repr(numbers.tolist() if is_over else hashed(numbers, distance, secrets.token_hex(8)))


def _record_exercises(
    exercises: Sequence[Exercise], package: Path, tracer: Tracer, report: Callable[[str], None]
) -> None:
    for exercise in exercises:
        if exercise.kind == "function":
            report(f"recording {exercise.name}")
            tracer.begin_cell()
            packer, content = recorded(exercise)
            packer.write(package / "records" / f"{exercise.name}.bin", content)


def _trace_probes(exercises: Sequence[Exercise], slices: Slices, tracer: Tracer) -> None:
    places = []
    for name in slices.texts():
        if not name.startswith("attention_lib.exercises."):
            continue
        module = slices.module(name)
        for local, (origin, attribute) in module.imports.items():
            if (origin, attribute) in slices.looked_up:
                places.append((importlib.import_module(name), local))
        places += [
            (importlib.import_module(name), function)
            for function in module.definitions
            if (name, function) in slices.looked_up
        ]
    with tracer.replacing(places):
        for exercise in exercises:
            if exercise.kind == "function":
                tracer.begin_cell()
                name = exercise_module(exercise)
                declared = dict(declaration(slices.module(name)))
                run_probes(exercise, importlib.import_module(name), declared)


def trace_cells(root: Path, lesson: str, graded: Sequence[str], folder: str) -> None:
    """Run the cells of a lesson, and write the calls of withheld functions to a file of its name."""
    places = [
        (attention_lib, name)
        for withheld in graded
        for name in importlib.import_module(_lesson_module(withheld)).__all__
    ]
    course, tracer = Course(root), Tracer()
    with tracer.replacing(places):
        cells = read_lesson(course.written(lesson), EXERCISES).cells
        run_cells(visible_code(cells), course.root, tracer.begin_cell)
    tracer.tables.packer.write(Path(folder) / lesson, tracer.tables.content(), preset=0)


def visible_code(cells: Iterable[NotebookNode]) -> list[str]:
    """Return the code of a lesson's cells, without the hidden tests that no edition has."""
    return [HIDDEN.sub("", cell.source) for cell in cells if cell.cell_type == "code"]


def _write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")


def _copy(source: Path, target: Path) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    shutil.copyfile(source, target)


def _write_exercises(package: Path, given: Sequence[str], slices: Slices) -> None:
    folder = LIBRARY / "exercises"
    for name, text in slices.texts().items():
        if name.startswith("attention_lib.exercises."):
            _write(package.parent / f"{name.replace('.', '/')}.py", text)
    for lesson in given:
        _copy(
            folder / module_of(lesson) / "__init__.py",
            package / "exercises" / module_of(lesson) / "__init__.py",
        )
    for name in ("__init__.py", "model_answers.py", "parts/__init__.py"):
        _copy(folder / name, package / "exercises" / name)


def _write_lessons(
    package: Path, given: Sequence[str], graded: Mapping[str, str], slices: Slices
) -> None:
    folder = LIBRARY / "lessons"
    for lesson in given:
        modules = [module_of(lesson), *BESIDE.get(lesson, ())]
        for module in modules:
            path = package / "lessons" / f"{module}.py"
            if lesson in graded:
                _write(path, _withheld_module(f"attention_lib.lessons.{module}", slices))
            else:
                _copy(folder / f"{module}.py", path)
    text = (folder / "__init__.py").read_text(encoding="utf-8")
    for lesson in LESSONS:
        if lesson not in given:
            text = re.sub(rf'^    "{lesson}",\n', "", text, flags=re.MULTILINE)
    _write(package / "lessons" / "__init__.py", text)


def _withheld_module(name: str, slices: Slices) -> str:
    """Write a lesson's module whose functions look their results up."""
    module = Module(name)
    public = ast.literal_eval(module.definitions["__all__"].value)  # type: ignore[attr-defined]
    wanted = {*public, *(function for place, function in slices.looked_up if place == name)}
    statements = [module.definitions["__all__"]]
    for function in module.definitions:
        node = module.definitions[function]
        if function in wanted and isinstance(node, ast.FunctionDef):
            contract = contract_of(EXERCISES[function]) if function in EXERCISES else ""
            defaults = map(names_in, (*node.args.defaults, *filter(None, node.args.kw_defaults)))
            statements += [module.definitions[name] for name in sorted(set().union(*defaults))]
            statements.append(withheld_function(node, contract))
    lines = [
        f'"""{module.docstring.splitlines()[0]}"""',
        "from __future__ import annotations",
        "from attention_lib.edition import calls",
    ]
    return "\n\n".join([*lines, *map(ast.unparse, statements)]) + "\n"


def _withhold_softmax(path: Path) -> None:
    """Look up the softmax of an argument, where a check tries a call with that."""
    text = path.read_text(encoding="utf-8")
    function = Module("attention_lib.checks.changed_arguments").definitions["_softmax"]
    assert isinstance(function, ast.FunctionDef)
    source = ast.get_source_segment(text, function)
    assert source
    text = text.replace(source, ast.unparse(withheld_function(function, "")))
    mark = "from attention_lib.checks.exercise import Exercise\n"
    path.write_text(text.replace(mark, f"{mark}from attention_lib.edition import calls\n"), "utf-8")


def _write_rest(package: Path, given: Sequence[str]) -> None:
    _write_plain(package, "learn.py")
    for path in (LIBRARY / "checks").rglob("*.py"):
        _copy(path, package / path.relative_to(LIBRARY))
    left_out = _left_out(given)
    for path in (LIBRARY / "plots").glob("*.py"):
        if path.stem not in left_out:
            _copy(path, package / "plots" / path.name)
    for name in ("__init__.py", "plots/__init__.py"):
        text = (LIBRARY / name).read_text(encoding="utf-8")
        for module in sorted(left_out):
            text = re.sub(
                rf"^.*\b(?:lessons|plots)\.{module}(?:\.\w+)?\b.*\n", "", text, flags=re.MULTILINE
            )
            text = re.sub(rf"^ +\*?{module}(?:\.__all__)?,\n", "", text, flags=re.MULTILINE)
        for command in ("check", "solution"):
            text = text.replace(
                f'"{command}": "attention_lib.commands"',
                f'"{command}": "attention_lib.edition.commands"',
            )
        _write(package / name, text)


def _left_out(given: Sequence[str]) -> set[str]:
    return {module_of(lesson) for lesson in LESSONS if lesson not in given}


def _write_plain(package: Path, name: str) -> None:
    text = (LIBRARY / name).read_text(encoding="utf-8")
    text = text.replace("that `make lab`", "that `python -m attention_lib.learn`")
    _write(package / name, EXAMPLES.sub("", text))


def _write_imported(package: Path, given: Sequence[str]) -> None:
    """Add what the modules of the package import, and what this imports, as far as it may be."""
    while missing := missing_modules(package, _left_out(given)):
        for name, importer in missing.items():
            path = f"{name.partition('.')[2].replace('.', '/')}.py"
            if name == "attention_lib.edition":
                path = "edition/__init__.py"
            is_given = name.count(".") == 1 or name.startswith("attention_lib.edition.")
            if not (is_given and (LIBRARY / path).is_file()):
                raise EditionError(f"{importer} imports {name}, which an edition does not have.")
            _write_plain(package, path)


def _write_around(
    course: Course, target: Path, given: Sequence[str], graded: Mapping[str, str]
) -> None:
    for lesson in given:
        notebook = course.released(lesson).read_text(encoding="utf-8")
        if lesson in graded:
            notebook = notebook.replace(*READ_ON)
        _write(target / "notebooks" / lesson / f"{lesson}.ipynb", notebook)
        if lesson not in graded:
            _copy(course.written(lesson), target / "solutions" / f"{lesson}.md")
    project = (course.root / "pyproject.toml").read_text(encoding="utf-8")
    head = project.partition("[project.optional-dependencies]")[0]
    _write(
        target / "pyproject.toml",
        f'{head}[tool.setuptools.packages.find]\ninclude = ["attention_lib*"]\n\n'
        '[tool.setuptools.package-data]\nattention_lib = ["records/*"]\n',
    )
    for name in ("LICENSE", "LICENSE-text"):
        _copy(course.root / name, target / name)
    names = f"{given[0]} to {given[-1]}" if len(given) > 1 else given[0]
    _write(
        target / "README.md",
        README.format(title="The attention course", lessons=names, graded=", ".join(graded)),
    )
