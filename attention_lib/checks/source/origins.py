"""Find the line of an answer in which NaN, infinity, a negative index or float64 arises."""

from __future__ import annotations

import ast
import copy
import dataclasses
import operator
import re
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Sequence
from typing import Any

import numpy as np

from attention_lib.checks.calls.calling import observe
from attention_lib.checks.calls.failing_line import is_kernel
from attention_lib.checks.calls.measuring import thread_time
from attention_lib.checks.calls.tensors import as_numbers
from attention_lib.checks.chance import leaves
from attention_lib.checks.comparing import Comparison
from attention_lib.checks.exercise import Exercise
from attention_lib.checks.source.cell import Source, silenced, source_of
from attention_lib.checks.source.edits import MOST_CHARACTERS
from attention_lib.checks.source.expressions import name_of_call

SECONDS = 0.2  # of CPU time, for all runs of one answer
MOST_WIDE = 4  # runs in search of float64
MOST_SPOILED = 12  # calls with NaN or infinity that are looked at
Event = tuple[int, str]  # the number of a node, and the kind of event
OPERATORS: dict[type[ast.operator], tuple[str, str]] = {
    ast.Add: ("+", "add"),
    ast.Sub: ("-", "sub"),
    ast.Mult: ("*", "mul"),
    ast.Div: ("/", "truediv"),
    ast.Pow: ("**", "pow"),
    ast.MatMult: ("@", "matmul"),
}


def origin(exercise: Exercise, answer: Any, comparisons: Sequence[Comparison]) -> str:
    """Name the lines where wrong calls go wrong and no right call does; empty if none."""
    source = source_of(answer)
    if source is None or is_kernel(source.function):
        return ""
    spoiled = [one for one in comparisons if is_spoiled(one)]
    marked = spoiled or [one for one in comparisons if one.failed and not one.stopped]
    free = [one for one in comparisons if not one.stopped and one not in marked]
    if not marked:
        return ""
    run, until = _Run(source), thread_time() + SECONDS
    events, usual = run.events_of(exercise, marked[0]), Counter[Event]()
    for one in free:
        if not events or thread_time() > until:
            break
        usual.update(run.events_of(exercise, one).keys())
    if run.is_cut or thread_time() > until:
        return ""
    if spoiled:
        return _causes(run, exercise, spoiled, usual)
    # A negative index may be harmless, as with a single entry.
    seldom = (event for event in events if event[1] == "index" and 3 * usual[event] <= len(free))
    return next((events[event] for event in seldom), "")


def unrefused(exercise: Exercise, answer: Any, one: Comparison) -> str:
    """Say why a call does not raise the error that it should; empty if there is no source."""
    source = source_of(answer) if one.seen.error is None else None
    if source is None or is_kernel(source.function):
        return ""
    raising = [node for node in ast.walk(source.function) if isinstance(node, ast.Raise)]
    if not raising:
        return "" if source.helpers else "No line of it raises an error."
    events = _Run(source).events_of(exercise, one)
    tested = [words for (_, kind), words in events.items() if kind == "condition"]
    return tested[-1] if tested else f"The raise in line {raising[-1].lineno} is not reached."


def widening(exercise: Exercise, answer: Any, one: Comparison) -> str:
    """Name the places without whose float64 a call returns the dtype asked for; empty if none is."""
    source = source_of(answer)
    if source is None or is_kernel(source.function) or exercise.accelerated:
        return ""
    run, needed = _Run(source), dict[int, str]()
    for _ in range(MOST_WIDE):  # some float64 shows only once the rest is narrow
        run.narrowed = needed.keys()
        events = run.events_of(exercise, one)
        needed |= {number: words for (number, kind), words in events.items() if kind == "dtype"}
    first = next(iter(needed.values()), "")
    for number in reversed([*needed]):
        if run.is_mended(exercise, one, needed.keys() - {number}):
            del needed[number]
    is_proven = run.is_mended(exercise, one, needed.keys())
    return " ".join(needed[number] for number in sorted(needed)) if is_proven else first


def is_spoiled(one: Comparison) -> bool:
    """Tell whether a wrong entry of a result is NaN or infinite."""
    return any(
        part.off is not None
        and part.numbers is not None
        and bool((part.off & ~np.isfinite(part.numbers)).any())
        for part in one.parts or ()
    )


def _causes(
    run: _Run, exercise: Exercise, spoiled: Sequence[Comparison], usual: Counter[Event]
) -> str:
    """Join the sentences on the first call, and on the first other one that has another cause."""
    told: list[dict[int, str]] = []
    for one in spoiled[:MOST_SPOILED]:
        events = run.events_of(exercise, one).items()
        words = _spoiling({event: words for event, words in events if not usual[event]})
        if not told or (words and not words.keys() & told[0].keys()):
            told.append(words)
        if len(told) == 2 or not told[0]:
            break
    return " Besides: ".join(" ".join(words.values()) for words in told)


def _spoiling(events: dict[Event, str]) -> dict[int, str]:
    """Return the sentences on the first NaN or infinity, and on its cause, by the nodes' numbers."""
    first: dict[str, tuple[int, str]] = {}
    for (number, kind), words in events.items():
        first.setdefault(kind, (number, words))
    of_nan, of_infinity = (first.get(kind, (0, ""))[1] for kind in ("nan", "infinity"))
    kinds = ["nan"]
    if not of_nan or ("inf" in of_nan and "-inf - (-inf)" not in of_nan):
        kinds.insert(0, "infinity")
    if re.search("0 / 0|logarithm of 0", of_nan or of_infinity):
        kinds.insert(0, "underflow")
    return dict(first[kind] for kind in kinds if kind in first)


class _Run:
    """An instrumented answer: its operations, calls and indices are watched."""

    def __init__(self, source: Source) -> None:
        self.is_cut = False  # a call ran out of time, so its events are incomplete
        self._nodes: list[ast.AST] = []
        self._events: dict[Event, str] = {}
        self._wide: dict[int, tuple[Any, int]] = {}  # float64 arrays, and the nodes they come from
        self.narrowed: Collection[int] = ()  # nodes whose float64 is made float32
        names = {
            **source.namespace,
            "__operation__": self._operation,
            "__called__": self._called,
            "__index__": self._index,
            "__condition__": self._condition,
        }
        self._own = {one.name for one in source.functions}
        for function in reversed(source.functions):
            tree = copy.deepcopy(function)
            watched = _Watched(self._nodes, function is source.function)
            tree.body = [watched.visit(one) for one in tree.body]
            module = ast.fix_missing_locations(ast.Module([tree], []))
            exec(compile(module, "<watched answer>", "exec"), names)
        self._answer: Callable[..., Any] = names[source.function.name]

    def events_of(self, exercise: Exercise, one: Comparison) -> dict[Event, str]:
        """Return the events of a call, each with its sentence."""
        self._events, self._wide = {}, {}
        with silenced():
            seen = observe(exercise.on_cases(self._answer), one.trial.case, limit=SECONDS)
        for value in leaves(seen.value):
            if id(value) in self._wide:  # what is written into it takes its dtype
                self._note_dtype(self._wide[id(value)][1])
        self.is_cut |= seen.out_of_time
        return self._events

    def is_mended(self, exercise: Exercise, one: Comparison, narrowed: Collection[int]) -> bool:
        """Tell whether a call returns the dtype asked for if some nodes are float32."""
        self.narrowed = narrowed
        with silenced():
            seen = observe(exercise.on_cases(self._answer), one.trial.case, limit=SECONDS)
        mended = dataclasses.replace(one, seen=seen)
        return not (mended.stopped or mended.about_dtype)

    def _operation(self, number: int, left: Any, right: Any) -> Any:
        node = self._nodes[number]
        assert isinstance(node, ast.BinOp | ast.AugAssign)
        sign, name = OPERATORS[type(node.op)]
        function = getattr(operator, f"i{name}" if isinstance(node, ast.AugAssign) else name)
        before = copy.copy(left) if isinstance(node, ast.AugAssign) else left
        result = function(left, right)
        result = self._look_at_dtype(number, result, [left, right])
        self._look(number, result, [before, right], sign)
        return result

    def _called(self, number: int, function: Any, *args: Any, **kwargs: Any) -> Any:
        given = {key: value for key, value in kwargs.items() if key != "out"}
        operands = [getattr(function, "__self__", None), *args, *given.values()]
        if "out" in kwargs:  # it may be one of the operands
            operands = [copy.copy(one) for one in operands]
        result, name = function(*args, **kwargs), getattr(function, "__name__", "")
        if name not in self._own:
            result = self._look_at_dtype(number, result, operands)
        if name not in (*self._own, "empty", "empty_like"):
            self._look(number, result, operands, "")
        return result

    def _index(self, number: int, value: Any) -> Any:
        is_negated = isinstance(self._nodes[number], ast.UnaryOp)
        if isinstance(value, int | np.integer) and (not value if is_negated else value < 0):
            rule = (
                "-0 counts from the beginning, not from the end"
                if is_negated
                else "a negative index counts from the end"
            )
            words = f"{self._place(number)} is {value}: {rule}."
            self._events.setdefault((number, "index"), words)
        return value

    def _condition(self, number: int, value: Any) -> Any:
        words = f"{self._place(number)} is {bool(value)} here: nothing is raised."
        self._events[number, "condition"] = words
        return value

    def _note_dtype(self, number: int) -> None:
        self._events.setdefault((number, "dtype"), f"{self._place(number)} is float64.")

    def _look_at_dtype(self, number: int, result: Any, operands: Sequence[Any]) -> Any:
        """Note where float64 is made, and where it meets a narrower array; return the result."""
        if not isinstance(result, np.ndarray | np.generic) or result.dtype != np.float64:
            return result
        if number in self.narrowed:
            return result.astype(np.float32)
        given = [one for one in _floats(operands) if isinstance(one, np.ndarray | np.generic)]
        wide = [one for one in given if one.dtype == np.float64]
        made_by = number
        for one in (each for array in wide for each in (array, getattr(array, "base", None))):
            made_by = self._wide.get(id(one), (one, made_by))[1]
        if any(one.dtype.kind == "f" for one in given if one.dtype != np.float64):
            self._note_dtype(made_by)
        elif id(result) not in self._wide:
            self._wide[id(result)] = result, made_by
        return result

    def _look(self, number: int, result: Any, operands: Sequence[Any], sign: str) -> None:
        given, result = [np.asarray(one) for one in _floats(operands)], as_numbers(result)
        if not given or not _is_floating(result):
            return
        found = np.asarray(result)
        had_nan = any(np.isnan(one).any() for one in given)
        had_infinity = any(np.isinf(one).any() for one in given)
        if np.isnan(found).any():
            if not had_nan:
                words = self._about_nan(number, found, given, sign)
                self._events.setdefault((number, "nan"), words)
        elif had_nan:  # as with np.where, the NaN so far does no harm
            self._events = {key: words for key, words in self._events.items() if key[1] != "nan"}
        elif np.isinf(found).any() and not had_infinity:
            words = self._about_infinity(number, given, sign)
            self._events.setdefault((number, "infinity"), words)
        elif not sign and not had_infinity and (found == 0).any() and self._is_exponential(number):
            words = f"{self._place(number)} underflows to 0."
            self._events.setdefault((number, "underflow"), words)

    def _about_nan(
        self, number: int, found: np.ndarray, given: Sequence[np.ndarray], sign: str
    ) -> str:
        place, spot = self._place(number), tuple(np.argwhere(np.isnan(found))[0])
        if not sign or sign == "@" or len(given) != 2:
            of_rows = any(_is_nan_where_rows_are_empty(found, one) for one in given)
            if not of_rows and any(np.isposinf(one).any() for one in given):
                return f"{place} makes NaN of inf."
            what = " for a row of nothing but -inf, which needs a result of its own"
            return f"{place} is NaN{what if of_rows else ''}."
        left, right = (np.broadcast_to(one, found.shape)[spot] for one in given)
        shown = f"({right:g})" if right < 0 else f"{right:g}"
        rule = f": an entry that is {right:g} in both needs a value of its own"
        return f"{place} is {left:g} {sign} {shown}, which is NaN{rule if sign == '-' else ''}."

    def _about_infinity(self, number: int, given: Sequence[np.ndarray], sign: str) -> str:
        place, largest = self._place(number), max(float(one.max(initial=0)) for one in given)
        node = self._nodes[number]
        if sign == "/":
            return f"{place} divides by 0."
        if isinstance(node, ast.Call) and name_of_call(node).startswith("log"):
            return f"{place} takes the logarithm of 0, which is -inf."
        if self._is_exponential(number):
            return f"{place} overflows: the exponential of {largest:g} is infinite."
        return f"{place} becomes infinite."

    def _is_exponential(self, number: int) -> bool:
        node = self._nodes[number]
        return isinstance(node, ast.Call) and name_of_call(node).startswith("exp")

    def _place(self, number: int) -> str:
        """Name the line of a node, and quote the node."""
        node = self._nodes[number]
        text = ast.unparse(node)
        quoted = f"`{text}`" if len(text) <= MOST_CHARACTERS else "a number"
        return f"In line {getattr(node, 'lineno', 0)}, {quoted}"


def _is_nan_where_rows_are_empty(found: np.ndarray, given: np.ndarray) -> bool:
    """Tell whether the rows with NaN are exactly those of nothing but -inf."""
    if not given.ndim or given.shape != found.shape:
        return False
    return np.array_equal(np.isnan(found).any(axis=-1), np.isneginf(given).all(axis=-1))


def _is_floating(value: Any) -> bool:
    if isinstance(value, float):
        return True
    return isinstance(value, np.ndarray | np.generic) and value.dtype.kind == "f"


def _floats(operands: Sequence[Any]) -> Iterator[Any]:
    for one in map(as_numbers, operands):
        if isinstance(one, tuple | list):
            yield from _floats(one)
        elif _is_floating(one) or (
            isinstance(one, int | np.ndarray | np.generic) and np.asarray(one).dtype.kind in "biu"
        ):
            yield one


class _Watched(ast.NodeTransformer):
    """Wrap operations, calls and computed indices in hooks that get the node's number."""

    def __init__(self, nodes: list[ast.AST], conditions: bool) -> None:
        self._nodes = nodes
        self._conditions = conditions  # whether to watch the conditions of raise statements
        self._indices = set[int]()  # the ids of nodes that are indices

    def _watched(
        self, hook: str, node: ast.AST, args: list[ast.expr], words: Sequence[ast.keyword] = ()
    ) -> ast.Call:
        self._nodes.append(node)
        number = ast.Constant(len(self._nodes) - 1)
        return ast.Call(ast.Name(hook, ast.Load()), [number, *args], list(words))

    def visit_BinOp(self, node: ast.BinOp) -> ast.AST:
        own, is_index = copy.deepcopy(node), id(node) in self._indices
        self.generic_visit(node)
        if type(node.op) not in OPERATORS:
            return node
        result = self._watched("__operation__", own, [node.left, node.right])
        return self._watched("__index__", own, [result]) if is_index else result

    def visit_UnaryOp(self, node: ast.UnaryOp) -> ast.AST:
        own, is_index = copy.deepcopy(node), id(node) in self._indices
        self.generic_visit(node)
        is_negated = is_index and isinstance(node.op, ast.USub)
        return self._watched("__index__", own, [node]) if is_negated else node

    def visit_AugAssign(self, node: ast.AugAssign) -> ast.AST:
        own = copy.deepcopy(node)
        self.generic_visit(node)
        if not isinstance(node.target, ast.Name) or type(node.op) not in OPERATORS:
            return node
        old = ast.Name(node.target.id, ast.Load())
        call = self._watched("__operation__", own, [old, node.value])
        return ast.copy_location(ast.Assign([node.target], call), node)

    def visit_If(self, node: ast.If) -> ast.AST:
        own = copy.deepcopy(node.test)
        raises = self._conditions and any(
            isinstance(one, ast.Raise) for one in (*node.body, *node.orelse)
        )
        self.generic_visit(node)
        if raises:
            node.test = self._watched("__condition__", own, [node.test])
        return node

    def visit_Call(self, node: ast.Call) -> ast.AST:
        own = copy.deepcopy(node)
        self.generic_visit(node)
        return self._watched("__called__", own, [node.func, *node.args], node.keywords)

    def visit_Subscript(self, node: ast.Subscript) -> ast.AST:
        places = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
        for one in places:
            ends = (one.lower, one.upper) if isinstance(one, ast.Slice) else (one,)
            self._indices |= {id(end) for end in ends}
        self.generic_visit(node)
        return node
