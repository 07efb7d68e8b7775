"""Nothing reads a sentence of this library to decide: labels, topics, lines and metadata are compared.

What is caught, in `checks` and `grading`: a test with `in`, a pattern of `re`, and a method of strings
that looks for or cuts at a part, if they are given a sentence. A sentence is known by its name: that of
a field, a variable, a function or a key. Names of what a student, Python or NumPy wrote are others.
"""

import ast
from pathlib import Path

import pytest

import attention_lib

LIBRARY = Path(attention_lib.__file__).parent
NAMES = {
    *("sentence", "said", "told", "advice", "opening", "fault", "faults"),
    *("headline", "explanation", "explained", "finding_text", "remark", "evalue", "edit"),
}
FIELDS = NAMES - {"told"} | {"text", "problem", "words"}  # of an object
METHODS = {
    *("startswith", "endswith", "partition", "rpartition", "removeprefix", "removesuffix"),
    *("split", "rsplit", "splitlines", "find", "rfind", "index", "count", "replace"),
}
PATTERNS = {"search", "match", "fullmatch", "findall", "finditer", "split", "sub", "subn"}
READ = {  # who reads a sentence, and why
    "attention_lib/checks/show/panel.py": "sets code as code, and folds what follows three sentences",
}


def _is_a_sentence(node):
    match node:
        case ast.Name(id=name):
            return name in NAMES
        case ast.Attribute(value=ast.Name(id="cell" | "self")):
            return False  # of a notebook, or of what holds it
        case ast.Attribute(attr=name):
            return name in FIELDS
        case ast.Subscript(slice=ast.Constant(value=key)):
            return key in FIELDS
        case ast.Call(func=ast.Name(id=name) | ast.Attribute(attr=name), args=args):
            if name in (
                "str",
                "get",
                "lower",
                "upper",
                "strip",
                "rstrip",
                "lstrip",
                "join",
                "escape",
            ):
                owner = [node.func.value] if isinstance(node.func, ast.Attribute) else []
                keys = (one.value for one in args if isinstance(one, ast.Constant))
                return any(map(_is_a_sentence, [*args, *owner])) or any(k in FIELDS for k in keys)
            return name in NAMES
        case ast.BoolOp(values=values):
            return any(map(_is_a_sentence, values))
    return False


def _readings(tree):
    """Yield the places that read a sentence."""
    for node in ast.walk(tree):
        match node:
            case ast.Compare(ops=[ast.In() | ast.NotIn()], comparators=[right]):
                if _is_a_sentence(right):
                    yield node
            case ast.Call(func=ast.Attribute(value=owner, attr=name), args=args):
                if (name in METHODS and _is_a_sentence(owner)) or (
                    name in PATTERNS and any(map(_is_a_sentence, args))
                ):
                    yield node


@pytest.mark.parametrize(
    ("code", "is_read"),
    [
        ('"Besides" in report.sentence', True),
        ("first not in said", True),
        ('re.search("line 3", finding.text)', True),
        ('PATTERN.sub("", sentence)', True),
        ('verdict["sentence"].endswith("yet.")', True),
        ('str(verdict.get("sentence") or "").startswith("a")', True),
        ('headline(report).partition(". ")', True),
        ('any(f"with {name}" in output["evalue"] for name in names)', True),
        ('"casting" in str(error)', False),
        ("label in labels", False),
        ("one.topics & said.topics", False),
        ('f"{sentence} Besides: {one.text}"', False),
    ],
)
def test_a_reading_is_recognized(code, is_read):
    assert bool(list(_readings(ast.parse(code)))) is is_read


def test_no_place_reads_a_sentence_to_decide():
    found = {}
    for folder in ("checks", "grading"):
        for file in sorted((LIBRARY / folder).rglob("*.py")):
            name = file.relative_to(LIBRARY.parent).as_posix()
            for node in _readings(ast.parse(file.read_text("utf-8"))):
                found.setdefault(name, []).append(f"line {node.lineno}: {ast.unparse(node)}")
    assert len(READ) <= 3
    assert {name: lines for name, lines in found.items() if name not in READ} == {}
