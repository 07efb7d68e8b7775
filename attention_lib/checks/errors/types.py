"""Explain errors of types and names: a float as an index, a function not called, torch's methods.

Each function explains one kind of error, and returns an empty string for all others.
"""

from __future__ import annotations

import ast
import builtins
import difflib
import re
import sys
import traceback
import types
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from attention_lib.checks.calls.tensors import is_tensor
from attention_lib.checks.errors.line import UNKNOWN, FailingLine, made_in, quoted, shape_of

# Names of torch, and what to write in NumPy.
OF_TORCH = {
    "masked_fill": "np.where(mask, other, x)",
    "unsqueeze": "x[..., None]",
    "view": "x.reshape(...)",
    "permute": "np.transpose(x, axes)",
    "contiguous": "nothing, as every array can be reshaped",
    "repeat_interleave": "np.repeat(x, n, axis=...)",
    "expand": "np.broadcast_to(x, shape)",
    "exp": "np.exp(x)",
    "log": "np.log(x)",
    "sqrt": "np.sqrt(x)",
    "softmax": "your softmax of lesson 01",
    "matmul": "x @ y",
    "mm": "x @ y",
    "bmm": "x @ y",
    "abs": "np.abs(x)",
    "tanh": "np.tanh(x)",
    "float": "x.astype(float)",
    "size": "x.shape",
    "numel": "x.size",
    "detach": "nothing, as arrays have no gradient",
    "cpu": "nothing, as arrays have no device",
    "tril": "np.tril(x)",
    "triu": "np.triu(x)",
    "cat": "np.concatenate(arrays, axis=...)",
    "scatter": "x[np.arange(n), index]",
    "gather": "np.take_along_axis(x, index, axis)",
}
Explanation = str | tuple[str, str]  # with its topic, if a fault of an edit may say the same
MISSING = re.compile(r"has no attribute '(\w+)'")
KEYWORD = re.compile(r"unexpected keyword argument '(\w+)'|got an unexpected keyword '(\w+)'")
NAME = "name"  # the topic of a name that is not the one meant
KEYWORDS = {"dim": "axis", "keepdim": "keepdims"}


def letters(error: BaseException, line: FailingLine) -> Explanation:
    """Explain subscripts of einsum that do not fit the operands."""
    node = line.node
    call = getattr(getattr(node, "func", None), "attr", "")
    if not isinstance(node, ast.Call) or call != "einsum" or len(node.args) < 2:
        return ""
    if isinstance(error, TypeError):  # of a keyword, for example
        return ""
    text = node.args[0].value if isinstance(node.args[0], ast.Constant) else ""
    if not isinstance(text, str):
        return ""
    terms = text.partition("->")[0].split(",")
    met = []
    for term, operand in zip(terms, node.args[1:], strict=False):
        shape = shape_of(line.value(operand))
        if shape is None:
            return ""
        met.append(f"{quoted(operand)}, with the letters {term.strip()}, has shape {shape}")
        if "..." not in term and len(term.strip()) < len(shape):
            text = f"{met[-1]}: `...` before the letters stands for any axes before them."
            return text, "letters"
    return f"{' and '.join(met)}: one letter stands for one length."


def foreign_words(error: BaseException, line: FailingLine) -> Explanation:
    """Explain a name of torch that is used with NumPy."""
    missing = MISSING.search(str(error))
    node = line.node
    if (
        isinstance(error, AttributeError)
        and missing
        and isinstance(node, (ast.Attribute, ast.Call))
    ):
        word = missing.group(1)
        owner: Any = node.func if isinstance(node, ast.Call) else node
        value = line.value(getattr(owner, "value", owner))
        of_numpy = value is np or isinstance(value, (np.ndarray, np.generic))
        if of_numpy and word in OF_TORCH:
            return f"`{word}` is a word of torch: in NumPy it is {OF_TORCH[word]}.", "torch"
        if getattr(owner, "attr", "") == word and "Did you mean" not in str(error):
            has_names = isinstance(value, types.ModuleType) or of_numpy or is_tensor(value)
            if has_names and (near := nearest_name(word, dir(value))):
                return f"There is no `{word}`: is `{near}` meant?"
        if value is np and getattr(owner, "attr", "") == word:
            return f"NumPy has no function `{word}`: is it one of yours, or of an earlier lesson?"
    keyword = KEYWORD.search(str(error))
    word = next(filter(None, keyword.groups()), "") if keyword else ""
    if isinstance(error, TypeError) and word in KEYWORDS and isinstance(node, ast.Call):
        text = f"`{word}` is a word of torch: NumPy's functions call it `{KEYWORDS[word]}`."
        return text, "torch"
    return ""


def of_fractions(error: BaseException, line: FailingLine) -> str:
    """Explain a float used as a length or an index."""
    text = str(error)
    if not (
        "cannot be interpreted as an integer" in text
        or "slice indices must be integers" in text
        or "only integers, slices" in text
        or "integer or tuple of ints" in text
        or "expected a sequence of integers" in text
    ):
        return ""
    for part in _parts(line.node, deep=True):
        value = line.value(part)
        if isinstance(value, (float, np.floating)) and not isinstance(part, ast.Constant):
            made = made_in(line, part)
            return (
                f"{quoted(part)}{made} is a float, and a length or an index is an int: // keeps "
                "an int, / never does."
            )
    return ""


MODULES = {"np": "numpy as np", "math": "math", "torch": "torch", "plt": "matplotlib.pyplot as plt"}


def shadowed(error: BaseException, line: FailingLine) -> tuple[str, str] | str:
    """Explain a built-in function, or a module, whose name was given to something else."""
    if not isinstance(error, TypeError | AttributeError):
        return ""
    called = line.node.func if isinstance(line.node, ast.Call) else None
    for node in ast.walk(line.node):
        if not isinstance(node, ast.Name):
            continue
        name, here = node.id, node.id in line.frame.f_locals
        value = line.value(node)
        what = _what_hides(value)
        if name in MODULES and not isinstance(value, types.ModuleType) and what:
            again = "" if here else f" and run `import {MODULES[name]}` again"
            text = f"`{name}` is {what} and no longer the module: give that another name{again}."
            return text, "shadowed"
        if not hasattr(builtins, name) or callable(value) or not what:
            continue
        if here and node is called:
            text = (
                f"`{name}` is {what} in this function, and hides Python's own {name}: give it "
                "another name."
            )
            return text, "shadowed"
        if not here and isinstance(error, TypeError):
            text = (
                f"`{name}` is {what} and no longer Python's own {name}, since a cell gave it that "
                f"name: write another name there, then run `del {name}` once and that cell again."
            )
            return text, "shadowed"
    return ""


def _what_hides(value: Any) -> str:
    """Return the kind of a value that hides a function, or "" if unknown."""
    if value is UNKNOWN or isinstance(value, types.ModuleType):
        return ""
    shape = shape_of(value)
    if shape is not None:
        return "an array" if shape else "a number"
    return f"a {type(value).__name__}"


def uncalled(error: BaseException, line: FailingLine) -> Explanation:
    """Explain a function used as a value, or a value called as a function."""
    for node in _parts(line.node):
        value = line.value(node)
        if (
            isinstance(node, ast.Attribute)
            and isinstance(value, (types.BuiltinMethodType, types.MethodType, types.FunctionType))
            and not (isinstance(line.node, ast.Call) and line.node.func is node)
        ):
            return f"{quoted(node)} is the function itself: parentheses call it."
    if "object is not callable" in str(error) and isinstance(line.node, ast.Call):
        value = line.value(line.node.func)
        name = ast.unparse(line.node.func)
        if isinstance(value, (str, np.dtype)):
            return (
                f"`{name}` may be a dtype or its name: np.dtype({name}).type makes numbers of it."
            )
        if value is not UNKNOWN and shape_of(value) is not None:
            owner = getattr(line.node.func, "value", None)
            if owner is not None and name.endswith(".size") and shape_of(line.value(owner)):
                text = (
                    f"`{name}` is the number of all entries, not a function: in NumPy a length is an "
                    "entry of the shape."
                )
                return text, "length"
            what = "an array" if shape_of(value) else "a number"
            return (
                f"`{name}` is {what}, and (...) calls a function: entries are taken with [...], and "
                "a product needs *."
            )
    return ""


def wrong_names(error: BaseException, line: FailingLine) -> Explanation:
    """Explain a name without a value, or one of the notebook's that is meant for a local one."""
    if isinstance(error, NameError):
        return (text, NAME) if (text := _unknown_name(error, line)) else ""
    if not isinstance(error, AttributeError | TypeError):
        return ""
    names = line.frame.f_locals
    for node in ast.walk(line.node):
        if isinstance(node, ast.Name) and node.id not in names:
            value = line.value(node)
            is_plain = not (
                shape_of(value) or callable(value) or isinstance(value, types.ModuleType)
            )
            if value is not UNKNOWN and is_plain and (near := nearest_name(node.id, names)):
                return notebooks_name(node.id, near), NAME
    return ""


def notebooks_name(name: str, near: str) -> str:
    """Ask whether an argument or a local variable is meant, and not the notebook's."""
    return f"`{name}` is a variable of the notebook: is `{near}` meant?"


def _unknown_name(error: NameError, line: FailingLine) -> str:
    """Suggest the argument, variable, module or function that may be meant by a name."""
    found = re.search(r"'(\w+)'", str(error))  # errors from another process have no `name`
    name = found.group(1) if found else ""
    if isinstance(error, UnboundLocalError):
        if isinstance(line.statement, ast.AugAssign) and line.node is not line.statement.value:
            return f"`{name}` has no value yet that this line could change: give it one before."
        return (
            f"`{name}` gets a value in this function only after this line, or in a branch that was "
            "not taken: give it one before."
        )
    local = _local_names(error, line.frame)
    if near := nearest_name(name, local) or _one_letter_off(name, local):
        return f"`{name}` has no value: is `{near}` meant?"
    if name == "lib":
        return "`lib` has no value here: run the first cell of the notebook, which imports it."
    library = line.frame.f_globals.get("lib") or sys.modules.get("attention_lib")
    if isinstance(getattr(library, name, None), types.FunctionType):
        return (
            f"`{name}` has no value here: lib.{name} is the library's, and your own has one once its "
            "cell is run."
        )
    if name in ("math", "np", "torch"):
        return f"`{name}` is not imported: import it in a cell above."
    if len(name) > 1 and callable(getattr(np, name, None)):
        return f"`{name}` has no value: NumPy's function is `np.{name}`."
    if near := nearest_name(name, modules := _modules(line.frame.f_globals)):
        return f"`{name}` has no value: is `{modules[near]}` meant?"
    own = [one for one in line.frame.f_globals if not one.startswith("_")]
    if near := nearest_name(name, own):
        return f"`{name}` has no value: is your `{near}` meant?"
    functions = [key for key, one in vars(library).items() if isinstance(one, types.FunctionType)]
    if near := nearest_name(name, functions):
        return f"`{name}` has no value: is `{near}` meant, your own or `lib.{near}`?"
    if near := nearest_name(name, filter(str.islower, vars(builtins))):
        return f"`{name}` has no value: is Python's `{near}` meant?"
    return ""


def _local_names(error: BaseException, frame: types.FrameType) -> list[str]:
    """List a frame's names, and those of the functions that its function is written in.

    A comprehension is a function too, before Python 3.12.
    """
    names = list(frame.f_locals)
    for outer, _ in reversed(list(traceback.walk_tb(error.__traceback__))):
        if frame.f_code in outer.f_code.co_consts:
            names += outer.f_locals
            frame = outer
    return names


def _one_letter_off(name: str, names: Sequence[str]) -> str:
    """Return the name that differs in one letter of four or more, as axes from axis, or ""."""
    return next(iter(difflib.get_close_matches(name, names, n=1, cutoff=0.75)), "")


def _modules(names: Mapping[str, Any]) -> dict[str, str]:
    """Return what the notebook calls each module, by the module's name and by the notebook's."""
    modules = {key: one for key, one in names.items() if isinstance(one, types.ModuleType)}
    return {name: key for key, one in modules.items() for name in (one.__name__, key)}


def nearest_name(name: str, names: Iterable[str]) -> str:
    """Return the name that a misspelled one resembles, or ""."""
    plain = {_normalized(one): one for one in names}
    near = difflib.get_close_matches(_normalized(name), plain, n=1, cutoff=0.8)
    return plain[near[0]] if near else ""


def _normalized(name: str) -> str:
    """Normalize a name: without a final s, letter case and underscores."""
    return name.lower().replace("_", "").rstrip("s")


def _parts(node: ast.AST, deep: bool = False) -> list[ast.expr]:
    """List the operands of an expression or a statement."""
    if isinstance(node, (ast.Assign, ast.Return, ast.AugAssign, ast.Expr)):
        node = node.value if node.value is not None else node
    if deep:
        return [one for one in ast.walk(node) if isinstance(one, ast.expr) and one is not node]
    if isinstance(node, ast.BinOp):
        return [node.left, node.right]
    if isinstance(node, ast.Compare):
        return [node.left, *node.comparators]
    if isinstance(node, ast.Call):
        owner = [node.func.value] if isinstance(node.func, ast.Attribute) else []
        given = [*owner, *node.args, *(word.value for word in node.keywords)]
        inner = [
            one for part in given if isinstance(part, (ast.List, ast.Tuple)) for one in part.elts
        ]
        return [*given, *inner]
    if isinstance(node, (ast.Attribute, ast.Subscript, ast.Starred)):
        return [node.value]
    if isinstance(node, ast.UnaryOp):
        return [node.operand]
    return [node] if isinstance(node, ast.expr) else []


EXPLAINERS = (
    letters,
    shadowed,
    wrong_names,
    foreign_words,
    of_fractions,
    uncalled,
)
