"""Errors over what a value is: None, a pair, a number with a fraction, a function, torch's words.

Each function explains one kind of error, and returns an empty string for all others.
"""

from __future__ import annotations

import ast
import re
import types
from typing import Any

import numpy as np

from attention_lib.checks.calls.failing_line import UNKNOWN, FailingLine, made_in, quoted, shape_of
from attention_lib.checks.calls.tensors import is_tensor

# Words of torch, and how NumPy says them.
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
OF_NUMPY = {  # and the other way around
    "astype": "x.to(dtype)",
    "swapaxes": "x.transpose(-2, -1)",
    "copy": "x.clone()",
}
MISSING = re.compile(r"has no attribute '(\w+)'")
KEYWORD = re.compile(r"unexpected keyword argument '(\w+)'|got an unexpected keyword '(\w+)'")
KEYWORDS = {"dim": "axis", "keepdim": "keepdims"}


def made_of_lists(error: BaseException, line: FailingLine) -> str:
    """Explain a shape given as several arguments."""
    node = line.node
    if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute):
        return ""
    if node.func.attr not in ("zeros", "ones", "empty", "full") or len(node.args) < 2:
        return ""
    if "data type" not in str(error) and "must be" not in str(error):
        return ""
    lengths = ", ".join(map(ast.unparse, node.args))
    name = f"{ast.unparse(node.func)}"
    return (
        f"A shape is one argument, a tuple: `{name}(({lengths}))`, with two pairs of parentheses."
    )


def slices(error: BaseException, line: FailingLine) -> str:
    """Explain a slice whose end is an array."""
    if "converted to a scalar index" not in str(error):
        return ""
    for part in _parts(line.statement, deep=True):
        if isinstance(part, ast.Slice):
            for end in (part.lower, part.upper):
                shape = shape_of(line.value(end)) if end is not None else None
                if shape:
                    assert end is not None
                    return (
                        f"A slice has one number for each end, and {quoted(end)} has shape {shape}: "
                        "a loop takes them one by one, and a comparison such as "
                        f"np.arange(n) < {ast.unparse(end)}[:, None] all at once."
                    )
    return ""


def letters(error: BaseException, line: FailingLine) -> str:
    """Explain letters of einsum that do not fit the axes."""
    node = line.node
    call = getattr(getattr(node, "func", None), "attr", "")
    if not isinstance(node, ast.Call) or call != "einsum" or len(node.args) < 2:
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
            dotted = ",".join(f"...{one.strip()}" for one in terms)
            out = text.partition("->")[2].strip()
            more = f'"{dotted}->...{out}"' if out else f'"{dotted}"'
            return f"{met[-1]}: {more} takes any axes before them."
    return f"{' and '.join(met)}: one letter stands for one length."


def conditions(error: BaseException, line: FailingLine) -> str:
    """Explain an `if` that asks an array for one truth."""
    text = str(error)
    if "truth value of an array" not in text and "Boolean value of Tensor" not in text:
        return ""
    node = line.statement
    test = node.test if isinstance(node, (ast.If, ast.While)) else line.node
    if not isinstance(test, ast.Name):
        return ""
    shape = shape_of(line.value(test))
    if not shape:
        return ""
    return (
        f"`if {test.id}` asks for one truth, and `{test.id}` has shape {shape}: "
        f"`if {test.id} is not None` asks whether it is given."
    )


def best_with_places(error: BaseException, line: FailingLine) -> str:
    """Explain what torch's max and min return along an axis."""
    for part in _parts(line.node):
        value = line.value(part)
        kind = type(value)
        if kind.__module__ == "torch.return_types" and kind.__name__ in ("max", "min"):
            name = kind.__name__
            return (
                f"{quoted(part)}{made_in(line, part)} is a pair: along a dim, torch's {name} returns "
                f"values and indices. x.a{name}(dim=-1, keepdim=True) returns the values alone."
            )
    return ""


def masks_of_torch(error: BaseException, line: FailingLine) -> str:
    """Explain a mask of numbers given to masked_fill."""
    if "only supports boolean masks" not in str(error) or not isinstance(line.node, ast.Call):
        return ""
    mask = line.node.args[0] if line.node.args else None
    if mask is None:
        return ""
    return f"masked_fill takes a boolean mask, and {quoted(mask)} holds numbers: .bool() makes truths of them."


def foreign_words(error: BaseException, line: FailingLine) -> str:
    """Explain a word of torch said to an array, or of NumPy said to a tensor."""
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
            return f"`{word}` is a word of torch: in NumPy it is {OF_TORCH[word]}."
        if is_tensor(value) and word in OF_NUMPY:
            return f"`{word}` is a word of NumPy: in torch it is {OF_NUMPY[word]}."
        if value is np and getattr(owner, "attr", "") == word:
            return f"NumPy has no function `{word}`: is it one of yours, or of an earlier lesson?"
    viewed = "view() takes" in str(error) or ("view" in str(error) and "data type" in str(error))
    if viewed and isinstance(error, TypeError):
        return "`view` is a word of torch: in NumPy x.reshape(...) does what it does there."
    keyword = KEYWORD.search(str(error))
    word = next(filter(None, keyword.groups()), "") if keyword else ""
    if isinstance(error, TypeError) and word in KEYWORDS and isinstance(node, ast.Call):
        return f"`{word}` is a word of torch: NumPy's functions call it `{KEYWORDS[word]}`."
    return ""


def transposed(error: BaseException, line: FailingLine) -> str:
    """Explain torch's transpose of two axes, said to an array."""
    node = line.node
    if "axes don't match array" not in str(error) or not isinstance(node, ast.Call):
        return ""
    owner = node.func.value if isinstance(node.func, ast.Attribute) else None
    shape = shape_of(line.value(owner)) if owner is not None else None
    if shape is None or len(node.args) != 2 or len(shape) == 2:
        return ""
    assert owner is not None
    axes = ", ".join(map(ast.unparse, node.args))
    return (
        f"{quoted(owner)} has shape {shape}. NumPy's transpose takes all axes in their new order: "
        f"np.swapaxes({ast.unparse(owner)}, {axes}) exchanges two."
    )


def of_none(error: BaseException, line: FailingLine) -> str:
    """Explain a None that was used, and say where it comes from."""
    if "NoneType" not in str(error):
        return ""
    for node in _parts(line.node):
        if line.value(node) is None and not isinstance(node, ast.Constant):
            origin = line.origin(node.id) if isinstance(node, ast.Name) else None
            if isinstance(node, ast.Name) and node.id in line.arguments and origin is None:
                return (
                    f"{quoted(node)} is None here, as when it is not given: ask "
                    f"`{node.id} is not None` first."
                )
            made = made_in(line, node)
            return f"{quoted(node)}{made} is None: does the function called there return anything?"
    return ""


def of_pair(error: BaseException, line: FailingLine) -> str:
    """Explain a tuple or list that was used as an array."""
    if not isinstance(error, (TypeError, AttributeError, ValueError)):
        return ""
    if not re.search(r"tuple|list|inhomogeneous|sequence", str(error)):
        return ""
    for node in _parts(line.node):
        value = line.value(node)
        if type(value) not in (tuple, list) or isinstance(node, (ast.Tuple, ast.List)):
            continue
        made = made_in(line, node)
        kind = "pair" if type(value) is tuple and len(value) == 2 else type(value).__name__
        count = "" if kind == "pair" else f" of {len(value)}"
        if type(value) is list:
            numbers = value and shape_of(value[0]) == ()
            joined = (
                "np.array makes an array of it" if numbers else "np.stack makes one array of it"
            )
            return f"{quoted(node)}{made} is a list{count}, and lists know no arithmetic: {joined}."
        return (
            f"{quoted(node)}{made} is a {kind}{count}, not an array: take it apart first, as "
            f"{'output, weights' if kind == 'pair' else 'a, b, c'} = ... does, or take one part "
            "with [0]."
        )
    return ""


def of_fractions(error: BaseException, line: FailingLine) -> str:
    """Explain a length or an index that is a float, as / makes it."""
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
                f"{quoted(part)}{made} is a float, and a length or an index is an int: // divides "
                "and stays one, / never does."
            )
    return ""


def powers(error: BaseException, line: FailingLine) -> str:
    """Explain ^, which is not a power."""
    node = line.node
    if isinstance(node, (ast.BinOp, ast.AugAssign)) and isinstance(node.op, ast.BitXor):
        return "^ is the exclusive or of bits: a power is written **."
    return ""


def truths(error: BaseException, line: FailingLine) -> str:
    """Explain `not`, `-` and `and` of arrays of truths."""
    text = str(error)
    if "boolean negative" in text or "boolean subtract" in text:
        return "An array of True and False is turned round by ~: ~mask, or np.logical_not(mask)."
    return ""


def uncalled(error: BaseException, line: FailingLine) -> str:
    """Explain a function used as a value, or a value called as a function."""
    for node in _parts(line.node):
        value = line.value(node)
        if (
            isinstance(node, ast.Attribute)
            and isinstance(value, (types.BuiltinMethodType, types.MethodType, types.FunctionType))
            and not (isinstance(line.node, ast.Call) and line.node.func is node)
        ):
            return f"{quoted(node)} is the function itself: parentheses call it, {ast.unparse(node)}()."
    if "object is not callable" in str(error) and isinstance(line.node, ast.Call):
        value = line.value(line.node.func)
        name = ast.unparse(line.node.func)
        if value is not UNKNOWN and shape_of(value) is not None:
            owner = getattr(line.node.func, "value", None)
            if owner is not None and name.endswith(".size") and shape_of(line.value(owner)):
                of_one = "".join(
                    f"{ast.unparse(owner)}.shape[{ast.unparse(axis)}]"
                    for axis in line.node.args[:1]
                )
                return (
                    f"`{name}` is the number of all entries, not a function: in NumPy a length is "
                    f"`{of_one or ast.unparse(owner) + '.shape'}`."
                )
            what = "an array" if shape_of(value) else "a number"
            if isinstance(line.node.func, (ast.Name, ast.Attribute)):
                return (
                    f"`{name}` is {what}, and (...) calls a function: entries are taken with "
                    "[...], and a product needs *."
                )
    return ""


def unknown_names(error: BaseException, line: FailingLine) -> str:
    """Explain a name that nothing is bound to, and the argument that may be meant."""
    if isinstance(error, UnboundLocalError):
        name = getattr(error, "name", None) or _first_quoted(str(error))
        return (
            f"`{name}` gets a value in this function only after this line, or in a branch that was "
            "not taken: give it one before."
        )
    if not isinstance(error, NameError):
        return ""
    name = getattr(error, "name", None) or _first_quoted(str(error))
    near = [one for one in line.frame.f_locals if _alike(one, name)]
    known = [*line.frame.f_locals]
    if near:
        return f"`{name}` has no value: is `{near[0]}` meant?"
    unused = [one for one in line.arguments if one not in _loaded(line.function)]
    if len(unused) == 1:
        return f"`{name}` has no value here, and the argument `{unused[0]}` is never used: is it meant?"
    if name in ("math", "np", "torch"):
        return f"`{name}` is not imported: import it in a cell above."
    return f"`{name}` has no value here: the function knows {', '.join(known)}." if known else ""


def _loaded(function: ast.AST | None) -> set[str]:
    nodes = ast.walk(function) if function is not None else ()
    return {n.id for n in nodes if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Load)}


def _first_quoted(text: str) -> str:
    found = re.search(r"'(\w+)'", text)
    return found.group(1) if found else ""


def _alike(one: str, other: str) -> bool:
    """Tell whether two names differ by an s, a letter case or an underscore only."""
    plain = [name.lower().replace("_", "").rstrip("s") for name in (one, other)]
    return plain[0] == plain[1]


def dtypes_of_torch(error: BaseException, line: FailingLine) -> str:
    """Explain tensors of two dtypes in one product, and numbers too large for float16."""
    text = str(error)
    if "without overflow" in text:
        return (
            "The number is too large for float16, whose largest is 65504: float('-inf') fits every "
            "dtype, and forbids altogether."
        )
    if "same dtype" in text or "expected scalar type" in text:
        kinds = []
        for node in _parts(line.node):
            value = line.value(node)
            if is_tensor(value):
                kinds.append(f"{quoted(node)} is {str(value.dtype).removeprefix('torch.')}")
        if len(kinds) > 1:
            return f"{' and '.join(kinds)}: x.to(y.dtype) gives x the dtype of y."
    return ""


def _parts(node: ast.AST, deep: bool = False) -> list[ast.expr]:
    """List the operands of what failed, as they are written."""
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
    made_of_lists,
    slices,
    letters,
    conditions,
    best_with_places,
    masks_of_torch,
    foreign_words,
    powers,
    transposed,
    of_fractions,
    of_none,
    of_pair,
    uncalled,
    truths,
    unknown_names,
    dtypes_of_torch,
)
