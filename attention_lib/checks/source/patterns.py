"""Lines that do not do what they seem to: one function a pattern, each with its sentence.

What is said is true of the source as it stands, whatever the answer returns.
"""

from __future__ import annotations

import ast
import builtins
import itertools
import types
from collections.abc import Callable, Collection, Iterator
from typing import Any

from attention_lib.checks.calls.failing_line import quoted
from attention_lib.checks.calls.tensors import is_tensor
from attention_lib.checks.source.cell import Source

PURE_MODULES = ("np", "numpy", "torch", "math", "F", "lib", "attention_lib")
IN_PLACE = (  # methods and functions that change what they are given
    *("append", "extend", "sort", "fill", "update", "insert", "pop", "add", "put", "shuffle"),
    *("copyto", "seed", "default_rng", "clear", "remove", "setdefault", "resize", "setflags", "at"),
    *("fill_diagonal", "place", "putmask", "put_along_axis", "synchronize", "record", "store"),
)


def thrown_away(source: Source, given: Collection[str]) -> str:
    """Find a result that nothing keeps: ``np.exp(x)`` alone in its line, or ``x.sort``."""
    for function in source.functions:
        for node in ast.walk(function):
            if not isinstance(node, ast.Expr):
                continue
            value = node.value
            if isinstance(value, ast.Attribute):
                return (
                    f"Line {node.lineno}, {quoted(value)}, calls nothing: a call needs parentheses."
                )
            if isinstance(value, ast.Compare):
                return (
                    f"Line {node.lineno}, {quoted(value)}, compares and changes nothing: = assigns."
                )
            if isinstance(value, ast.BinOp) or _is_pure_call(value):
                return (
                    f"Line {node.lineno} computes {quoted(value)} and does not keep it: assign it to "
                    "a name, as in x = ..., and go on with that."
                )
    return ""


def _is_pure_call(value: ast.expr) -> bool:
    if not isinstance(value, ast.Call) or not isinstance(value.func, ast.Attribute):
        return False
    name, owner = value.func.attr, value.func.value
    if name in IN_PLACE or name.endswith("_") or any(w.arg == "out" for w in value.keywords):
        return False
    if isinstance(owner, ast.Name) and owner.id in PURE_MODULES:
        return True
    return name in ("astype", "reshape", "transpose", "swapaxes", "masked_fill", "copy", "clip")


def globals_for_arguments(source: Source, given: Collection[str]) -> str:
    """Find a variable of the notebook that is used where an argument should be."""
    function = source.function
    unused = _unused_arguments(function)
    stored = {n.id for n in _names(function) if not isinstance(n.ctx, ast.Load)}
    own = {*_arguments(function), *stored}
    for node in _names(function):
        if not isinstance(node.ctx, ast.Load) or node.id in own or hasattr(builtins, node.id):
            continue
        value = source.namespace.get(node.id)
        if not _is_data(value) or node.id.isupper():
            continue
        text = f"`{node.id}` in line {node.lineno} is a variable of the notebook, the same in every call"
        if len(unused) == 1:
            return f"{text}, and the argument `{unused[0]}` is never used: write that in its place."
        return f"{text}: a function computes with its arguments."
    return ""


def _is_data(value: Any) -> bool:
    module = type(value).__module__
    return (
        is_tensor(value)
        or (module == "numpy" and hasattr(value, "dtype"))
        or (
            isinstance(value, (list, float, int))
            and not isinstance(value, (bool, types.ModuleType))
        )
    )


def unused_arguments(source: Source, given: Collection[str]) -> str:
    """Find an argument that wrong calls give, and that is never used."""
    for name in _unused_arguments(source.function):
        if name in given:
            return f"The argument `{name}` is never used."
    return ""


def _unused_arguments(function: ast.FunctionDef) -> list[str]:
    loaded = {node.id for node in _names(function) if isinstance(node.ctx, ast.Load)}
    if "locals" in loaded:
        return []
    return [name for name in _arguments(function) if name not in loaded]


def _arguments(function: ast.FunctionDef) -> list[str]:
    given = function.args
    return [one.arg for one in (*given.posonlyargs, *given.args, *given.kwonlyargs)]


def overwritten_arguments(source: Source, given: Collection[str]) -> str:
    """Find an argument that gets another value before it is read."""
    function = source.function
    for statement in function.body:
        if not isinstance(statement, ast.Assign) or len(statement.targets) != 1:
            break
        target = statement.targets[0]
        read = {n.id for n in ast.walk(statement.value) if isinstance(n, ast.Name)}
        if isinstance(target, ast.Name) and target.id in _arguments(function):
            name = target.id
            earlier = function.body[: function.body.index(statement)]
            loaded = read | {n.id for one in earlier for n in _names(one)}
            if name in given and name not in loaded:
                return (
                    f"Line {statement.lineno} gives `{name}` another value before it is read: what "
                    "the call gives is lost."
                )
    return ""


def unused_values(source: Source, given: Collection[str]) -> str:
    """Find a variable that is computed and never read."""
    for function in source.functions:
        loaded = {n.id for n in _names(function) if isinstance(n.ctx, ast.Load)}
        for node in ast.walk(function):
            if not isinstance(node, ast.Assign) or len(node.targets) != 1:
                continue
            target = node.targets[0]
            if not isinstance(target, ast.Name) or isinstance(node.value, (ast.Constant, ast.Name)):
                continue
            name = target.id
            if name not in loaded and not name.startswith("_") and "locals" not in loaded:
                return f"`{name}`, computed in line {node.lineno}, is never used."
    return ""


def returns_in_loops(source: Source, given: Collection[str]) -> str:
    """Find a loop that a return ends in its first round."""
    for function in source.functions:
        for node in ast.walk(function):
            if isinstance(node, (ast.For, ast.While)):
                for statement in node.body:
                    if isinstance(statement, ast.Return) and not _may_go_on(node.body, statement):
                        return (
                            f"The return in line {statement.lineno} lies inside the loop of line "
                            f"{node.lineno} and ends it in its first round: indent it less."
                        )
    return ""


def _may_go_on(body: list[ast.stmt], last: ast.stmt) -> bool:
    before = body[: body.index(last)]
    return any(isinstance(node, ast.Continue) for one in before for node in ast.walk(one))


def lasting_defaults(source: Source, given: Collection[str]) -> str:
    """Find a default list or dictionary that is changed, and so lives on to the next call."""
    for function in source.functions:
        arguments = function.args
        pairs = zip(reversed(arguments.args), reversed(arguments.defaults), strict=False)
        for argument, default in pairs:
            if not isinstance(default, (ast.List, ast.Dict, ast.Set)):
                continue
            if any(_changes(node, argument.arg) for node in ast.walk(function)):
                return (
                    f"The default of `{argument.arg}` is made once, when the function is defined, "
                    "and what is put into it stays for the next call: take None as the default, and "
                    "make a new one inside."
                )
    return ""


def lasting_globals(source: Source, given: Collection[str]) -> str:
    """Find a variable of the notebook that a function changes, and so finds changed again."""
    for function in source.functions:
        own = {*_arguments(function)}
        own |= {n.id for n in _names(function) if isinstance(n.ctx, ast.Store)}
        nodes = list(ast.walk(function))
        declared = {name for one in nodes if isinstance(one, ast.Global) for name in one.names}
        mutable = {
            name
            for name, value in source.namespace.items()
            if name not in own and isinstance(value, (list, dict, set))
        }
        for node in nodes:
            stored = isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)
            changed = {node.id} & declared if isinstance(node, ast.Name) and stored else set()
            changed |= {name for name in mutable if _changes(node, name)}
            if changed:
                line = getattr(node, "lineno", function.lineno)
                return (
                    f"`{min(changed)}` is a variable of the notebook that line {line} changes: the "
                    "next call finds it changed. Keep what is needed in variables of the function, "
                    "and return it."
                )
    return ""


def _changes(node: ast.AST, name: str) -> bool:
    """Tell whether a node changes a variable's own contents."""
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
        owner = node.func.value
        changes = node.func.attr in ("append", "extend", "update", "insert", "add", "setdefault")
        return changes and isinstance(owner, ast.Name) and owner.id == name
    if isinstance(node, ast.Subscript) and isinstance(node.ctx, ast.Store):
        return isinstance(node.value, ast.Name) and node.value.id == name
    return False


def device_names(source: Source, given: Collection[str]) -> str:
    """Find a torch.device compared with a string, which it never equals."""
    for function in source.functions:
        for node in ast.walk(function):
            if not isinstance(node, ast.Compare) or not isinstance(node.ops[0], (ast.Eq, ast.In)):
                continue
            name = getattr(node.left, "attr", None) or getattr(node.left, "id", "")
            other = node.comparators[0]
            names = other.elts if isinstance(other, (ast.Tuple, ast.List)) else [other]
            texts = [one.value for one in names if isinstance(one, ast.Constant)]
            if name == "device" and any(text in ("cuda", "mps", "cpu") for text in texts):
                left = ast.unparse(node.left)
                return (
                    f"Line {node.lineno} compares a torch.device with a string, which is False for "
                    f"every device: {left}.type is the string."
                )
    return ""


def uncalled_questions(source: Source, given: Collection[str]) -> str:
    """Find an `if` that asks for a function itself, which is always true."""
    for function in source.functions:
        for node in ast.walk(function):
            test = node.test if isinstance(node, (ast.If, ast.IfExp)) else None
            parts = list(ast.walk(test)) if test is not None else []
            called = [call.func for call in parts if isinstance(call, ast.Call)]
            for part in parts:
                if not isinstance(part, ast.Attribute) or part in called:
                    continue
                if part.attr in ("is_available", "is_built"):
                    return (
                        f"{quoted(part)} in line {part.lineno} is the function itself, which counts "
                        f"as true: {ast.unparse(part)}() asks it."
                    )
    return ""


def separate_conditions(source: Source, given: Collection[str]) -> str:
    """Find `if`, `if`, `else`, whose else belongs to the second if alone."""
    for function in source.functions:
        for node in ast.walk(function):
            body = getattr(node, "body", None)
            if not isinstance(body, list):
                continue
            for first, second in itertools.pairwise(body):
                if not (isinstance(first, ast.If) and isinstance(second, ast.If)):
                    continue
                if first.orelse or not second.orelse or isinstance(first.body[-1], ast.Return):
                    continue
                if _stored(first.body) & _stored(second.body) & _stored(second.orelse):
                    return (
                        f"The else of line {second.orelse[0].lineno - 1} belongs to the if of line "
                        f"{second.lineno} alone, and is also taken where the if of line "
                        f"{first.lineno} was true: write elif in line {second.lineno}."
                    )
    return ""


def _stored(body: list[ast.stmt]) -> set[str]:
    return {
        node.id
        for statement in body
        for node in ast.walk(statement)
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)
    }


def unseeded(source: Source, given: Collection[str]) -> str:
    """Find random numbers, which differ from call to call."""
    for function in source.functions:
        for node in ast.walk(function):
            if isinstance(node, ast.Call):
                name = ast.unparse(node.func)
                if ".random." in name or name.startswith(("random.", "torch.rand")):
                    return (
                        f"Line {node.lineno} draws random numbers: an estimate from samples is never "
                        "exact, and the result can be computed without any."
                    )
    return ""


def _names(function: ast.AST) -> Iterator[ast.Name]:
    return (node for node in ast.walk(function) if isinstance(node, ast.Name))


# The plainest first; those that explain an answer only sometimes last.
PATTERNS: tuple[Callable[[Source, Collection[str]], str], ...] = (
    thrown_away,
    globals_for_arguments,
    returns_in_loops,
    lasting_defaults,
    lasting_globals,
    device_names,
    uncalled_questions,
    separate_conditions,
    overwritten_arguments,
    unused_arguments,
    unused_values,
    unseeded,
)
