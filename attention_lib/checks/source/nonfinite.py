"""Finding the operation of an answer that first makes a NaN or an infinity.

The failing call is made again with every operation watched. An operation is named only if a
finite number in place of what it made takes the NaN or infinity away that the check complains of.
"""

from __future__ import annotations

import ast
import copy
import operator
import threading
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from attention_lib.checks.calls.failing_line import is_kernel, quoted
from attention_lib.checks.calls.timeouts import OutOfTime, time_limit
from attention_lib.checks.comparing import Comparison, differing
from attention_lib.checks.exercise import Exercise
from attention_lib.checks.source.cell import Source, silenced, source_of

MOST_EVENTS = 6  # operations that are tried
SECONDS = 0.1  # for one watched call
WATCH = "__watch__"
SYMBOLS: dict[type[ast.operator], str] = {
    ast.Add: "+",
    ast.Sub: "-",
    ast.Mult: "*",
    ast.Div: "/",
    ast.Pow: "**",
    ast.MatMult: "@",
    ast.FloorDiv: "//",
    ast.Mod: "%",
}
IN_PLACE: dict[type[ast.operator], str] = {
    ast.Add: "iadd",
    ast.Sub: "isub",
    ast.Mult: "imul",
    ast.Div: "itruediv",
    ast.Pow: "ipow",
    ast.MatMult: "imatmul",
    ast.FloorDiv: "ifloordiv",
    ast.Mod: "imod",
}
NAMED = {"divide": "/", "true_divide": "/", "subtract": "-", "multiply": "*", "add": "+"}
OF_ONE = ("exp", "exp2", "expm1", "log", "log2", "log10", "log1p", "sqrt", "square", "sinh", "cosh")

EXPONENTIALS = ("exp", "exp2", "expm1")
OF_EXPONENTIALS = (
    " exp is to be given numbers of 0 or less, such as x minus its maximum: look at what is "
    "subtracted from what before it."
)

Kind = Literal["nan", "inf"]


@dataclass(frozen=True)
class Event:
    """An operation that made a NaN or an infinity out of operands that had none there."""

    number: int  # of the operation
    kind: Kind
    made: float
    operands: tuple[float, ...]  # where it made it; empty where it is not made entry by entry


def origin_of_nonfinite(exercise: Exercise, answer: Any, failing: Comparison) -> str:
    """Say which operation makes the first NaN or infinity of a result; empty if none is sure."""
    source = source_of(answer)
    if source is None or exercise.run is not None or exercise.accelerated:
        return ""
    if is_kernel(source.function) or threading.current_thread() is not threading.main_thread():
        return ""
    spots = _spots(failing.seen.value, failing.trial.expected)
    if not spots.any() or _has_wrong_numbers(failing):
        return ""
    watched = _Watched(source)
    result, events = watched.call(failing)
    if result is None or not np.array_equal(_spots(result, failing.trial.expected), spots):
        return ""
    events = [one for one in events if one.kind == "inf" or np.isnan(_numbers(result)).any()]
    # An infinity below 0 is often made on purpose: it comes last.
    likely = sorted(events[:MOST_EVENTS], key=lambda one: one.made == -np.inf)
    for event in likely:
        mended, _ = watched.call(failing, event)
        left = _spots(mended, failing.trial.expected)
        if left.shape == spots.shape and not left[spots.argmax()] and left.sum() < spots.sum():
            return _sentence(watched.nodes[event.number], event)
    return ""


def _has_wrong_numbers(failing: Comparison) -> bool:
    """Tell whether finite numbers of a result are wrong too: then NaN is not what is to be mended."""
    value, trial = failing.seen.value, failing.trial
    parts = (
        list(zip(value, trial.expected, trial.allowed, strict=False))
        if isinstance(trial.expected, tuple)
        else [(value, trial.expected, trial.allowed)]
    )
    return any(
        bool((differing(got, right.values, allowed) & np.isfinite(got)).any())
        for got, right, allowed in ((np.asarray(part[0]), *part[1:]) for part in parts)
    )


def _numbers(value: Any) -> NDArray[np.float64]:
    """Return the numbers of a result, those of all its parts one after the other."""
    parts = value if isinstance(value, (tuple, list)) else (value,)
    return np.concatenate([np.asarray(part, np.float64).ravel() for part in parts])


def _spots(value: Any, expected: Any) -> NDArray[np.bool_]:
    """Mark each NaN and infinity of a result that is not right; none if shapes differ."""
    of_parts = expected if isinstance(expected, tuple) else (expected,)
    try:
        got, right = _numbers(value), _numbers([part.values for part in of_parts])
    except (TypeError, ValueError, AttributeError):
        return np.zeros(0, bool)
    if got.shape != right.shape:
        return np.zeros(0, bool)
    return ~np.isfinite(got) & (got != right) & ~np.isnan(right)


class _Watched:
    """A learner's function, made anew so that each of its operations is seen."""

    def __init__(self, source: Source) -> None:
        watching = _Watching()
        functions = [watching.visit(copy.deepcopy(one)) for one in reversed(source.functions)]
        tree = ast.fix_missing_locations(ast.Module(functions, []))
        self.nodes = watching.nodes
        self._code, self._source = compile(tree, "<watched answer>", "exec"), source

    def call(self, failing: Comparison, mended: Event | None = None) -> tuple[Any, list[Event]]:
        """Return the result of the failing call, None if it ends in an error, and what was seen."""
        watch = _Watch(self._alike(mended))
        names = dict(self._source.namespace) | {WATCH: watch}
        case = failing.trial.case
        args, kwargs = copy.deepcopy((case.args, case.kwargs))
        try:
            with silenced(), time_limit(SECONDS):
                exec(self._code, names)
                return names[self._source.function.name](*args, **kwargs), watch.events
        except (Exception, OutOfTime):
            return None, []

    def _alike(self, event: Event | None) -> set[tuple[int, Kind]]:
        """Return the operations of one kind: where one exp overflows, others do."""
        if event is None:
            return set()
        what = _symbol(self.nodes[event.number]) or _name(self.nodes[event.number])
        return {
            (number, event.kind)
            for number, node in enumerate(self.nodes)
            if (_symbol(node) or _name(node)) == what
        }


class _Watching(ast.NodeTransformer):
    """Puts calls of the watch around operations, and around their operands."""

    def __init__(self) -> None:
        self.nodes: list[ast.AST] = []  # the operations as the learner wrote them

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.FunctionDef:
        node.body = [self.visit(statement) for statement in node.body]
        return node

    def visit_arguments(self, node: ast.arguments) -> ast.arguments:
        return node

    def visit_JoinedStr(self, node: ast.JoinedStr) -> ast.JoinedStr:
        return node

    def visit_AnnAssign(self, node: ast.AnnAssign) -> ast.AnnAssign:
        node.value = self.visit(node.value) if node.value else None
        return node

    def visit_BinOp(self, node: ast.BinOp) -> ast.expr:
        number = self._numbered(node)
        node.left = self._operand(number, 0, node.left)
        node.right = self._operand(number, 1, node.right)
        return _watch("made", node, ast.Constant(number), node)

    def visit_Call(self, node: ast.Call) -> ast.expr:
        number = self._numbered(node)
        if isinstance(node.func, ast.Attribute):
            node.func.value = self._operand(number, -1, node.func.value)
        for place, argument in enumerate(node.args):
            if isinstance(argument, ast.Starred):
                argument.value = self.visit(argument.value)
            else:
                node.args[place] = self._operand(number, place, argument)
        for place, keyword in enumerate(node.keywords, len(node.args)):
            keyword.value = self._operand(number, place, keyword.value)
        return _watch("made", node, ast.Constant(number), node)

    def visit_AugAssign(self, node: ast.AugAssign) -> ast.stmt:
        if type(node.op) not in IN_PLACE:
            return node
        number = self._numbered(node)
        before: Any = copy.deepcopy(node.target)
        before.ctx = ast.Load()
        name = ast.Constant(IN_PLACE[type(node.op)])
        value = _watch("in_place", node, ast.Constant(number), name, before, self.visit(node.value))
        return ast.copy_location(ast.Assign([node.target], value), node)

    def _numbered(self, node: ast.AST) -> int:
        self.nodes.append(copy.deepcopy(node))
        return len(self.nodes) - 1

    def _operand(self, number: int, place: int, node: ast.expr) -> ast.expr:
        seen = self.visit(node)
        return _watch("operand", node, ast.Constant(number), ast.Constant(place), seen)


def _watch(method: str, like: ast.AST, *args: ast.expr) -> ast.Call:
    function = ast.Attribute(ast.Name(WATCH, ast.Load()), method, ast.Load())
    return ast.copy_location(ast.Call(function, list(args), []), like)


class _Watch:
    """Sees the operands and results of operations, and mends what one of them makes."""

    def __init__(self, mended: set[tuple[int, Kind]]) -> None:
        self.events: list[Event] = []
        self._mended = mended
        self._operands: dict[int, dict[int, Any]] = {}

    def operand(self, number: int, place: int, value: Any) -> Any:
        self._operands.setdefault(number, {})[place] = value
        return value

    def in_place(self, number: int, name: str, before: Any, other: Any) -> Any:
        kept = before.copy() if isinstance(before, np.ndarray) else before
        self._operands[number] = {0: kept, 1: other}
        return self.made(number, getattr(operator, name)(before, other))

    def made(self, number: int, value: Any) -> Any:
        result = np.asarray(value) if isinstance(value, (float, np.floating, np.ndarray)) else None
        given = self._operands.pop(number, {})
        arrays = [_as_array(given[place]) for place in sorted(given)]
        operands = [array for array in arrays if array is not None]
        if result is None or result.dtype.kind != "f" or not operands:
            return value
        for kind, mark in (("nan", np.isnan(result)), ("inf", np.isinf(result))):
            if mark.any():
                fresh, at = _fresh(kind, mark, operands)
                if fresh.any():
                    value = self._noted(number, kind, value, result, fresh, at)
        return value

    def _noted(
        self,
        number: int,
        kind: Any,
        value: Any,
        result: NDArray,
        fresh: NDArray[np.bool_],
        at: list[NDArray],
    ) -> Any:
        spot = tuple(np.argwhere(fresh)[0])
        numbers = tuple(float(array[spot]) for array in at)
        if not any((one.number, one.kind) == (number, kind) for one in self.events):
            self.events.append(Event(number, kind, float(result[spot]), numbers))
        if (number, kind) in self._mended:
            large = min(1e30, float(np.finfo(result.dtype).max) / 1e3)
            mended = np.where(fresh, 0.0 if kind == "nan" else np.sign(result) * large, result)
            mended = mended.astype(result.dtype)
            return mended if isinstance(value, np.ndarray) else mended[()]
        return value


def _as_array(value: Any) -> NDArray | None:
    if isinstance(value, (bool, int, float, np.generic, np.ndarray)):
        array = np.asarray(value)
        return array if array.dtype.kind in "biuf" else None
    return None


def _fresh(
    kind: str, mark: NDArray[np.bool_], operands: list[NDArray]
) -> tuple[NDArray[np.bool_], list[NDArray]]:
    """Mark what does not come from an operand, and return the operands entry by entry if they fit."""
    bad = np.isnan if kind == "nan" else (lambda array: ~np.isfinite(array))
    try:
        at = [np.broadcast_to(one, mark.shape) for one in operands]
    except ValueError:
        return mark & (not any(bad(one).any() for one in operands)), []
    return mark & ~np.logical_or.reduce([bad(one) for one in at]), at


def _sentence(node: Any, event: Event) -> str:
    """Say what an operation computes where it makes the first NaN or infinity, and what mends it."""
    made = "NaN" if event.kind == "nan" else _written(event.made)
    symbol, computed = _symbol(node), ""
    if symbol and symbol != "@" and len(event.operands) == 2:
        one, other = map(_written, event.operands)
        computed = f"computes {one} {symbol} {f'({other})' if other[0] == '-' else other}"
    elif _name(node) in OF_ONE and event.operands:
        computed = f"computes {_name(node)}({_written(event.operands[-1])})"
    code = ast.unparse(node) if isinstance(node, ast.AugAssign) else ""
    where = f"In line {node.lineno}, {f'`{code}`' if code else quoted(node)}"
    if not computed:
        return f"{where} makes the first {made}: nothing that it is given has one there."
    return f"{where} {computed}, which is {made}.{_advice(node, symbol, event)}"


def _symbol(node: Any) -> str:
    if isinstance(node, (ast.BinOp, ast.AugAssign)):
        return SYMBOLS.get(type(node.op), "")
    return NAMED.get(_name(node), "")


def _name(node: Any) -> str:
    function = getattr(node, "func", None)
    return str(getattr(function, "attr", None) or getattr(function, "id", ""))


def _exponentials_in(node: ast.AST) -> bool:
    return any(_name(part) in EXPONENTIALS for part in ast.walk(node))


def _written(number: float) -> str:
    return "NaN" if np.isnan(number) else f"{number + 0.0:.4g}"


def _advice(node: Any, symbol: str, event: Event) -> str:
    if _name(node) in EXPONENTIALS and event.kind == "inf":
        return OF_EXPONENTIALS
    if len(event.operands) != 2:
        return ""
    one, other = event.operands
    if symbol == "/" and one == other == 0:
        return " Where the divisor is 0, divide by 1: the quotient is then 0."
    if symbol == "-" and one == other == -np.inf:
        return " Where what is subtracted is -inf, subtract 0: the difference is then -inf."
    if symbol == "*" and np.inf in (one, other) and _exponentials_in(node):
        return OF_EXPONENTIALS
    if symbol == "*" and -np.inf in (one, other):
        return " Multiplying by 0 does not take an infinity away: choose with np.where before it arises."
    return ""
