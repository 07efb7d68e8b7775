"""List small edits of an answer's source, the likeliest first."""

from __future__ import annotations

import ast
import contextlib
import functools
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from attention_lib.checks.edits import expressions, statements
from attention_lib.checks.edits.cell import Scope
from attention_lib.checks.edits.faults import fault_of, topic_of
from attention_lib.checks.errors.types import NAME, nearest_name, notebooks_name

MOST_CHARACTERS = 70  # of code that a sentence quotes


@dataclass(frozen=True, eq=False)
class Edit:
    """A replacement of one node, or of one block of statements."""

    rank: int
    parent: ast.AST
    field: str
    index: int | None  # in a list of nodes
    old: Any
    new: Any
    enclosing: tuple[ast.AST, ...]  # from the parent up to the function
    words: str = ""  # what to do; if empty, the code before and after is quoted
    fault: str = ""  # fault that the edit corrects; if empty, it follows from the two expressions

    @functools.cached_property
    def _new_with_lines(self) -> Any:
        """The new code with line numbers, needed only to try the edit."""
        like = self.old[0] if isinstance(self.old, list) else self.old
        for new in self.new if isinstance(self.new, list) else [self.new]:
            if not hasattr(new, "lineno"):
                ast.copy_location(new, like)
            ast.fix_missing_locations(new)
        return self.new

    @contextlib.contextmanager
    def applied(self) -> Iterator[None]:
        """Apply the edit to the tree in the body of a `with` statement."""
        self._set(self._new_with_lines)
        try:
            yield
        finally:
            self._set(self.old)

    def _set(self, value: Any) -> None:
        if self.index is None:
            setattr(self.parent, self.field, value)
        else:
            getattr(self.parent, self.field)[self.index] = value

    @property
    def does_nothing(self) -> bool:
        """Whether the edited code has no effect: ``x + 0``, ``x = x``."""
        self._set(self.new)
        is_nothing = is_idle(self.new) or is_idle(self.parent)
        self._set(self.old)
        return is_nothing

    @property
    def statement(self) -> ast.AST | None:
        """The simple statement that is edited, or None if it has a block."""
        node = next(node for node in self.enclosing if isinstance(node, ast.stmt))
        return node if isinstance(node, SIMPLE) else None

    @property
    def place(self) -> ast.AST:
        """The code to quote once for all edits in it: a statement, or a part of its head."""
        return self.statement or self.quoted

    @property
    def quoted(self) -> ast.AST:
        """The code to quote: as much around the edit as MOST_CHARACTERS allows."""
        statement = self.statement
        if statement is not None and len(ast.unparse(statement)) <= MOST_CHARACTERS:
            return statement
        shown: ast.AST = self.old
        for node in self.enclosing:
            if isinstance(node, ast.expr) and not isinstance(node, PARTS):
                if len(ast.unparse(node)) > MOST_CHARACTERS:
                    break
                shown = node
            elif not isinstance(node, PARTS):
                break
        return shown


def is_idle(node: ast.AST) -> bool:
    """Tell whether code has no effect, or no sense: ``x + 0``, ``x = x``, ``x.append(x)``."""
    match node:
        case ast.BinOp(op=ast.Add() | ast.Sub(), right=ast.Constant(value=0)):
            return True
        case ast.BinOp(op=ast.Sub() | ast.Div() | ast.FloorDiv(), left=one, right=other):
            return ast.dump(one) == ast.dump(other)  # always 0 or 1
        case ast.Assign(targets=[ast.Name(id=target)], value=ast.Name(id=source)):
            return target == source
        case ast.Call(
            func=ast.Attribute(value=ast.Name(id=owner), attr="append"), args=[ast.Name(id=one)]
        ):
            return owner == one
        case ast.Call(args=[inner, one, other]) if expressions.name_of_call(node) == "swapaxes":
            is_undone = expressions.name_of_call(inner) == "swapaxes"  # by the outer one
            return is_undone or ast.dump(one) == ast.dump(other)
    return False


SIMPLE = (ast.Assign, ast.AugAssign, ast.Return, ast.Expr)
PARTS = (ast.Slice, ast.keyword, ast.Starred, ast.comprehension)


def sentence_of(edits: Sequence[Edit], lines: Sequence[str]) -> str:
    """Return what to write in which line, naming each line once."""
    texts: dict[str, None] = {}
    for edit in edits:
        if edit.words:
            texts[edit.words] = None
            continue
        together = [one for one in edits if one.place is edit.place]
        shown = edit.place if len(together) > 1 else edit.quoted
        before, after = _before_and_after(shown, together, lines)
        line = getattr(shown, "lineno", edit.old.lineno)
        texts[f"in line {line}, write `{after}` in place of `{before}`"] = None
    both = "; then ".join(texts)
    return f"{both[0].upper()}{both[1:]}"


class Fault(NamedTuple):
    """A fault that an edit corrects: a sentence, and its topic if other findings may say the same."""

    text: str
    topic: str


def faults_of(
    edits: Sequence[Edit], lines: Sequence[str], known: Mapping[str, Any]
) -> tuple[Fault, ...]:
    """Name the faults that edits correct, without saying what to write.

    `known` holds the notebook's variables.
    """
    faults = dict.fromkeys(_fault_of(edit, lines, known) for edit in edits)
    return tuple(
        Fault(f"{text[0].upper()}{text[1:]}{'.' * (text[-1] != '?')}", topic)
        for text, topic in faults
    )


def _fault_of(edit: Edit, lines: Sequence[str], known: Mapping[str, Any]) -> Fault:
    """Return the fault that an edit corrects; its text is no whole sentence yet."""
    if missing := _missing_name(edit, known):
        return Fault(f"`{missing}` has no value", NAME)
    if edit.fault:
        of_a_name = isinstance(edit.old, ast.Name)
        return Fault(edit.fault, NAME if of_a_name else topic_of(edit.old, edit.new))
    around = edit.quoted
    quoted = _text_of(around, lines) or ast.unparse(around)
    own = _text_of(edit.old, lines) or ast.unparse(edit.old)
    fault = fault_of(edit.old, edit.new, edit.parent, quoted, own)
    line = getattr(around, "lineno", edit.old.lineno)
    return Fault(f"in line {line}, {fault[0].lower()}{fault[1:]}", topic_of(edit.old, edit.new))


def _missing_name(edit: Edit, known: Mapping[str, Any]) -> str:
    """Return a name without a value that an edit removes, or ""."""
    function = edit.enclosing[-1]
    if not isinstance(edit.old, ast.AST) or not isinstance(function, ast.FunctionDef):
        return ""
    free = Scope.of(function, False).free
    gone = _names_in(edit.old) - _names_in(edit.new) - known.keys()
    return next((name for name in free if name in gone), "")


def _names_in(node: ast.AST) -> set[str]:
    return {one.id for one in ast.walk(node) if isinstance(one, ast.Name)}


def _before_and_after(
    shown: ast.AST, edits: Sequence[Edit], lines: Sequence[str]
) -> tuple[str, str]:
    """Quote code before and after edits, with the learner's own spacing if possible."""
    before = ast.unparse(shown)
    with contextlib.ExitStack() as stack:
        for edit in edits:
            stack.enter_context(edit.applied())
        changed = edits[0].new if shown is edits[0].old else shown
        after, meant = ast.unparse(changed), ast.dump(changed)
    (edit, *others) = edits
    text, old = _text_of(shown, lines), _text_of(edit.old, lines)
    if others or text is None or old is None:
        return before, after
    begin = edit.old.col_offset - shown.col_offset  # type: ignore[attr-defined]
    kept = f"{text[:begin]}{ast.unparse(edit.new)}{text[begin + len(old) :]}"
    try:
        tree = ast.parse(kept).body[0]
    except (SyntaxError, IndexError):
        return before, after
    parsed = tree if isinstance(shown, ast.stmt) else getattr(tree, "value", tree)
    return (text, kept) if ast.dump(parsed) == meant else (before, after)


def _text_of(node: ast.AST, lines: Sequence[str]) -> str | None:
    """Return the learner's own text of a node, or None if it is not in one line of ASCII."""
    line, column = getattr(node, "lineno", 0), getattr(node, "col_offset", 0)
    if line != getattr(node, "end_lineno", None) or not 0 < line <= len(lines):
        return None
    text = lines[line - 1]
    return text[column : node.end_col_offset] if text.isascii() else None  # type: ignore[attr-defined]


Edits = tuple[Edit, ...]  # applied together


@functools.lru_cache(maxsize=1)  # for the current answer, which is searched for several faults
def edits_of(functions: tuple[ast.FunctionDef, ...], is_torch: bool) -> list[Edits]:
    """List the small edits of functions, the likeliest first.

    Code that occurs several times, except for variables' names, is also edited in all places at
    once.
    """
    collected: list[tuple[Edit, str]] = []
    for function in functions:
        _collect(function, (), Scope.of(function, is_torch), collected)
    places: dict[str, set[int]] = {}
    for edit, kind in collected:
        places.setdefault(kind, set()).add(id(edit.old))
    together: dict[str, list[Edit]] = {}
    for edit, kind in collected:
        if kind and len(places[kind]) > 1:
            together.setdefault(f"{kind} > {_without_names(edit.new)}", []).append(edit)
    groups = [tuple(edits) for edits in together.values() if 1 < len(edits) <= 4]
    return sorted([*((edit,) for edit, _ in collected), *groups], key=rank_of)


def rank_of(edits: Edits) -> int:
    """Return how likely edits are: the lower, the likelier."""
    return edits[0].rank + (len(edits) > 1)


def _collect(
    node: ast.AST,
    enclosing: tuple[ast.AST, ...],
    scope: Scope,
    edits: list[tuple[Edit, str]],
) -> None:
    around = (node, *enclosing)
    for field, value in ast.iter_fields(node):
        if field in ("decorator_list", "returns", "annotation"):
            continue
        if isinstance(value, list) and value and isinstance(value[0], ast.stmt):
            for rank, block, words, fault in statements.changes(value, node, scope):
                edit = Edit(rank, node, field, None, value, block, around, words, fault)
                edits.append((edit, ""))
        items = enumerate(value) if isinstance(value, list) else [(None, value)]
        for index, item in items:
            if _tests_closeness(item):  # any edit that runs a loop longer would seem right
                continue
            if isinstance(item, ast.Constant) and _is_a_bound(item, around):
                continue
            if isinstance(item, ast.expr):
                shape = _without_names(item)
                for rank, new in expressions.changes(item, node, field, scope):
                    fault = _fault_of_name(item, new, scope)
                    edit = Edit(rank, node, field, index, item, new, around, fault=fault)
                    if edit.does_nothing:  # `statements.left_out` leaves out the whole line
                        continue
                    kind = shape
                    if isinstance(item, ast.Name) and (_is_a_name_or_quotient(new) or fault):
                        kind = f"{item.id} > {ast.dump(new)}"
                    elif _is_an_axis(item, node, field):
                        kind = f"axis {ast.unparse(item)} > {ast.dump(new)}"
                    edits.append((edit, kind))
            if isinstance(item, ast.AST):
                _collect(item, around, scope, edits)


def _is_a_name_or_quotient(node: ast.expr) -> bool:
    return isinstance(node, ast.Name) or isinstance(getattr(node, "op", None), ast.FloorDiv)


def _tests_closeness(node: object) -> bool:
    """Tell whether code compares with a tolerance: ``high - low < 1e-6``."""
    return isinstance(node, ast.Compare) and any(
        isinstance(one, ast.Constant) and isinstance(one.value, float) and 0 < one.value < 1e-3
        for one in (node.left, *node.comparators)
    )


def _is_a_bound(number: ast.Constant, around: tuple[ast.AST, ...]) -> bool:
    """Tell whether a number is in the condition of a raised error, or is a 0 in a comparison.

    Another number there, which no case reaches, would seem to correct the answer.
    """
    statement = next(node for node in around if isinstance(node, ast.stmt))
    refuses = isinstance(statement, ast.If) and statements.refuses(statement)
    return refuses or (isinstance(around[0], ast.Compare) and number.value == 0)


def _fault_of_name(old: ast.expr, new: ast.expr, scope: Scope) -> str:
    """Return a sentence if a variable of the notebook is used instead of an argument."""
    if not isinstance(old, ast.Name) or old.id not in scope.free or old.id in _names_in(new):
        return ""
    if isinstance(new, ast.Name) and nearest_name(old.id, [new.id]):
        return notebooks_name(old.id, new.id)
    same = "is a variable of the notebook, the same in every call"
    return f"`{old.id}` {same}: a function computes with its arguments"


def _is_an_axis(node: ast.expr, parent: ast.AST, field: str) -> bool:
    """Tell whether a number is an axis: in ``axis=1``, ``x.shape[1]`` or ``swapaxes``."""
    if not isinstance(node, ast.Constant) or type(node.value) is not int:
        return False
    if isinstance(parent, ast.keyword):
        return parent.arg in ("axis", "dim")
    if isinstance(parent, ast.Subscript):
        return field == "slice" and getattr(parent.value, "attr", "") == "shape"
    return expressions.name_of_call(parent) in ("swapaxes", "moveaxis") and field == "args"


def _without_names(node: ast.expr) -> str:
    """Dump an expression without variables' names; return "" for a single name or constant."""
    if isinstance(node, (ast.Name, ast.Constant)):
        return ""
    return re.sub(r"id='\w+'", "", ast.dump(node))
