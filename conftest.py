"""Collect quickly, start long tests first, and with --exercise collect what concerns one exercise."""

import gc
import signal
import traceback
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parent
MADE = ROOT / "tests" / "exercises" / "test_contracts.py"  # by make release
LONG = ("hostile", "batch", "browser", "slow")


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--exercise", metavar="NAME", help="run only the tests that concern this exercise"
    )


def pytest_configure(config: pytest.Config) -> None:
    # What a shell runs in the background ignores Ctrl-C, and so would all that the tests start.
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    gc.disable()  # collecting makes millions of objects that stay
    name = config.getoption("--exercise")
    if name is not None:
        _check_name(name)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    items.sort(key=lambda item: not any(map(item.get_closest_marker, LONG)))


def pytest_runtest_setup(item: pytest.Item) -> None:
    """Let each doctest print numbers as NumPy does, whatever cell of a lesson ran before it."""
    if item.nodeid.startswith("attention_lib/"):
        import numpy as np

        np.set_printoptions(precision=8, suppress=False)


def pytest_collection_finish() -> None:
    gc.freeze()
    gc.enable()


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    name = config.getoption("--exercise")
    if name is None:
        return None
    concerned = _files_of(name)
    if collection_path.is_dir():
        return not any(collection_path in path.parents for path in concerned) or None
    return collection_path not in concerned or None


def _check_name(name: str) -> None:
    try:
        from attention_lib.exercises import find
        from benchmarks.answers import answers
    except Exception as error:
        raise pytest.UsageError(_where_and_what(error)) from None
    try:
        exercise = find(name)
    except ValueError as error:
        problem = str(error)
        for file in ROOT.glob(f"attention_lib/exercises/*/{name}.py"):
            module = file.relative_to(ROOT)
            problem = (
                f'Write name="{name}" in the EXERCISE of {module}, and list that EXERCISE in '
                f"{module.with_name('__init__.py')}."
            )
        raise pytest.UsageError(problem) from None
    try:
        for mistake in exercise.mistakes:
            for variant in mistake.variants:
                getattr(variant, "function", None)  # reads the patch
        answers(lesson=exercise.lesson)
    except ValueError as error:
        raise pytest.UsageError(str(error)) from None


def _where_and_what(error: Exception) -> str:
    """Return an import's error in one line, with the last file of an exercise or a lesson."""
    files = [
        (Path(frame.filename).relative_to(ROOT), frame.lineno)
        for frame in traceback.extract_tb(error.__traceback__)
        if Path(frame.filename).is_relative_to(ROOT / "attention_lib")
        if not Path(frame.filename).is_relative_to(ROOT / "attention_lib" / "checks")
    ]
    if isinstance(error, SyntaxError) and error.filename:
        files.append((Path(error.filename), error.lineno))
    file, line = files[-1]
    return f"{file}, line {line}: {type(error).__name__}: {error}"


@cache
def _files_of(name: str) -> frozenset[Path]:
    """Return the test files, and the modules with doctests, that concern an exercise."""
    from attention_lib.exercises import find
    from attention_lib.lessons import module_of

    lesson = module_of(find(name).lesson)
    tests = ROOT / "tests"
    return frozenset(
        {
            *(set((tests / "exercises").glob("test_*.py")) - {MADE}),
            *(tests / "exercises" / lesson).glob("test_*.py"),
            tests / "lessons" / f"test_{lesson}.py",
            tests / "answers" / "test_answers.py",
            tests / "test_straight_way.py",
            ROOT / "attention_lib" / "lessons" / f"{lesson}.py",
            *(ROOT / "attention_lib" / "lessons" / lesson).glob("*.py"),
        }
    )
