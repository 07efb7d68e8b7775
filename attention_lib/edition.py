"""Make a students' edition: the course as a package that hides the answers to graded lessons.

`make edition LESSON=03_scaling` runs it. The source of graded lessons and of all exercises is
compressed into one file. `PackedFinder` imports from that file, and tracebacks, `help`, `inspect`
and debuggers show none of it. An edition imports this module before all others, so functions that
make an edition import the rest of the library in their bodies. docs/teaching.md says how far to
trust it.
"""

from __future__ import annotations

import ast
import datetime
import json
import re
import sys
import zlib
from collections.abc import Collection, Mapping, Sequence
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from importlib.util import spec_from_file_location
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from attention_lib.checks.exercise import Exercise
    from attention_lib.grading.classroom.course import Course

__all__ = ["EditionError", "make_edition", "when_shown"]

LIBRARY = Path(__file__).parent
FILE = "packed.bin"  # in an edition's attention_lib/
ARCHIVE = Path("attention-course.zip")  # in an edition's folder: the whole edition, to hand out
DEFINED = """\
# {name} answers an exercise of a later lesson. solution("{name}") shows this lesson's own answer.
from attention_lib.edition import packed  # noqa: E402

packed.define("{name}", globals())
"""
README = """\
# The attention course, {lessons}

A students' edition: the whole course as far as these lessons. It needs Python 3.11 or newer. Open a
terminal in this folder and type these three commands. On Windows:

    py -m venv .venv
    .venv\\Scripts\\python -m pip install --editable {package}
    .venv\\Scripts\\python -m attention_lib.learn

On Linux and a Mac (Debian and Ubuntu first need `sudo apt install python3-venv`):

    python3 -m venv .venv
    .venv/bin/python -m pip install --editable {package}
    .venv/bin/python -m attention_lib.learn

JupyterLab opens with your copy of the first lesson, in `learn/`. Type the last command again to go on.
In VS Code, open this folder, then the lesson in `learn/`, and choose the kernel of `.venv`. The lesson in
`learn/` is what you hand in: save it first.

`solution` shows the answers to a lesson in the edition that you are given when that lesson is over.
Unpack it where you unpacked this one, and let it replace the files: your work in `learn/` stays.
"""


class EditionError(Exception):
    """An edition cannot be made; the text says why, and what to do."""


class PackedFinder(MetaPathFinder, Loader):
    """Find and load modules from the one file that holds their compressed source.

    It has no `get_source` method, through which tracebacks and `inspect` would find that source.
    """

    def __init__(self, file: Path) -> None:
        content = json.loads(zlib.decompress(file.read_bytes()))
        self.graded: dict[str, str] = content["graded"]  # the day on which a lesson is over
        self.hidden: dict[str, str] = content["hidden"]  # functions of lessons that are over
        self._sources: dict[str, str] = content["sources"]  # by file, below attention_lib/

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> ModuleSpec | None:
        package, _, place = name.replace(".", "/").partition("/")
        if package != LIBRARY.name:
            return None
        for file in (f"{place}.py", f"{place}/__init__.py"):
            if file in self._sources:
                location = LIBRARY / file
                folders = [str(location.parent)] if location.stem == "__init__" else None
                return spec_from_file_location(
                    name, location, loader=self, submodule_search_locations=folders
                )
        return None

    def exec_module(self, module: ModuleType) -> None:
        file = str(module.__file__)
        exec(compile(self.packed_source(file), file, "exec", dont_inherit=True), vars(module))

    def packed_source(self, file: str) -> str:
        """Return a module's source, for code that compiles parts of it: `checks.patch`, `triton`."""
        return self._sources[Path(file).relative_to(LIBRARY).as_posix()]

    def define(self, name: str, namespace: dict[str, Any]) -> None:
        """Define a function in the module of a lesson that is over.

        Its line numbers are beyond the end of the module's file, so that a traceback shows no line
        of it.
        """
        source = "\n" * 100_000 + self._sources[f"{namespace['__name__']}.{name}"]
        exec(compile(source, namespace["__file__"], "exec", dont_inherit=True), namespace)


packed = PackedFinder(LIBRARY / FILE) if (LIBRARY / FILE).is_file() else None
if packed:
    sys.meta_path.insert(0, packed)  # before files that an older edition may have left


def when_shown(exercise: Exercise, library: bool) -> str:
    """Return when an edition will show an answer, or "" if it may be shown now.

    `library` asks for the library's version instead of the lesson's model answer.
    """
    if packed is None:
        return ""
    lesson = packed.hidden.get(exercise.name) if library else None
    if exercise.lesson in packed.graded:
        lesson = exercise.lesson
    if lesson is None:
        return ""
    day = packed.graded[lesson]
    when = f"from {day} on" if day else f"when lesson {lesson} is over"
    what = "library's version of" if library else "model answer to"
    return f"The {what} {exercise.name} will show {when}, in the edition that you are given then."


def graded_lessons(given: Sequence[str], over: str, today: datetime.date) -> dict[str, str]:
    """Return the lessons that are not over, each with the day on which it will be, or "".

    `over` lists lessons that are over, or that will be on a day: NAME:2026-12-01.

    Raises
    ------
    EditionError
        If a name or a day is invalid, or a lesson is over before an earlier one.
    """
    graded = dict.fromkeys(given, "")
    for entry in filter(None, (part.strip() for part in over.split(","))):
        lesson, _, day = entry.partition(":")
        if lesson not in graded:
            raise EditionError(f"{lesson} in OVER is none of the lessons {', '.join(given)}.")
        try:
            is_over = not day or datetime.date.fromisoformat(day) <= today
        except ValueError:
            raise EditionError(f"{day} in OVER is no date such as 2026-12-01.") from None
        if is_over:
            del graded[lesson]
        else:
            graded[lesson] = day
    over_now = [lesson for lesson in given if lesson not in graded]
    if over_now != list(given[: len(over_now)]):
        raise EditionError(
            f"{over_now[-1]} is over and {next(iter(graded))} is not: the later lesson would show the "
            "answers to the earlier one. Let the earlier one be over too."
        )
    return graded


def make_edition(
    course: Course, given: Sequence[str], graded: Mapping[str, str], target: Path, first: str
) -> None:
    """Write an edition and a zip archive of it into a folder, replacing an older edition there.

    Other files in the folder stay. The edition has the lessons `given`, and their notebooks from
    `first` on: later lessons call the functions of earlier ones. `graded` are the lessons whose
    answers are withheld, each with the day on which they will be shown, or "".

    Raises
    ------
    EditionError
        If the folder holds no edition, or somebody has changed a file of an edition in it.
    """
    import shutil
    import tempfile

    from attention_lib.grading.replacing import HoldsOtherFiles, replace_written

    with tempfile.TemporaryDirectory() as folder:
        new = Path(folder) / ARCHIVE.stem
        _write_edition(course, given, graded, new, first)
        shutil.move(shutil.make_archive(str(new), "zip", folder, new.name), new)
        try:
            replace_written(target, new)
        except HoldsOtherFiles as problem:
            raise EditionError(str(problem)) from None
    for cache in (target / LIBRARY.name).rglob(
        "__pycache__"
    ):  # of modules that may be withheld now
        shutil.rmtree(cache)


def _write_edition(
    course: Course, given: Sequence[str], graded: Mapping[str, str], target: Path, first: str
) -> None:
    from attention_lib.lessons import LESSONS

    package = target / LIBRARY.name
    later = [lesson for lesson in LESSONS if lesson not in given]
    hidden, sources = _hidden_functions(graded), dict[str, str]()
    for file in _files_of_edition(later):
        text = (LIBRARY / file).read_text(encoding="utf-8")
        folder = file.partition("/")[0]
        # Known mistakes of a lesson that is over may be close to answers of later ones.
        is_exercise = folder == "exercises" and file.count("/") == 2
        if (is_exercise and graded) or (folder == "lessons" and _lesson_of(file) in graded):
            sources[file] = _with_contracts(_without_rubric(text))
            continue
        module = "attention_lib." + file.removesuffix(".py").replace("/", ".")
        for name in hidden.get(module, ()):
            function = _source_of_function(text, name)
            future = "from __future__ import annotations\n"
            sources[f"{module}.{name}"] = future + _with_contracts(function)
            text = text.replace(function, DEFINED.format(name=name))
        if file.endswith("__init__.py"):
            text = _without_lessons(later, text, is_first=file == "__init__.py")
        _write(package / file, text)
    names = {name: lesson for functions in hidden.values() for name, lesson in functions.items()}
    content = {"graded": dict(graded), "hidden": names, "sources": sources}
    (package / FILE).write_bytes(zlib.compress(json.dumps(content).encode(), 9))
    _write_around(course, target, given, graded, first)


def _lesson_of(file: str) -> str | None:
    """Return the lesson that a file below attention_lib/ belongs to."""
    from attention_lib.lessons import LESSONS, module_of

    folder, _, rest = file.removesuffix(".py").partition("/")
    if folder not in ("exercises", "lessons", "plots"):
        return None
    module = rest.partition("/")[0]
    return next((lesson for lesson in LESSONS if module == module_of(lesson)), None)


def _files_of_edition(later: Collection[str]) -> list[str]:
    """Return the files of an edition, below attention_lib/, without the grader's and later lessons'."""
    files = {
        path.relative_to(LIBRARY).as_posix(): path.read_text(encoding="utf-8")
        for path in sorted(LIBRARY.rglob("*.*"))
        if path.suffix in (".py", ".txt") and path.relative_to(LIBRARY).parts[0] != "grading"
    }
    del files["exercises/template.py"]  # for authors
    parts = {file: Path(file).stem for file in files if file.startswith("exercises/parts/")}
    wanted = [file for file in files if file not in parts and _lesson_of(file) not in later]
    wanted.append("exercises/parts/__init__.py")
    for file in wanted:  # and the parts that it imports
        imports = " ".join(re.findall(r"exercises\.parts(?:\.| import ).*", files[file]))
        wanted += [
            part
            for part in parts
            if part not in wanted and re.search(rf"\b{parts[part]}\b", imports)
        ]
    return wanted


def _hidden_functions(graded: Collection[str]) -> dict[str, dict[str, str]]:
    """Return the functions of lessons that are over and would answer a graded exercise.

    These are the functions that such an exercise may not call, by module and name, each with its
    lesson.
    """
    from attention_lib.exercises import EXERCISES

    found: dict[str, dict[str, str]] = {}
    for exercise in EXERCISES.values():
        for function in exercise.not_by if exercise.lesson in graded else ():
            if EXERCISES[function.__name__].lesson not in graded:
                found.setdefault(function.__module__, {})[function.__name__] = exercise.lesson
    return found


def _source_of_function(text: str, name: str) -> str:
    node = next(
        n for n in ast.parse(text).body if isinstance(n, ast.FunctionDef) and n.name == name
    )
    return "".join(text.splitlines(keepends=True)[node.lineno - 1 : node.end_lineno])


def _with_contracts(text: str) -> str:
    """Replace functions' docstrings, which give answers away, by exercises' contracts."""
    from attention_lib.exercises import EXERCISES
    from attention_lib.exercises.contracts import contract_of

    lines = text.splitlines(keepends=True)
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, (ast.FunctionDef, ast.ClassDef)) and ast.get_docstring(node):
            first, last = node.body[0].lineno, node.body[0].end_lineno
            contract = contract_of(EXERCISES[node.name]) if node.name in EXERCISES else ""
            lines[first - 1] = f"{' ' * node.body[0].col_offset}{contract!r}\n"
            lines[first:last] = [""] * (last - first)  # type: ignore[operator]
    return "".join(lines)


def _without_rubric(text: str) -> str:
    """Remove the rubric by which a human marks an answer: an edition does not need it."""
    if "rubric=" not in text:
        return text
    tree = ast.parse(text)
    for node in ast.walk(tree):
        if isinstance(node, ast.Call):
            node.keywords = [keyword for keyword in node.keywords if keyword.arg != "rubric"]
    return ast.unparse(tree)


def _without_lessons(later: Sequence[str], text: str, is_first: bool) -> str:
    """Remove later lessons from an `__init__.py`; make the library's own one import this module."""
    from attention_lib.lessons import module_of

    for lesson in later:
        name = module_of(lesson)
        lines = rf'.*\b(?:lessons|plots)\.{name}\b.*|    "{lesson}",'
        text = re.sub(rf"^(?:{lines})\n", "", text, flags=re.MULTILINE)
    return text.replace("import lessons\n", "import edition, lessons\n", 1) if is_first else text


def _write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")


def _write_around(
    course: Course, target: Path, given: Sequence[str], graded: Collection[str], first: str
) -> None:
    import shutil
    import tomllib

    results = course.root / "benchmarks" / "results"  # lesson 10 draws these
    if results.is_dir():
        shutil.copytree(results, target / "benchmarks" / "results")
    for lesson in given:
        if lesson >= first:
            text = course.released(lesson).read_text(encoding="utf-8")
            _write(target / "notebooks" / lesson / f"{lesson}.ipynb", text)
        if lesson not in graded:
            path = course.written(lesson)
            _write(target / "solutions" / path.name, path.read_text(encoding="utf-8"))
    project = (course.root / "pyproject.toml").read_text(encoding="utf-8")
    settings = tomllib.loads(project)
    extras = settings["project"]["optional-dependencies"]
    data = settings["tool"]["setuptools"]["package-data"][LIBRARY.name]  # such as trained numbers
    for file in data:
        (target / LIBRARY.name / file).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(LIBRARY / file, target / LIBRARY.name / file)
    mark = "[project.optional-dependencies]\n"
    _write(
        target / "pyproject.toml",
        f"{project.partition(mark)[0]}{mark}torch = {json.dumps(extras['torch'])}\n\n"
        '[tool.setuptools.packages.find]\ninclude = ["attention_lib*"]\n\n'
        f"[tool.setuptools.package-data]\nattention_lib = {json.dumps([FILE, '**/*.txt', *data])}\n",
    )
    for name in ("LICENSE", "LICENSE-text"):
        shutil.copyfile(course.root / name, target / name)
    last = given[-1]
    lessons = f"lessons {first} to {last}" if first != last else f"lesson {last}"
    package = '".[torch]"' if last == "10_gpu" else "."
    _write(target / "README.md", README.format(lessons=lessons, package=package))


def main(arguments: Sequence[str] | None = None) -> int:
    import argparse

    from attention_lib.grading.classroom.course import Course, CourseError
    from attention_lib.lessons import LESSONS

    parser = argparse.ArgumentParser(prog="edition", description="Make a students' edition.")
    parser.add_argument("lesson", help="the last lesson that the class has, such as 03_scaling")
    parser.add_argument(
        "--over", default="", help="lessons whose answers may be seen: 01_softmax,..."
    )
    parser.add_argument(
        "--from", dest="first", default=LESSONS[0], help="the first lesson whose notebook is in it"
    )
    parser.add_argument("--target", type=Path, help="the folder; build/edition/LESSON if not said")
    options = parser.parse_args(arguments)
    try:
        course = Course.here()
        last, first = course.require(options.lesson), course.require(options.first)
        if first > last:
            raise EditionError(f"FROM must not come after {last}; it is {first}.")
        given = LESSONS[: LESSONS.index(last) + 1]
        graded = graded_lessons(given, options.over, datetime.date.today())
        target = options.target or course.root / "build" / "edition" / last
        make_edition(course, given, graded, target, first)
    except (CourseError, EditionError) as problem:
        print(problem, file=sys.stderr)
        return 1
    withheld = f"withholds the answers to {', '.join(graded)}" if graded else "withholds nothing"
    lessons = f"the lessons {first} to {last}" if first != last else f"lesson {last}"
    print(f"{target / ARCHIVE} has {lessons}, and {withheld}.")
    return 0


if __name__ == "__main__":
    sys.exit(main())
