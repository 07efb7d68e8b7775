"""How functions and the library are named in sentences."""

import ast
from pathlib import Path

import pytest

import attention_lib
from attention_lib.checks.wording import LIBRARY, known_name


@pytest.mark.parametrize(
    ("name", "known"),
    [
        ("scipy.special._logsumexp.softmax", "scipy.special.softmax"),
        ("scipy.stats._policy._policy_factory.<locals>.decorator.<locals>.wra", "scipy.stats"),
        ("torch._scaled_dot_product", "torch._scaled_dot_product"),
        ("attention_lib.lessons.softmax.softmax", "lib.softmax"),
    ],
)
def test_calls_have_the_names_that_learners_know(name, known):
    assert known_name(name) == known


def sentences_of(file):
    """Yield the strings of a module that read as text, docstrings apart."""
    tree = ast.parse(file.read_text("utf-8"))
    docstrings = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    for node in ast.walk(tree):
        text = node.value if isinstance(node, ast.Constant) else None
        if isinstance(text, str) and " " in text and id(node) not in docstrings:
            yield text


@pytest.mark.parametrize("folder", ["checks", "exercises"])
def test_sentences_name_the_library_as_the_notebooks_import_it(folder):
    files = (Path(attention_lib.__file__).parent / folder).rglob("*.py")
    wrong = [
        (file.name, sentence)
        for file in files
        for sentence in sentences_of(file)
        if "attention_lib" in sentence and not sentence.startswith(".venv/bin/python -m ")
    ]
    assert wrong == []


def test_notebooks_import_the_library_by_the_name_that_sentences_use():
    imported = f"import attention_lib as {LIBRARY}"
    for lesson in (Path(attention_lib.__file__).parents[1] / "solutions").glob("[0-9]*.md"):
        assert imported in lesson.read_text("utf-8"), lesson.name
