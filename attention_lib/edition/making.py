"""Make a students' edition: a folder with a package and notebooks, to be installed by pip."""

from __future__ import annotations

import ast
import functools
import importlib
import importlib.util
import inspect
import json
import multiprocessing
import re
import secrets
import shutil
import tempfile
import tomllib
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np

import attention_lib
from attention_lib.checks import changed_arguments
from attention_lib.checks.cases import cases_of
from attention_lib.checks.exercise import Exercise
from attention_lib.edition import gpu
from attention_lib.edition.contents import CURVES, DECLARED, Slices, declaration, exercise_module
from attention_lib.edition.curves import sampled
from attention_lib.edition.imports import missing_modules
from attention_lib.edition.keys import key_of
from attention_lib.edition.lookups import outcome_of
from attention_lib.edition.overlaps import answered_by, functions_of, shown_by, stand_in
from attention_lib.edition.packing import Unpacker
from attention_lib.edition.recording import SEED, Tables, recorded
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
ENGINE = '''\
"""In place of the tuned engine, the learner's own functions."""

from attention_lib.edition.engine import attend

__all__ = ["attend"]
'''
README = """\
# {title}

A students' edition of the attention course: lessons {lessons}. Install it and begin:

    python -m pip install --editable {package}
    python -m attention_lib.learn

Checks and hints are those of the course. In place of its own solutions to {graded}, the package has
recorded results of the calls that the lessons make. `lib.X` is your own function once `check("X", X)`
has passed, in every notebook of `learn/`: it is stored in `learn/.functions`, on this machine only.
Cells that need an open exercise run on the recorded results. Where these do not reach, a cell stops and
says which exercise comes first; cells below that use its results stop too.
"""


class EditionError(Exception):
    """Raised where an edition cannot be made; the text says why and what to do."""


def make_edition(
    course: Course,
    last: str,
    graded: Mapping[str, str],
    target: Path,
    report: Callable[[str], None] = lambda line: None,
    first: str = LESSONS[0],
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
    first
        The first lesson whose notebook is in it. The library and the exercises of earlier ones are
        there all the same: later lessons call them, and a class may have their notebooks already.

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
    answers = _answers_in_lessons_over(given, graded)
    slices = _slices(exercises, graded, answers)
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
            for note in run.result():
                report(note)
            tracer.tables.add_all(Unpacker(path))
    tracer.tables.packer.write(package / "records" / "calls.bin", tracer.tables.content())
    (package / "records" / "graded.json").write_text(json.dumps(dict(graded)), encoding="utf-8")
    _write_exercises(package, given, slices)
    _write_lessons(package, given, graded, slices, answers)
    _write_rest(package, given, graded)
    if graded.keys() & {"01_softmax", "02_stability"}:
        _withhold_softmax(package / "checks" / "changed_arguments.py")
    _write_imported(package, given)
    _write_around(course, target, given, graded, first)


def _refuse(given: Sequence[str], graded: Mapping[str, str]) -> None:
    if gpu.LESSON in given and not all(map(importlib.util.find_spec, ("torch", "triton"))):
        raise EditionError(
            f"An edition of {gpu.LESSON} needs torch and Triton where it is made: run make lab TRITON=1 first."
        )
    over = [lesson for lesson in given if lesson not in graded]
    if over != list(given[: len(over)]):
        first = next(lesson for lesson in given if lesson in graded)
        raise EditionError(
            f"{over[-1]} is over and {first} is not: the later lesson would show the answers to the "
            "earlier one. Let the earlier one be over too."
        )


def _lesson_module(lesson: str) -> str:
    return f"attention_lib.lessons.{module_of(lesson)}"


def _answers_in_lessons_over(
    given: Sequence[str], graded: Collection[str]
) -> dict[Path, dict[str, ast.FunctionDef]]:
    """Return what is to stand for functions of lessons that are over, by file and name.

    These functions are answers to exercises that are graded still. In place of each stands the model
    answer of its own lesson, or a look-up where that is an answer, too.
    """
    exercises = [one for one in EXERCISES.values() if one.lesson in graded]
    found: dict[Path, dict[str, ast.FunctionDef]] = {}
    for lesson in given if exercises else ():
        for module, name in functions_of(lesson) if lesson not in graded else ():
            if any(answered_by(getattr(module, name), exercises)):
                original = Module(module.__name__)
                node = stand_in(module, name, EXERCISES, exercises)
                if node is None:
                    function = original.definitions[name]
                    assert isinstance(function, ast.FunctionDef)
                    node = withheld_function(function, "")
                found.setdefault(original.path, {})[name] = node
    return found


def _slices(
    exercises: Sequence[Exercise],
    graded: Mapping[str, str],
    answers: Mapping[Path, Collection[str]],
) -> Slices:
    replaced = {name for names in answers.values() for name in names}
    slices = Slices(map(_lesson_module, graded))
    for exercise in exercises:
        name = exercise_module(exercise)
        as_in_course = exercise.lesson not in graded and exercise.name not in replaced
        declared = _declared(exercise, slices.module(name), as_in_course)
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
            f"has_magnitude={exercise.magnitude is not None}, is_over={is_over}"
            f"{', lazy=LazyReference' if exercise.accelerated else ''})"
        )
    else:
        values = ""
        if exercise.kind == "value":
            values = (
                f", reference={_value(exercise.reference, exercise.tolerance, is_over, False)}, mistakes=("
                + "".join(
                    f"Mistake({one.id!r}, {one.sentence!r}, ("
                    + "".join(
                        f"{_value(variant, 2 * exercise.tolerance, is_over)}, "
                        for variant in one.variants
                    )
                    + ")), "
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


def _value(value: object, distance: float, is_over: bool, jointly: bool = True) -> str:
    numbers = np.asarray(value, float)
    if is_over:
        return repr(numbers.tolist())
    return repr(hashed(numbers, distance, secrets.token_hex(8), jointly=jointly))


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
                _record_curves(exercise, name, tracer.tables)
    if any(exercise.lesson == gpu.LESSON for exercise in exercises):
        gpu.trace_kernels(tracer)


def _record_curves(exercise: Exercise, module: str, tables: Tables) -> None:
    for name in CURVES.get(module.removeprefix("attention_lib.exercises."), ()):
        function = getattr(importlib.import_module(module), name)
        for case in cases_of(exercise, SEED):
            if case.verify:
                of = case.args[0]
                table = sampled(functools.partial(function, of), float(np.ptp(of)))
                tables.add(f"{module}.{name}", key_of((of,)), *outcome_of(table))


def trace_cells(root: Path, lesson: str, graded: Sequence[str], folder: str) -> list[str]:
    """Run the cells of a lesson, and write the calls of withheld functions to a file of its name.

    Returns
    -------
    list of str
        A sentence on each function of the cells that shows how a graded exercise is done.
    """
    places = [
        (attention_lib, name)
        for withheld in graded
        if withheld != gpu.LESSON
        for name in importlib.import_module(_lesson_module(withheld)).__all__
    ]
    if lesson == gpu.LESSON:
        places += gpu.places_of_cells()
    course, tracer = Course(root), Tracer()
    with tracer.replacing(places):
        cells = read_lesson(course.written(lesson), EXERCISES).cells
        defined = run_cells(visible_code(cells), course.root, tracer.begin_cell)
    tracer.tables.packer.write(Path(folder) / lesson, tracer.tables.content(), preset=0)
    own = (function for function in defined if function.__name__ not in EXERCISES)
    earlier = (one for one in EXERCISES.values() if one.lesson in graded and one.lesson < lesson)
    return [
        f"Note: {name} in the notebook of {lesson} shows how {exercise.name} of {exercise.lesson} is "
        "done. Collect that lesson first."
        for name, exercise in shown_by(own, earlier)
    ]


def visible_code(cells: Iterable[Any]) -> list[str]:
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
    package: Path,
    given: Sequence[str],
    graded: Mapping[str, str],
    slices: Slices,
    answers: Mapping[Path, Mapping[str, ast.FunctionDef]],
) -> None:
    folder = LIBRARY / "lessons"
    for lesson in given:
        if lesson not in graded:
            for path in _files_of(lesson):
                text = _with_replaced(path, answers.get(path, {}))
                _write(package / path.relative_to(LIBRARY), text)
        elif lesson == gpu.LESSON:
            texts = (_withheld_module(name, slices) for name in (_lesson_module(lesson), gpu.PLANS))
            for name, text in gpu.withheld_modules(*texts).items():
                _write(package / Module(name).path.relative_to(LIBRARY), text)
            for name in gpu.HANDED_OUT:
                path = LIBRARY / "lessons" / "gpu" / f"{name}.py"
                _copy(path, package / path.relative_to(LIBRARY))
        else:
            for path in _files_of(lesson):
                name = f"attention_lib.lessons.{path.stem}"
                text = ENGINE if path.stem == "fast_flash" else _withheld_module(name, slices)
                _write(package / path.relative_to(LIBRARY), text)
    text = (folder / "__init__.py").read_text(encoding="utf-8")
    for lesson in LESSONS:
        if lesson not in given:
            text = re.sub(rf'^    "{lesson}",\n', "", text, flags=re.MULTILINE)
    _write(package / "lessons" / "__init__.py", text)


def _files_of(lesson: str) -> list[Path]:
    """Return the files that do the work of a lesson's answers."""
    folder = LIBRARY / "lessons"
    modules = [module_of(lesson), *BESIDE.get(lesson, ())]
    files = [folder / f"{module}.py" for module in modules]
    return [*filter(Path.is_file, files), *sorted((folder / module_of(lesson)).glob("*.py"))]


def _with_replaced(path: Path, functions: Mapping[str, ast.FunctionDef]) -> str:
    """Return a module's text with other functions in place of some of its own."""
    text = path.read_text(encoding="utf-8")
    for node in ast.parse(text).body:
        if isinstance(node, ast.FunctionDef) and node.name in functions:
            original = ast.get_source_segment(text, node)
            assert original
            text = text.replace(original, ast.unparse(functions[node.name]))
    if any("calls.call(" in ast.unparse(function) for function in functions.values()):
        first = "from __future__ import annotations\n"
        text = text.replace(first, f"{first}\nfrom attention_lib.edition import calls", 1)
    return text


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


def _write_rest(package: Path, given: Sequence[str], graded: Collection[str]) -> None:
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
        if gpu.LESSON in graded:
            text = text.replace(
                '": "attention_lib.lessons.gpu.kernel"', '": "attention_lib.edition.kernels"'
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
    course: Course, target: Path, given: Sequence[str], graded: Mapping[str, str], first: str
) -> None:
    shown = given[given.index(first) :]
    for lesson in given:
        if lesson in shown:
            notebook = course.released(lesson).read_text(encoding="utf-8")
            if lesson in graded:
                notebook = notebook.replace(*READ_ON)
            _write(target / "notebooks" / lesson / f"{lesson}.ipynb", notebook)
        if lesson not in graded:
            _copy(course.written(lesson), target / "solutions" / f"{lesson}.md")
    project = (course.root / "pyproject.toml").read_text(encoding="utf-8")
    head = project.partition("[project.optional-dependencies]")[0]
    extras = tomllib.loads(project)["project"]["optional-dependencies"]
    lines = [f"{name} = {json.dumps(extras[name])}\n" for name in ("torch", "triton")]
    _write(
        target / "pyproject.toml",
        f"{head}[project.optional-dependencies]\n{''.join(lines)}\n"
        '[tool.setuptools.packages.find]\ninclude = ["attention_lib*"]\n\n'
        '[tool.setuptools.package-data]\nattention_lib = ["records/*"]\n',
    )
    for name in ("LICENSE", "LICENSE-text"):
        _copy(course.root / name, target / name)
    names = f"{first} to {given[-1]}" if len(shown) > 1 else first
    _write(
        target / "README.md",
        README.format(
            title="The attention course",
            lessons=names,
            graded=", ".join(graded),
            package='".[torch,triton]"' if gpu.LESSON in given else ".",
        ),
    )
