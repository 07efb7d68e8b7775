"""Explain errors of shapes in the learner's own names: the operands, and how to correct the line.

Each function explains one kind of error, and returns an empty string for all others. A correction
is named only if the shapes then fit, and no other correction of its kind makes them fit.
"""

from __future__ import annotations

import ast
import itertools
import re
from typing import Any

import numpy as np

from attention_lib.checks.errors.line import (
    UNKNOWN,
    FailingLine,
    described_operand,
    quoted,
    shape_of,
)

ELEMENTWISE = "where|maximum|minimum|multiply|add|subtract|divide|power|logaddexp"
REDUCTIONS = ("sum", "max", "min", "mean", "amax", "amin", "prod", "logsumexp", "any", "all")


Explanation = str | tuple[str, str]  # with its topic, if a fault of an edit may say the same


def product(error: BaseException, line: FailingLine) -> Explanation:
    """Explain a matrix product whose operands do not fit."""
    operands = _factors(line.node)
    if operands is None:
        return ""
    left, right = operands
    shapes = shape_of(line.value(left)), shape_of(line.value(right))
    if None in shapes:
        return ""
    one: tuple[int, ...] = shapes[0] or ()
    other: tuple[int, ...] = shapes[1] or ()
    met = f"{described_operand(line, left)}, and {described_operand(line, right)}"
    if not one or not other:
        return f"{met}. @ multiplies arrays: for a number write *."
    inner = one[-1], other[-2] if len(other) > 1 else other[-1]
    if _multiplies(one, other):
        return ""  # the error is about something else
    if inner[0] == inner[1]:
        turned = _note_on_t(line, left, right)
        return f"{met}. The axes before the last two must be equal, or 1.{turned}", turned and "T"
    which = "the second-to-last" if len(other) > 1 else "the only one"
    rule = (
        f"A product sums over the last axis of {quoted(left)} ({inner[0]}) and {which} of "
        f"{quoted(right)} ({inner[1]}): these must be equal."
    )
    turned = _note_on_t(line, left, right)
    fix = (
        turned or _split_too_early(line, right, *inner) or _fix_of_product(left, right, one, other)
    )
    if getattr(getattr(line.node, "func", None), "attr", "") == "dot" and len(other) > 2:
        fix += " And np.dot pairs every matrix of one with every one of the other: write @."
    return f"{met}. {rule}{fix}", turned and "T"


def _split_too_early(line: FailingLine, right: ast.expr, one: int, other: int) -> str:
    """Return a note if a learned matrix of full width is multiplied by a single head."""
    if not isinstance(right, ast.Name) or not re.fullmatch(r"[wW](_?\w)?", right.id):
        return ""
    for name in ("num_heads", "n_heads", "heads", "h", "H"):
        heads = line.frame.f_locals.get(name)
        if type(heads) is int and heads > 1 and one * heads == other:
            return (
                f" {other} is {name} times {one}: this matrix belongs to the full width, so multiply "
                "by it before the split into heads, or once the heads stand side by side again "
                "(np.concatenate along the last axis)."
            )
    return ""


def _factors(node: ast.AST) -> tuple[ast.expr, ast.expr] | None:
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.MatMult):
        return node.left, node.right
    name = getattr(getattr(node, "func", None), "attr", "")
    if not isinstance(node, ast.Call) or name not in ("matmul", "dot", "mm", "bmm", "inner"):
        return None
    if len(node.args) == 2:
        return node.args[0], node.args[1]
    return None


def _note_on_t(line: FailingLine, *operands: ast.expr) -> str:
    for operand in operands:
        for node in ast.walk(operand):
            if isinstance(node, ast.Attribute) and node.attr == "T":
                shape = shape_of(line.value(node.value))
                if shape is not None and len(shape) > 2:
                    return (
                        f" .T reverses all {len(shape)} axes of {quoted(node.value)}, not only the last "
                        "two."
                    )
    return ""


def _fix_of_product(
    left: ast.expr, right: ast.expr, one: tuple[int, ...], other: tuple[int, ...]
) -> str:
    """Name the other order or a transpose, if only one of them makes the shapes fit."""
    fixes = []
    if _multiplies(other, one):
        fixes.append("the other way around")
    if len(other) > 1 and _multiplies(one, _transposed(other)):
        fixes.append(f"with the last two axes of {quoted(right)} exchanged")
    if len(one) > 1 and _multiplies(_transposed(one), other):
        fixes.append(f"with the last two axes of {quoted(left)} exchanged")
    return f" The shapes fit {fixes[0]}." if len(fixes) == 1 else ""


def _transposed(shape: tuple[int, ...]) -> tuple[int, ...]:
    return (*shape[:-2], shape[-1], shape[-2])


def _multiplies(one: tuple[int, ...], other: tuple[int, ...]) -> bool:
    if one[-1] != other[-2 if len(other) > 1 else -1]:
        return False
    return _broadcast_to(one[:-2], other[:-2]) is not None


def broadcast(error: BaseException, line: FailingLine) -> Explanation:
    """Explain an operation on arrays that cannot be broadcast together."""
    operands = _operands(line.node)
    if len(operands) < 2:
        return ""
    shapes = [shape_of(line.value(operand)) for operand in operands]
    if any(shape is None for shape in shapes):
        return ""
    known = [shape or () for shape in shapes]
    for number, one in enumerate(known):
        for place in range(number + 1, len(known)):
            if _broadcast_to(one, known[place]) is None:
                pair = operands[number], operands[place]
                met = " and ".join(described_operand(line, operand) for operand in pair)
                axis = _first_that_differs(one, known[place])
                rule = (
                    f"Shapes are compared from the last axis on, and {axis} differ: neither is 1."
                )
                turned = _note_on_t(line, *pair)
                fix = turned or _fix_of_broadcast(line, pair, (one, known[place]))
                return f"{met}. {rule}{fix}", "T" if turned else fix and "kept axis"
    return ""


def _operands(node: ast.AST) -> list[ast.expr]:
    if isinstance(node, ast.BinOp):
        return [node.left, node.right]
    if isinstance(node, ast.AugAssign):
        return [node.target, node.value]
    if isinstance(node, ast.Compare):
        return [node.left, *node.comparators]
    name = getattr(getattr(node, "func", None), "attr", "")
    if isinstance(node, ast.Call) and re.fullmatch(ELEMENTWISE, name):
        return list(node.args)
    if isinstance(node, ast.Call) and name == "masked_fill":
        return [node.func.value, node.args[0]]  # type: ignore[attr-defined]
    return []


def _first_that_differs(one: tuple[int, ...], other: tuple[int, ...]) -> str:
    pairs = enumerate(zip(one[::-1], other[::-1], strict=False), 1)
    place, (a, b) = next(each for each in pairs if len({1, *each[1]}) == 3)
    named = {1: "the last", 2: "the second-to-last"}
    return f"{a} and {b}, {named.get(place, f'number {place} from the end')},"


def _broadcast_to(one: tuple[int, ...], other: tuple[int, ...]) -> tuple[int, ...] | None:
    try:
        return np.broadcast_shapes(one, other)
    except ValueError:
        return None


def _fix_of_broadcast(
    line: FailingLine,
    pair: tuple[ast.expr, ast.expr],
    shapes: tuple[tuple[int, ...], tuple[int, ...]],
) -> str:
    """Return a note on where an operand lacks an axis, if only one place fits."""
    big, small = (0, 1) if len(shapes[0]) >= len(shapes[1]) else (1, 0)
    target, shape, operand = shapes[big], shapes[small], pair[small]
    if len(target) == len(shape):
        return _with_axis_kept(line, operand, target) or _with_axis_kept(line, pair[big], shape)
    if note := _with_axis_kept(line, operand, target) or _places_in_rows(line, pair[big], operand):
        return note
    if len(target) - len(shape) != 1:
        return ""
    places = [
        place
        for place in range(len(shape) + 1)
        if _broadcast_to(target, (*shape[:place], 1, *shape[place:])) is not None
    ]
    dtype = str(getattr(line.value(operand), "dtype", ""))
    if dtype.endswith("bool") and shape[-2:] == target[-2:]:  # a mask without the axis of the heads
        places = [place for place in places if place == len(shape) - 2]
    if len(places) != 1:
        return ""
    if (
        isinstance(operand, ast.Subscript)
        and np.asarray(line.value(operand.slice)).dtype.kind == "i"
    ):
        indexed = described_operand(line, operand.value)
        return f" {indexed}: more axes may come before those you count."
    made = line.origin(operand.id) if isinstance(operand, ast.Name) else None
    loops = [node for node in ast.walk(line.function or operand) if isinstance(node, ast.For)]
    if _names_in(made or operand) & _names_in(*(loop.target for loop in loops)):
        return ""  # a loop variable has fewer axes on purpose
    where = _counted_from_the_end(len(shape) - places[0])
    return f" {quoted(operand)} lacks an axis of length 1 {where}."


def _names_in(*nodes: ast.AST) -> set[str]:
    every = itertools.chain.from_iterable(map(ast.walk, nodes))
    return {node.id for node in every if isinstance(node, ast.Name)}


def _counted_from_the_end(after: int) -> str:
    return f"before its last {'axis' if after == 1 else f'{after} axes'}" if after else "at its end"


def _places_in_rows(line: FailingLine, rows: ast.expr, operand: ast.expr) -> str:
    """Return a note if an operand may hold indices: whole numbers, one for each row."""
    array, places = line.value(rows), line.value(operand)
    is_whole = isinstance(places, np.ndarray) and places.dtype.kind in "iu"
    if not is_whole or array.dtype.kind != "f" or array.shape[:-1] != places.shape:
        return ""
    return (
        f" {quoted(operand)} holds whole numbers, one for each row of {quoted(rows)}: if they say which "
        "entry of a row is meant, they are its index, and not a number to compute with."
    )


def _with_axis_kept(line: FailingLine, operand: ast.expr, target: tuple[int, ...]) -> str:
    """Return a note that a reduction has to keep its axis, if the shapes then fit."""
    call: ast.AST = operand
    for _ in range(3):  # through variables
        if isinstance(call, ast.Name) and (made := line.origin(call.id)):
            call = made.value
    name = getattr(getattr(call, "func", None), "attr", "")
    if not isinstance(call, ast.Call) or name not in REDUCTIONS:
        return ""
    is_torch = any(word.arg in ("dim", "keepdim") for word in call.keywords)
    keyword = "keepdim" if is_torch else "keepdims"
    given = [word.value for word in call.keywords if word.arg == keyword]
    if any(isinstance(value, ast.Constant) and value.value for value in given):
        return ""
    others = [word for word in call.keywords if word.arg != keyword]
    words = [*others, ast.keyword(keyword, ast.Constant(True))]
    kept = ast.Call(call.func, call.args, words)
    value = line.value(ast.fix_missing_locations(ast.copy_location(kept, call)))
    shape = shape_of(value) if value is not UNKNOWN else None
    if shape is None or _broadcast_to(shape, target) != _broadcast_to(target, target):
        return ""
    if given:
        return f" Whatever {ast.unparse(given[0])} is, this {name} has to keep its axis, with length 1."
    return f" The {name} loses its axis: {keyword} keeps it, with length 1."


def index(error: BaseException, line: FailingLine) -> str:
    """Explain an index out of bounds, too many indices, or an index into a list."""
    node = line.node
    if not isinstance(node, ast.Subscript):
        return ""
    if isinstance(node.value, ast.Attribute) and node.value.attr == "shape":
        return f"{described_operand(line, node.value.value)} here: it has no {quoted(node)}."
    value = line.value(node.value)
    if isinstance(value, (tuple, list)) and not isinstance(node.value, ast.Attribute):
        return f"{quoted(node.value)} is a {type(value).__name__} of {len(value)}, not an array."
    shape = shape_of(value)
    if shape is None:
        return ""
    met = f"{described_operand(line, node.value)}"
    if "float" in str(error) or "only integers" in str(error):
        return ""
    if "out of bounds" in str(error):
        parts = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
        used = [p for p in parts if isinstance(p, (ast.Name, ast.BinOp))]
        said = "".join(_note_on_index(p, line.value(p), str(error)) for p in used)
        if isinstance(node.value, ast.Call) and ast.unparse(node.value.func).endswith(".eye"):
            rule = "One-hot rows have an entry for every class or word: pass their number to eye."
        elif said and isinstance(parts[0], ast.Slice) and shape[0] > np.max(line.value(used[-1])):
            rows = quoted(ast.Subscript(node.value, used[-1]))
            rule = f"Axis 0 is long enough, {shape[0]}: {rows} takes rows."
        elif said and len(parts) == 1 and np.max(line.value(used[0])) < shape[-1]:
            last = ast.Tuple([ast.Constant(...), used[0]], ast.Load())
            rule = (
                f"The last axis is long enough, {shape[-1]}: write "
                f"{quoted(ast.Subscript(node.value, last))}, as batch axes may come first."
            )
        else:
            rule = "The first entry has index 0, the last one less than the length."
        return f"{met}{said}. {rule}"
    if "too many indices" in str(error) and isinstance(node.slice, ast.Tuple):
        return (
            f"{met}, and {quoted(node)} asks for more axes. Those counted from the end, after "
            "`...`, are there whatever comes before."
        )
    return ""


def _note_on_index(part: ast.expr, value: Any, error: str) -> str:
    """Return the index that a part is, or holds, in an error about indices out of bounds."""
    found = re.search(r"index (-?\d+) is out of bounds for axis (\d+)", error)
    if isinstance(value, np.ndarray) and value.dtype.kind in "iu" and value.ndim:
        if found and int(found[1]) in value:
            return f", and {quoted(part)} holds {found[1]} for axis {found[2]}"
    elif isinstance(value, (int, np.integer)) and not isinstance(value, bool):
        return f", and {quoted(part)} is {int(value)}"
    return ""


def axis(error: BaseException, line: FailingLine) -> str:
    """Explain an axis that an array does not have."""
    node = line.node
    text = str(error)
    if not isinstance(node, ast.Call) or "out of bounds for array" not in text:
        return ""
    for candidate in (*node.args[:1], getattr(node.func, "value", None)):
        if isinstance(candidate, ast.expr) and shape_of(line.value(candidate)) is not None:
            said = f"{described_operand(line, candidate)}, and has no such axis"
            asked = [word.value for word in node.keywords if word.arg == "axis"] or node.args[-1:]
            if picked := _boolean_selection(line, candidate):
                return f"{said}: {picked} is flat, as a boolean index keeps no axes."
            if any(isinstance(one, ast.Constant) for one in asked):
                said += ": an axis counted from the end is there whatever comes before it"
            return f"{said}."
    return ""


def _boolean_selection(line: FailingLine, operand: ast.expr) -> str:
    """Name the entries that a boolean index selected for an operand, or return ""."""
    names = [node.id for node in ast.walk(operand) if isinstance(node, ast.Name)]
    for made in filter(None, map(line.origin, names)):
        value = made.value
        if isinstance(value, ast.Subscript) and isinstance(value.slice, ast.Compare):
            return quoted(value)
    return ""


def flattened(error: BaseException, line: FailingLine) -> Explanation:
    """Explain an array of one axis that np.repeat makes of all entries."""
    for node in ast.walk(line.node):
        origin = line.origin(node.id) if isinstance(node, ast.Name) else None
        call = origin.value if origin else None
        if not isinstance(call, ast.Call) or ast.unparse(call.func) != "np.repeat":
            continue
        if len(call.args) == 2 and "axis" not in {word.arg for word in call.keywords}:
            met = described_operand(line, node)
            return f"{met}: np.repeat without an axis makes one row of all entries.", "no axis"
    return ""


def unpacking(error: BaseException, line: FailingLine) -> str:
    """Explain unpacking a shape into too many or too few names."""
    if "to unpack" not in str(error) or not isinstance(line.statement, ast.Assign):
        return ""
    value = line.statement.value
    if not (isinstance(value, ast.Attribute) and value.attr == "shape"):
        return ""
    shape = shape_of(line.value(value.value))
    if shape is None:
        return ""
    return (
        f"{described_operand(line, value.value)} here, which is {len(shape)} numbers. The axes of an "
        "array may be any number: *batch, length, width = x.shape takes them all."
    )


def joining(error: BaseException, line: FailingLine) -> str:
    """Explain a concatenation of arrays whose shapes do not fit."""
    node = line.node
    name = getattr(getattr(node, "func", None), "attr", "")
    if not isinstance(node, ast.Call) or name not in ("concatenate", "cat", "vstack"):
        return ""
    parts = getattr(node.args[0], "elts", []) if node.args else []
    shapes = [shape_of(line.value(part)) for part in parts]
    if len(parts) < 2 or any(shape is None for shape in shapes):
        return ""
    met = " and ".join(described_operand(line, part) for part in parts)
    return (
        f"{met}. Arrays are joined along the axis that grows, axis=-2 for rows: all other axes must be "
        "equal, also those before it."
    )


EXPLAINERS = (flattened, product, unpacking, axis, joining, index, broadcast)
