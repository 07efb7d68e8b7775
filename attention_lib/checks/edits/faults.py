"""Name the fault that a small edit corrects, without giving the edit away."""

from __future__ import annotations

import ast
from typing import Any

from attention_lib.checks.edits.expressions import (
    REDUCTIONS,
    name_of_call,
    of_a_module,
    turned_product,
)
from attention_lib.checks.errors.types import KEYWORDS, OF_TORCH

KEPT = ("keepdims", "keepdim")
AXES = ("axis", "dim", "swapaxes", "moveaxis")  # keywords and functions that take axes
ALONG = ("swapaxes", "moveaxis", "take_along_axis", "concatenate", "cumsum", "argsort", "argmax")
TURNED = ({ast.Lt, ast.Gt}, {ast.LtE, ast.GtE}, {ast.Lt, ast.GtE}, {ast.LtE, ast.Gt})
SIGNS: dict[type[ast.AST], str] = {
    ast.Add: "+",
    ast.Sub: "-",
    ast.Mult: "*",
    ast.Div: "/",
    ast.MatMult: "@",
    ast.BitXor: "^",
    ast.Pow: "**",
    ast.FloorDiv: "//",
    ast.Mod: "%",
    ast.BitAnd: "&",
    ast.BitOr: "|",
}


def fault_of(old: ast.expr, new: ast.expr, parent: ast.AST, quoted: str, text: str) -> str:
    """Return what is wrong with an expression, from its replacement.

    `text` is the expression as the learner wrote it, `quoted` the code around it.
    """
    wrong, own = f"`{quoted}`", f"`{text}`"
    where = "" if wrong == own else f" in {wrong}"
    match old, new:
        case ast.Call(), ast.Call() if _same(_without_axes(old), _without_axes(new)):
            return _axis_fault(old, new, own)
        case ast.BinOp(left=left, right=right), _ if _is_one_of(new, (left, right)):
            surplus = right if _same(new, left) else left
            shown = ast.BinOp(ast.Name(""), old.op, surplus) if surplus is right else surplus
            return (
                f"`{ast.unparse(shown).strip()}` does not belong{where or ' there'}: leave it out"
            )
        case ast.BinOp(), ast.BinOp():
            return _operation_fault(old, new, own, wrong)
        case ast.BinOp(left=ast.Call(func=func)), ast.Call() if _same(func, new.func):
            outside = f"`{SIGNS[type(old.op)]} {ast.unparse(old.right)}`"
            return f"{outside} is outside `{ast.unparse(func)}(...)`{where}: it belongs inside"
        case ast.Compare(), ast.Compare():
            return _comparison_fault(old, new, own)
        case ast.UnaryOp(operand=operand), _ if _same(new, operand):
            if isinstance(old.op, ast.USub):
                return f"The minus in {own} does not belong{where or ' there'}: leave it out"
            return f"{own} asks the opposite{where}"
        case ast.Constant(), _ if getattr(parent, "arg", name_of_call(parent)) in AXES:
            # For a single row, 0 and -1 are the same axis.
            after = ast.unparse(new)
            if after.startswith("-") and own[1] != "-" and (own, after) != ("`0`", "-1"):
                return (
                    f"{own} counts the axis from the front{where}, where batch axes may come first"
                )
            return f"{own} is the wrong axis{where}"
        case ast.Constant(), ast.UnaryOp() if _reads_shape(parent):
            return f"{own} counts the axis from the front{where}, where batch axes may come first"
        case _, ast.UnaryOp(op=ast.USub(), operand=operand) if _same(old, operand):
            return f"{own} has the wrong sign{where}"
        case _, ast.UnaryOp(op=ast.Not(), operand=operand) if _same(old, operand):
            return f"The condition {own} asks the opposite"
        case ast.BoolOp(), ast.IfExp():
            return f"{own} replaces 0 as well as None: ask for None"
        case ast.IfExp(), ast.IfExp():
            return f"The two choices of {own} are swapped"
        case ast.Name(), ast.Name():
            return f"{own} is the wrong variable{where}"
        case ast.Call(), ast.Call():
            return _call_fault(old, new, own)
        case ast.Call(), _ if name_of_call(old) in ("len", "size") or _reads_shape(new):
            return f"{own} is not the length that is needed{where}"
        case ast.Call(), ast.BinOp(op=ast.Pow()) if name_of_call(old) == "sqrt":
            return f"{own} is a NumPy number of float64, and makes float32 arrays float64{where}"
        case ast.Attribute(attr="size"), ast.Subscript():
            return f"{own} counts all entries, and the length of one axis is needed"
        case ast.Attribute(attr="T"), _:
            return f"{own} reverses every axis, and only the last two should be exchanged"
        case _, ast.BinOp(op=ast.MatMult(), right=ast.Call() as turned) if turned_product(old):
            factor = turned.args[0] if of_a_module(turned) else turned.func.value  # type: ignore[attr-defined]
            name = ast.unparse(factor)
            return f"{own} exchanges the axes of the product: exchange those of `{name}` before it"
        case ast.Tuple(), ast.Tuple():
            return f"Not all of {own} have the dtype of the first argument"
        case ast.Call(), _ if _is_inside(new, old):
            name = ast.unparse(old.func) if of_a_module(old) else name_of_call(old)
            return f"`{name}` does not belong{where or f' to {own}'}: leave it out"
        case ast.Name(), ast.BinOp(op=ast.Sub(), left=left, right=right) if _same(old, left):
            return f"{own} lacks `- {ast.unparse(right)}`{where}"
        case ast.Subscript(), ast.Subscript(
            slice=ast.Tuple(elts=[ast.Constant(value=first), *_])
        ) if first is ... and "..." not in own:
            return f"{own} counts axes from the front, where batch axes may come first"
        case ast.Subscript(slice=ast.Tuple(elts=[*_, ast.Constant(None) | ast.Attribute()])), _:
            return f"{own} puts its new axis in the wrong place{where}"
        case ((ast.Subscript() | ast.Slice()), _):
            return f"{own} takes the wrong part{where}"
        case _ if _is_number(old):
            return _number_fault(new, parent, own, where)
    return f"{own} is wrong{where}"


def topic_of(old: Any, new: Any) -> str:
    """Return the topic of an edit if an error's explanation or another finding may say the same."""
    match old, new:
        case list(), list():
            changed = [pair for pair in zip(old, new, strict=False) if pair[0] is not pair[1]]
            is_kept = any(
                isinstance(before, ast.AugAssign)
                and isinstance(after, ast.Assign)
                and isinstance(after.value, ast.BinOp)
                for before, after in changed
            )
            return "changed" if is_kept and len(old) == len(new) else ""
        case ast.Call(), ast.Call() if _same(_without_axes(old), _without_axes(new)):
            if {word.arg for word in old.keywords} & KEYWORDS.keys():
                return "torch"
            if name_of_call(old) == "repeat" and _axis(old) is None:
                return "no axis"
            return "kept axis" if _axis(old) == _axis(new) and _keeps(new) else ""
        case ast.Attribute(attr="T"), _:
            return "T"
        case ((ast.Call() | ast.Attribute()), _) if name_of_call(old) in ("len", "size") or (
            getattr(old, "attr", "") == "size"
        ):
            return "length"
        case ast.Call(), ast.Call() if name_of_call(old) == name_of_call(new) == "einsum":
            return "letters"
        case ast.Call(), _ if name_of_call(old) in OF_TORCH and not of_a_module(old):
            return "torch"
    sets_dtype = any(word.arg == "dtype" for word in getattr(new, "keywords", ()))
    return "dtype" if sets_dtype else ""


def _axis_fault(old: ast.Call, new: ast.Call, own: str) -> str:
    """Name the fault of an axis: a wrong one, a missing one, or one that is not kept."""
    before, after = _axis(old), _axis(new)
    words, others = ({word.arg for word in call.keywords} & KEYWORDS.keys() for call in (old, new))
    if words > others:
        return f"`{min(map(str, words))}` is a word of torch in {own}"
    if before == after:
        if _keeps(new):
            return (
                f"{own} loses the axis that it reduces, so the result does not line up with the "
                "array that it came from: the axis has to be kept, with length 1"
            )
        return f"{own} keeps an axis that the result should not have"
    if name_of_call(old) == "squeeze":
        return f"{own} removes every axis of length 1, and only one should go"
    if before is None:
        return f"{own} names no axis, so it does not go along the one that is needed"
    if after and not after.lstrip("-").isdigit():
        kind = "a fixed" if before.lstrip("-").isdigit() else "another"
        return f"{own} goes along {kind} axis: the argument `{after}` names the right one"
    return f"{own} goes along the wrong axis"


def _axis(call: ast.Call) -> str | None:
    place = 1 if of_a_module(call) else 0
    given = next((word.value for word in call.keywords if word.arg in AXES), None)
    if given is None and name_of_call(call) in REDUCTIONS and len(call.args) > place:
        given = call.args[place]
    return ast.unparse(given) if given is not None else None


def _keeps(call: ast.Call) -> bool:
    return any(word.arg in KEPT and getattr(word.value, "value", True) for word in call.keywords)


def _without_axes(call: ast.Call) -> ast.Call:
    """Copy a call without its axis and keepdims arguments."""
    place = 1 if of_a_module(call) else 0
    args = call.args
    if name_of_call(call) in REDUCTIONS:
        args = args[:place] + args[place + 1 :]
    return ast.Call(call.func, args, [w for w in call.keywords if w.arg not in AXES + KEPT])


def _operation_fault(old: ast.BinOp, new: ast.BinOp, own: str, wrong: str) -> str:
    """Name the fault of an operation: its operands, its operator or its parentheses."""
    same_sign = type(old.op) is type(new.op)
    if same_sign and _same(old.left, new.right) and _same(old.right, new.left):
        return f"The operands in {own} are swapped"
    if _same(old.left, new.left) and _same(old.right, new.right):
        return f"`{SIGNS.get(type(old.op), '')}` is the wrong operation in {wrong}"
    for mine, other in ((old.left, new.left), (old.right, new.right)):
        if not _same(mine, other):
            operand = f"`{ast.unparse(mine)}`"
            break
    match other:
        case ast.Call() if same_sign and _is_inside(mine, other):
            return f"{operand} has its axes in the wrong order for the product {wrong}"
    return f"{wrong} does its operations in the wrong order: look at the parentheses"


def _comparison_fault(old: ast.Compare, new: ast.Compare, own: str) -> str:
    before, after = type(old.ops[0]), type(new.ops[0])
    if {before, after} in TURNED:
        return f"The comparison {own} points the wrong way"
    if (before, after) in ((ast.Lt, ast.LtE), (ast.Gt, ast.GtE)):
        return f"The comparison {own} leaves out equality"
    if (before, after) in ((ast.LtE, ast.Lt), (ast.GtE, ast.Gt)):
        return f"The comparison {own} is true of equal numbers as well"
    if after is ast.NotEq:
        return f"The comparison {own} leaves out the numbers on the other side"
    return f"The comparison {own} asks the opposite"


def _call_fault(old: ast.Call, new: ast.Call, own: str) -> str:
    name = name_of_call(old)
    if _same(old.func, new.func):
        if name == "where":
            return f"The two choices of {own} are swapped"
        before, after = list(map(ast.dump, old.args)), list(map(ast.dump, new.args))
        if before != after and sorted(before) == sorted(after):
            return f"The arguments of {own} are in the wrong order"
        if len(new.args) + len(new.keywords) > len(old.args) + len(old.keywords):
            return f"{own} leaves out an argument"
        if name == "range":
            return f"{own} begins or ends at the wrong number"
        if name == "einsum":
            return f"The letters in {own} name every axis: `...` stands for those before them"
        if any(word.arg == "dtype" for word in (*old.keywords, *new.keywords)) or name == "astype":
            return f"{own} makes an array of the wrong dtype"
        changed = [
            one for one, other in zip(old.args, new.args, strict=False) if not _same(one, other)
        ]
        return f"`{ast.unparse(changed[0])}` is wrong in {own}" if changed else f"{own} is wrong"
    if name in OF_TORCH and of_a_module(new) and not of_a_module(old):
        return f"`{name}` is a word of torch in {own}"
    if name == "reshape":
        return f"{own} transposes nothing: it only lays the same numbers out in another shape"
    if name_of_call(new) in ("swapaxes", "transpose") or name in ("reshape", "view"):
        return f"{own} brings the axes into the wrong order"
    if name == "mean" and name_of_call(new) == "sum":
        return f"`{ast.unparse(old.func)}` divides the sum by its number of terms in {own}"
    return f"`{ast.unparse(old.func)}` is the wrong function in {own}"


def _number_fault(new: ast.expr, parent: ast.AST, own: str, where: str) -> str:
    if ast.unparse(new) == "np.e":
        return f"{own} has only a few digits of e{where}: np.exp has them all"
    if isinstance(parent, ast.Slice):
        return f"The bound {own} is wrong{where}"
    if getattr(parent, "arg", "") in AXES or name_of_call(parent) in ALONG:
        return f"{own} is the wrong axis{where}"
    if _reads_shape(parent):
        return f"`{ast.unparse(parent)}` is the length of another axis than the one meant{where}"
    return f"{own} is the wrong value{where}"


def _is_number(node: ast.expr) -> bool:
    try:
        ast.literal_eval(node)
    except (ValueError, TypeError, SyntaxError):
        return False
    return True


def _reads_shape(node: ast.AST) -> bool:
    return isinstance(node, ast.Subscript) and getattr(node.value, "attr", "") == "shape"


def _same(one: Any, other: Any) -> bool:
    return ast.dump(one) == ast.dump(other)


def _is_one_of(node: ast.expr, others: tuple[ast.expr, ...]) -> bool:
    return any(_same(node, other) for other in others)


def _is_inside(node: ast.expr, other: ast.expr) -> bool:
    return any(_same(node, part) for part in ast.walk(other))
