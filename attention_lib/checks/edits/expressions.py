"""List small edits of an expression: each function makes one kind, for one kind of mistake.

It yields pairs of a rank and the new expression. The lower the rank, the likelier the mistake.
"""

from __future__ import annotations

import ast
import copy
import math
from collections.abc import Callable, Iterator
from typing import Any

from attention_lib.checks.edits.cell import Scope
from attention_lib.checks.errors.types import nearest_name

Changes = Iterator[tuple[int, ast.expr]]

REDUCTIONS = {
    *("sum", "max", "min", "mean", "amax", "amin", "prod", "all", "any", "std", "var", "nansum"),
    *("softmax", "logsumexp", "log_softmax", "stable_softmax", "masked_softmax", "entropy"),
}
ALONG_AN_AXIS = {"cumsum", "argmax", "argmin", "concatenate", "stack", "cat", "repeat", "roll"}
SIBLINGS = (  # functions that are confused with one another
    ("mean", "sum"),
    ("max", "sum"),
    ("max", "min"),
    ("max", "argmax"),
    ("maximum", "minimum"),
    ("cos", "sin"),
    ("repeat", "tile"),
    ("triu", "tril"),
    ("log", "log2"),
    ("log", "exp"),
    ("exp", "exp2"),
    ("argmax", "argmin"),
    ("floor", "ceil"),
    ("logical_or", "logical_and"),
    ("median", "mean"),
    ("zeros_like", "ones_like"),
    ("zeros", "ones"),
    ("eye", "ones"),
    ("cross_entropy", "cross_entropy_grad"),
)
KIN: dict[str, list[str]] = {}
for _one, _other in SIBLINGS:
    KIN.setdefault(_one, []).append(_other)
    KIN.setdefault(_other, []).append(_one)
COMPARISONS: dict[type[ast.cmpop], tuple[type[ast.cmpop], ...]] = {
    ast.Lt: (ast.LtE, ast.Gt, ast.GtE, ast.NotEq),
    ast.LtE: (ast.Lt, ast.GtE, ast.Gt),
    ast.Gt: (ast.GtE, ast.Lt, ast.LtE, ast.NotEq),
    ast.GtE: (ast.Gt, ast.LtE, ast.Lt),
    ast.Eq: (ast.NotEq,),
    ast.NotEq: (ast.Eq,),
    ast.Is: (ast.IsNot,),
    ast.IsNot: (ast.Is,),
}
TURNED = ((ast.Lt, ast.Gt), (ast.Gt, ast.Lt), (ast.LtE, ast.GtE), (ast.GtE, ast.LtE))
OPERATIONS: dict[type[ast.operator], tuple[type[ast.operator], ...]] = {
    ast.Add: (ast.Sub, ast.Mult),
    ast.Sub: (ast.Add,),
    ast.Mult: (ast.Div, ast.MatMult, ast.Add),
    ast.Div: (ast.Mult, ast.FloorDiv),
    ast.MatMult: (ast.Mult,),
    ast.BitXor: (ast.Pow,),
    ast.FloorDiv: (ast.Div,),
    ast.Mod: (ast.FloorDiv,),
    ast.BitAnd: (ast.BitOr,),
    ast.BitOr: (ast.BitAnd,),
}


def changes(node: ast.expr, parent: ast.AST, field: str, scope: Scope) -> Changes:
    """Yield the small edits of one expression."""
    if isinstance(getattr(node, "ctx", None), (ast.Store, ast.Del)):
        return
    for change in KINDS:
        yield from change(node, parent, field, scope)


def made(template: str, **parts: ast.expr) -> ast.expr:
    """Parse a template, and replace its names by the given expressions."""
    filled: Any = _Filled(parts).visit(ast.parse(template, mode="eval").body)
    return filled


class _Filled(ast.NodeTransformer):
    def __init__(self, parts: dict[str, ast.expr]) -> None:
        self._parts = parts

    def visit_Name(self, name: ast.Name) -> ast.expr:
        return self._parts.get(name.id, name)


def _with_axes_swapped(node: ast.expr, scope: Scope) -> ast.expr:
    """Exchange the last two axes, with NumPy or torch."""
    return made("X.transpose(-1, -2)" if scope.is_torch else "np.swapaxes(X, -1, -2)", X=node)


def _one_more(node: ast.expr) -> ast.expr:
    """Add 1, or drop a subtracted 1."""
    match node:
        case ast.BinOp(left=left, op=ast.Sub(), right=ast.Constant(value=1)):
            return copy.deepcopy(left)
    return made("X + 1", X=node)


def name_of_call(node: ast.AST) -> str:
    """Return the last part of a called name: ``sum`` for ``np.sum(x)`` and ``x.sum()``."""
    if not isinstance(node, ast.Call):
        return ""
    return str(getattr(node.func, "attr", None) or getattr(node.func, "id", ""))


def of_a_module(node: ast.Call) -> bool:
    """Tell whether a call is like ``np.sum(x)`` or ``softmax(x)``, and not ``x.sum()``."""
    owner = getattr(node.func, "value", None)
    return owner is None or (isinstance(owner, ast.Name) and owner.id in MODULES)


MODULES = ("np", "numpy", "torch", "math", "F", "lib", "al", "attention_lib", "tl")


def axes(node: ast.expr, parent: ast.AST, field: str, scope: Scope) -> Changes:
    """Reduce along another axis, with or without keepdims."""
    name = name_of_call(node)
    if not isinstance(node, ast.Call) or name not in REDUCTIONS | ALONG_AN_AXIS:
        return
    place = 1 if of_a_module(node) else 0
    positional = len(node.args) > place and name in REDUCTIONS
    current = {word.arg: word.value for word in node.keywords}
    axis = current.get(scope.axis, node.args[place] if positional else None)
    args = node.args[:place] + node.args[place + 1 :] if positional else node.args
    others = [w for w in node.keywords if w.arg not in (scope.axis, scope.keepdims)]
    kept = current.get(scope.keepdims)
    given = ["axis"] if "axis" in scope.arguments else []
    given += ["dim"] if "dim" in scope.arguments else []
    before = ast.unparse(axis) if axis is not None else None
    keeps = isinstance(kept, ast.Constant) and bool(kept.value)
    for number, text in enumerate([*given, "-1", "-2", "0", "1", "-3"]):
        for keep in (keeps, not keeps) if name in REDUCTIONS else (keeps,):
            if text == before and keep == keeps:
                continue
            words = [*others, ast.keyword(scope.axis, made(text))]
            if keep:
                words.append(ast.keyword(scope.keepdims, ast.Constant(True)))
            rank = 1 + (text != before) + number // 2 + (keep != keeps and text != before)
            yield rank, ast.Call(node.func, args, words)


def numbers(node: ast.expr, parent: ast.AST, field: str, scope: Scope) -> Changes:
    """Change a number: by one, or its sign; negate a boolean."""
    if isinstance(parent, ast.UnaryOp) and isinstance(parent.op, ast.USub):
        return
    if isinstance(node, ast.JoinedStr) or isinstance(parent, (ast.JoinedStr, ast.FormattedValue)):
        return
    try:
        value = ast.literal_eval(node)
    except (ValueError, TypeError, SyntaxError):
        return
    if isinstance(value, bool):
        yield 3, ast.Constant(not value)
    elif isinstance(value, int):
        near = [value - 1, value + 1, -value, -1, -2, -3, 0, 1]
        is_power = isinstance(parent, ast.BinOp) and isinstance(parent.op, ast.Pow)
        for place, other in enumerate(dict.fromkeys(near)):
            if is_power and other < -1:  # such a small term may vanish, and be right by chance
                continue
            if other != value:
                yield 3 + place // 3, made(repr(other))
    elif isinstance(value, float):
        if abs(value / math.e - 1) < 1e-3:
            yield 1, made("np.e")
        for fraction in (-value, 2 * value, value / 2, value - 1, value + 1, 0.0):
            if fraction != value:
                yield 5, made(repr(fraction))


def shapes(node: ast.expr, parent: ast.AST, field: str, scope: Scope) -> Changes:
    """Read a length from a shape instead of `len` or `size`."""
    if isinstance(node, ast.Call) and name_of_call(node) == "len" and len(node.args) == 1:
        for axis in ("-1", "-2"):
            yield 2, made(f"X.shape[{axis}]", X=node.args[0])
    if isinstance(node, ast.Attribute) and node.attr == "size" and not scope.is_torch:
        for axis in ("-1", "-2"):
            yield 2, made(f"X.shape[{axis}]", X=node.value)


def operators(node: ast.expr, parent: ast.AST, field: str, scope: Scope) -> Changes:
    """Exchange operands, change the operator, or move parentheses."""
    if not isinstance(node, ast.BinOp):
        return
    left, right = node.left, node.right
    if isinstance(node.op, (ast.Sub, ast.Div, ast.MatMult, ast.Pow, ast.FloorDiv)):
        # Inverting a quotient in a logarithm only changes the sign, which is tried first.
        turns_a_sign = scope.takes_logarithms and isinstance(node.op, ast.Div)
        if not (isinstance(node.op, ast.Sub) and "log(" in ast.unparse(right)):  # one as written
            yield 5 if turns_a_sign else 3, ast.BinOp(right, node.op, left)
    for operation in OPERATIONS.get(type(node.op), ()):
        yield 4, ast.BinOp(left, operation(), right)
    if isinstance(left, ast.Call) and of_a_module(left) and left.args:  # f(a) o b
        inner = ast.BinOp(left.args[0], node.op, right)
        yield 4, ast.Call(left.func, [inner, *left.args[1:]], left.keywords)
    if isinstance(left, ast.BinOp):  # (a o b) p c
        yield 3, ast.BinOp(left.left, left.op, ast.BinOp(left.right, node.op, right))
    if isinstance(right, ast.BinOp):  # a o (b p c)
        yield 3, ast.BinOp(ast.BinOp(left, node.op, right.left), right.op, right.right)
    if isinstance(node.op, ast.MatMult):
        yield 2, ast.BinOp(left, node.op, _with_axes_swapped(right, scope))
        yield 3, ast.BinOp(_with_axes_swapped(left, scope), node.op, right)
    if isinstance(node.op, (ast.Mult, ast.Div, ast.Add, ast.Sub, ast.MatMult)):
        yield 6, left  # only one of the operands
        yield 6, right


def comparisons(node: ast.expr, parent: ast.AST, field: str, scope: Scope) -> Changes:
    """Reverse a comparison, or add or remove equality."""
    if isinstance(node, ast.Compare) and len(node.ops) == 1:
        for operation in COMPARISONS.get(type(node.ops[0]), ()):
            is_turned = (type(node.ops[0]), operation) in TURNED
            rank = 2 if is_turned and isinstance(parent, ast.If) else 3
            yield rank, ast.Compare(node.left, [operation()], node.comparators)


def conditions(node: ast.expr, parent: ast.AST, field: str, scope: Scope) -> Changes:
    """Negate a condition, exchange two choices, or compare with None."""
    if isinstance(node, ast.IfExp):
        yield 3, ast.IfExp(node.test, node.orelse, node.body)
    if isinstance(node, ast.BoolOp) and isinstance(node.op, ast.Or) and len(node.values) == 2:
        yield 3, made("B if A is None else A", A=node.values[0], B=node.values[1])
    if field == "test" and isinstance(parent, (ast.If, ast.IfExp)):
        yield 5, made("not X", X=node)
    if isinstance(node, ast.UnaryOp):
        yield 4, node.operand
    if isinstance(node, ast.Call) and name_of_call(node) == "where" and len(node.args) == 3:
        yield 2, ast.Call(node.func, [node.args[0], node.args[2], node.args[1]], node.keywords)


def functions(node: ast.expr, parent: ast.AST, field: str, scope: Scope) -> Changes:
    """Call another function of the same kind or none, or change its arguments."""
    if not isinstance(node, ast.Call):
        return
    name = name_of_call(node)
    for other in KIN.get(name, ()):
        func = (
            ast.Attribute(node.func.value, other, ast.Load())
            if isinstance(node.func, ast.Attribute)
            else ast.Name(other, ast.Load())
        )
        yield 4, ast.Call(func, node.args, node.keywords)
    if name == "where":
        yield from ((4, choice) for choice in node.args[1:])
    elif of_a_module(node) and node.args:
        yield 6, node.args[0]
    elif isinstance(node.func, ast.Attribute) and name not in ("append", "copy"):
        yield 6, node.func.value
    if name in ("sqrt",) and len(node.args) == 1:
        yield 2, made("X ** 0.5", X=node.args[0])
    if name == "range":
        last = node.args[-1]
        for end in (_one_more(last), made("X - 1", X=last)):
            yield 3, ast.Call(node.func, [*node.args[:-1], end], [])
    if len(node.args) >= 2 and name not in ("where", "range"):
        for place in range(min(len(node.args), 6) - 1):
            args = list(node.args)
            args[place], args[place + 1] = args[place + 1], args[place]
            yield 4, ast.Call(node.func, args, node.keywords)


def foreign_words(node: ast.expr, parent: ast.AST, field: str, scope: Scope) -> Changes:
    """Replace torch's functions and keywords by NumPy's; correct calls of squeeze and einsum."""
    if not isinstance(node, ast.Call):
        return
    name = name_of_call(node)
    given = {word.arg for word in node.keywords}
    if not scope.is_torch and given & {"dim", "keepdim"}:
        words = {"dim": "axis", "keepdim": "keepdims"}
        renamed = [ast.keyword(words.get(w.arg or "", w.arg), w.value) for w in node.keywords]
        yield 1, ast.Call(node.func, node.args, renamed)
    owner = node.func.value if isinstance(node.func, ast.Attribute) else None
    if owner is None:
        return
    if name in ("exp", "log", "sqrt", "tanh", "abs") and not node.args and not scope.is_torch:
        yield 1, made(f"np.{name}(X)", X=owner)
    if name == "masked_fill" and len(node.args) == 2 and not scope.is_torch:
        yield 1, made("np.where(M, B, X)", M=node.args[0], B=node.args[1], X=owner)
    if name == "view" and not scope.is_torch:
        yield 1, ast.Call(ast.Attribute(owner, "reshape", ast.Load()), node.args, [])
    if name == "transpose" and len(node.args) == 2 and not scope.is_torch:
        yield 1, made("np.swapaxes(X, A, B)", X=owner, A=node.args[0], B=node.args[1])
    if name == "repeat_interleave" and not scope.is_torch:
        along = [ast.keyword("axis", w.value) for w in node.keywords if w.arg == "dim"]
        yield 1, ast.Call(made("np.repeat"), [owner, *node.args], along)
    if name == "size" and not scope.is_torch:
        axis = node.args[:1] or [word.value for word in node.keywords[:1]]
        parts = dict(zip("XA", [owner, *axis], strict=False))
        yield 1, made("X.shape[A]" if axis else "X.shape", **parts)
    if name == "squeeze" and len(node.args) == of_a_module(node) and not node.keywords:
        axis_name = "axis" if "axis" in scope.arguments else "-1"
        yield 1, ast.Call(node.func, node.args, [ast.keyword(scope.axis, made(axis_name))])
    letters = node.args[0] if name == "einsum" and node.args else None
    if (
        isinstance(letters, ast.Constant)
        and isinstance(letters.value, str)
        and "->" in letters.value
    ):
        left, _, right = letters.value.replace(" ", "").partition("->")
        plain = [term.removeprefix("...") for term in left.split(",")]
        terms = ",".join(f"...{term}" for term in plain)
        dotted = ast.Constant(f"{terms}->...{right.removeprefix('...')}")
        yield 1, ast.Call(node.func, [dotted, *node.args[1:]], node.keywords)


def transposes(node: ast.expr, parent: ast.AST, field: str, scope: Scope) -> Changes:
    """Exchange the last two axes instead of `.T`, `transpose()` or `reshape`, or before a product."""
    if isinstance(node, ast.Attribute) and node.attr == "T":
        yield 1, _with_axes_swapped(node.value, scope)
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
        rank = {"transpose": 1, "reshape": 3}.get(node.func.attr)
        if rank and not (scope.is_torch and rank == 1):
            array = node.args[0] if of_a_module(node) else node.func.value
            yield rank, _with_axes_swapped(array, scope)
    if product := turned_product(node):
        yield 2, ast.BinOp(product.left, product.op, _with_axes_swapped(product.right, scope))


def turned_product(node: ast.expr) -> ast.BinOp | None:
    """Return the product whose axes an expression exchanges, such as ``(a @ b).mT``, or None."""
    inner: ast.AST | None = None
    if isinstance(node, ast.Attribute) and node.attr in ("T", "mT"):
        inner = node.value
    elif isinstance(node, ast.Call) and name_of_call(node) in ("swapaxes", "transpose"):
        inner = node.args[0] if of_a_module(node) else getattr(node.func, "value", None)
    return inner if isinstance(inner, ast.BinOp) and isinstance(inner.op, ast.MatMult) else None


def subscripts(node: ast.expr, parent: ast.AST, field: str, scope: Scope) -> Changes:
    """Index the last axes with `...`, exchange two indices, or shift an index by one."""
    if isinstance(node, ast.Subscript):
        index = node.slice
        parts = list(index.elts) if isinstance(index, ast.Tuple) else [index]
        dots = ast.Constant(...)
        if not (isinstance(parts[0], ast.Constant) and parts[0].value is Ellipsis):
            whole = [p for p in parts if ast.unparse(p) != ":"]
            yield 4, _subscript(node.value, [dots, *parts])
            if len(whole) < len(parts):
                yield 4, _subscript(node.value, [dots, *whole])
        if len(parts) == 2:
            yield 4, _subscript(node.value, parts[::-1])
        yield 6, node.value
    if isinstance(parent, ast.Slice):
        yield 4, _one_more(node)
        yield 4, made("X - 1", X=node)


def _subscript(value: ast.expr, parts: list[ast.expr]) -> ast.expr:
    index = ast.Tuple(parts, ast.Load()) if len(parts) > 1 else parts[0]
    return ast.Subscript(value, index, ast.Load())


def dtypes(node: ast.expr, parent: ast.AST, field: str, scope: Scope) -> Changes:
    """Change a dtype to that of an argument, or to float."""
    first = scope.arguments[0] if scope.arguments else ""
    if not first or scope.is_torch:
        return
    name = name_of_call(node)
    if isinstance(node, ast.Call):
        others = [word for word in node.keywords if word.arg != "dtype"]
        if len(others) < len(node.keywords):
            yield 3, ast.Call(node.func, node.args, others)
        if name in MAKERS:
            kinds = ["float"] if name.endswith("_like") else []
            for kind in [*kinds, f"{first}.dtype", f"np.result_type({first}, np.float32)"]:
                words = [*others, ast.keyword("dtype", made(kind))]
                yield 4, ast.Call(node.func, node.args, words)
    if isinstance(parent, ast.Return) and isinstance(node, ast.Tuple):
        done = [ast.unparse(x) == first or name_of_call(x) == "astype" for x in node.elts]
        each = [made(f"X.astype({first}.dtype)", X=x) for x in node.elts]
        kept = zip(node.elts, each, done, strict=True)
        yield 4, ast.Tuple([x if is_done else new for x, new, is_done in kept], ast.Load())


MAKERS = {
    *("zeros", "ones", "empty", "full", "eye", "identity", "arange", "array", "asarray"),
    *("zeros_like", "ones_like", "empty_like", "full_like"),
}


def signs(node: ast.expr, parent: ast.AST, field: str, scope: Scope) -> Changes:
    """Negate an expression."""
    plain = isinstance(node, (ast.Name, ast.Call, ast.BinOp))
    if name_of_call(parent) in ("reshape", "view"):  # a negative length lets NumPy choose it
        return
    if plain and isinstance(parent, (ast.Return, ast.Call)) and field != "func":
        of_a_logarithm = scope.takes_logarithms and isinstance(parent, ast.Return)
        yield 3 if of_a_logarithm else 6, ast.UnaryOp(ast.USub(), node)


def arguments(node: ast.expr, parent: ast.AST, field: str, scope: Scope) -> Changes:
    """Use an argument that is never read."""
    if isinstance(node, ast.Call) and not isinstance(node.func, ast.Subscript):
        for name in scope.unused:
            loaded = ast.Name(name, ast.Load())
            yield 2, ast.Call(node.func, [*node.args, loaded], node.keywords)


def names(node: ast.expr, parent: ast.AST, field: str, scope: Scope) -> Changes:
    """Read another variable of the function, or a length instead of a notebook's variable."""
    if not isinstance(node, ast.Name) or field == "func" or node.id in MODULES:
        return
    if node.id in scope.free:  # a size, perhaps, from the notebook
        for argument in scope.arguments:
            for axis in ("-1", "-2"):
                yield 2, made(f"X.shape[{axis}]", X=ast.Name(argument, ast.Load()))
    for difference in scope.differences:
        left = getattr(difference, "left", None)  # None for a -= b
        if isinstance(left, ast.Name) and left.id == node.id and parent is not difference:
            yield 4, copy.deepcopy(difference)
    above = [name for name, line in scope.variables.items() if line < node.lineno]
    if node.id in scope.free and (near := nearest_name(node.id, [*scope.arguments, *above])):
        yield 1, ast.Name(near, ast.Load())
    if name_of_call(parent) == "repeat" and parent.args[1:2] == [node]:  # type: ignore[attr-defined]
        for other in above:
            yield 3, made(f"{other} // X", X=node)
    for rank, others in ((5, scope.arguments), (6, above)):
        for other in others:
            if other != node.id and other not in ("axis", "keepdims"):
                yield rank, ast.Name(other, ast.Load())


KINDS: tuple[Callable[[ast.expr, ast.AST, str, Scope], Changes], ...] = (
    axes,
    foreign_words,
    transposes,
    numbers,
    shapes,
    operators,
    comparisons,
    conditions,
    functions,
    subscripts,
    dtypes,
    signs,
    arguments,
    names,
)
