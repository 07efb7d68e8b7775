"""Search a students' edition: for the text of what it withholds, and for code that computes it."""

import ast
import contextlib
import importlib
import inspect
import io
import json
import pkgutil
import re
import sys
import types
import warnings
from pathlib import Path

import numpy as np

SHORTEST = 20  # characters of a line: shorter ones stand in many a program
GENERAL = re.compile(
    r"withnp\.errstate\(|return\(\w+,\w+\)$|scores=as_floating\("
)  # lines that answer nothing
NOT_CALLED = ("attention_lib.learn.", "attention_lib.commands.", "attention_lib.record.")


def lines_of(code):
    """Return the lines of Python code as they are whatever its layout, without docstrings."""
    tree = ast.parse(code)
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef):
            node.returns = None
            if ast.get_docstring(node):
                node.body = node.body[1:] or [ast.Pass()]
            for one in node.args.args + node.args.kwonlyargs:
                one.annotation = None
    lines = {plain(line) for line in ast.unparse(tree).splitlines()}
    return {line for line in lines if len(line) >= SHORTEST and not line.startswith("def")}


def answers_in(folder, lessons, root):
    """Return the lines of an edition's files that answer one of these lessons' exercises."""
    answers, others = withheld_lines(lessons, root)
    found = []
    for path, text in texts_of(folder):
        text = plain(text)
        for line, where in (answers if path.suffix == ".ipynb" else answers | others).items():
            if line in text and not GENERAL.match(line):
                found.append(f"{path.relative_to(folder)}: {line} ({where})")
    return found


def plain(text):
    return re.sub(r"[\s\"'\\]", "", text)


def withheld_lines(lessons, root):
    """Return the lines of these lessons' model answers, and of references and known mistakes."""
    from attention_lib.edition.contents import STAYS, exercise_module
    from attention_lib.edition.gpu import HANDED_OUT, OF_LAUNCH
    from attention_lib.edition.slicing import Module
    from attention_lib.exercises import EXERCISES
    from attention_lib.exercises.model_answers import model_answer
    from attention_lib.lessons import module_of

    answers, lines = {}, {}
    for lesson in lessons:
        folder, name = root / "attention_lib" / "lessons", module_of(lesson)
        for path in [folder / f"{name}.py", *sorted((folder / name).glob("*.py"))]:
            if path.is_file() and path.stem not in HANDED_OUT:
                functions = [
                    node
                    for node in ast.parse(path.read_text("utf-8")).body
                    if is_function(node) and node.name not in OF_LAUNCH
                ]
                lines |= dict.fromkeys(lines_of(ast.unparse(ast.Module(functions, []))), lesson)
    for exercise in EXERCISES.values():
        if exercise.lesson not in lessons:
            continue
        answer = model_answer(exercise)
        if exercise.kind == "written":
            answers |= dict.fromkeys(map(plain, answer.splitlines()), exercise.name)
            continue
        answers |= dict.fromkeys(lines_of(answer), exercise.name)
        module = Module(exercise_module(exercise))
        stays = STAYS.get(module.name.removeprefix("attention_lib.exercises."), ())
        for name, node in module.definitions.items():
            if is_function(node) and name not in (*stays, "cases"):
                lines |= dict.fromkeys(lines_of(ast.unparse(node)), f"{exercise.name}: {name}")
        lines |= {
            plain(ast.unparse(node.body)): f"{exercise.name}: a known mistake"
            for node in ast.walk(module.definitions.get("MISTAKES", module.tree))
            if isinstance(node, ast.Lambda)
        }
    return tuple(
        {line: where for line, where in some.items() if len(line) >= SHORTEST}
        for some in (answers, lines)
    )


def is_function(node):
    return isinstance(node, ast.FunctionDef | ast.ClassDef)


def texts_of(folder):
    """Yield each file's name and text; of a notebook all cells, of records what is unpacked."""
    from attention_lib.edition.packing import Unpacker

    for path in sorted(folder.rglob("*")):
        if path.suffix == ".bin":
            yield path, json.dumps(Unpacker(path).content)
        elif path.suffix == ".ipynb":
            yield (
                path,
                "\n".join("".join(c["source"]) for c in json.loads(path.read_text())["cells"]),
            )
        elif path.suffix == ".py":
            yield path, ast.unparse(ast.parse(path.read_text("utf-8")))
        elif path.is_file():
            yield path, path.read_text("utf-8")


def functions_in_this_process():
    """Yield every function of the imported edition, by its name."""
    import attention_lib

    for found in pkgutil.walk_packages(attention_lib.__path__, "attention_lib."):
        module = importlib.import_module(found.name)
        for name, value in vars(module).items():
            if isinstance(value, types.FunctionType) and value.__module__ == found.name:
                full_name = f"{found.name}.{name}"
                is_figure = found.name.startswith("attention_lib.plots") and name[0] != "_"
                if not (is_figure or full_name.startswith(NOT_CALLED)):
                    yield full_name, value


def functions_that_compute(calls):
    """Return the functions that give the right result of a hidden call, by exercise."""
    functions = list(functions_in_this_process())
    found = []
    for exercise, args, expected in calls:
        for name, function in functions:
            parameters = list(inspect.signature(function).parameters.values())
            needed = [one for one in parameters if one.default is one.empty]
            if not len(needed) <= len(args) <= len(parameters):
                continue
            with contextlib.suppress(Exception), contextlib.redirect_stdout(io.StringIO()):
                if equal(function(*args), expected):
                    found.append(f"{exercise}: {name}")
    return found


def equal(result, expected):
    if isinstance(expected, tuple):
        same = isinstance(result, (tuple, list)) and len(result) == len(expected)
        return same and all(map(equal, result, expected))
    if type(expected).__module__ == "torch" and type(result) is type(expected):
        result, expected = result.double().numpy(), expected.double().numpy()
    if not isinstance(result, (np.ndarray, np.generic, float)):
        return False
    return np.shape(result) == np.shape(expected) and np.allclose(result, expected)


def hidden_calls(lessons, seed):
    """Return a hidden call of each exercise, and its right result."""
    from attention_lib.checks.cases import cases_of
    from attention_lib.edition.keys import key_of
    from attention_lib.edition.recording import SEED
    from attention_lib.exercises import EXERCISES

    calls = []
    for exercise in EXERCISES.values():
        if exercise.lesson in lessons and exercise.kind == "function":
            cases = [c for c in cases_of(exercise, seed) if not (c.raises or c.verify or c.kwargs)]
            known = {key_of(case.args) for case in cases_of(exercise, SEED)}
            hidden = [case for case in cases if key_of(case.args) not in known]
            for case in hidden[-1:]:
                calls.append((exercise.name, case.args, exercise.reference(*case.args)))
    return calls


def main():
    """Search the edition of this process for functions that compute what the file's calls do."""
    from attention_lib.edition.packing import Unpacker

    records = Unpacker(Path(sys.argv[1]))
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        print(json.dumps(functions_that_compute(records.decoded(records.content))))


if __name__ == "__main__":
    main()
