"""Words that a person should read, wherever a student wrote them, and what is no words."""

import pytest

from attention_lib.grading.intake.words import (
    has_sentence,
    is_blank_answer,
    own_words,
    with_comments_shown,
)

STUB = 'def f(x):\n    """Return the sum of all of the numbers in x."""\n    # YOUR CODE HERE'
LONG = "since a difference of scores becomes a ratio of weights"


@pytest.mark.parametrize(
    "text",
    [
        *("Yes", "нет", "因为", "لأن", "क्योंकि", "42", "$e^x$", "😀", "![](attachment:a.png)"),
        *("| a | b |", "```\ncode\n```", "<!-- hidden -->", "YOUR ANSWER HERE: yes", "∑"),
    ],
)
def test_answer_has_words(text):
    assert not is_blank_answer(text, "YOUR ANSWER HERE")


@pytest.mark.parametrize(
    "text",
    [
        "",
        " \n\t",
        "YOUR ANSWER HERE",
        "YOUR ANSWER HERE \n\n...",
        "\u200b\ufeff\u00a0",
        "—",
        "```\n```",
    ],
)
def test_answer_is_blank(text):
    assert is_blank_answer(text, "YOUR ANSWER HERE\n")


@pytest.mark.parametrize(
    ("kind", "text", "read"),
    [
        ("markdown", "Ratios.", True),
        ("markdown", "...", False),
        ("code", "# Ratios.", True),
        ("code", '"""Ratios."""', True),
        ("code", "x = 1  # ratios", False),
        ("code", "print('Ratios.')", True),
        ("code", "answer = 'Ratios.'", True),
        ("code", "%%markdown\nRatios.", True),
        ("markdown", "```\nreturn\n```", True),
        ("code", f"x = 1  # {LONG}", True),
        ("code", f"print('{LONG}')", True),
        ("code", f"x = 1\n{LONG}", True),
        ("code", "return x if y is not None else z", False),
        ("code", STUB + "\n    return 1", False),
        ("code", f"{STUB}\n    # {LONG}\n    return 1", True),
        ("code", "x = 1  # 因为指数函数把分数的差变成了权重的比", True),
        ("code", "%matplotlib inline\nx = 1", False),
        ("code", "", False),
    ],
)
def test_words_are_found_in_cells(kind, text, read):
    assert bool(own_words(text, kind, [STUB])) == read


def test_given_lines_are_nobodys_words():
    given = "### Exercise\n\nWhy does it add up?"
    assert own_words(given + "\n\nBecause.", "markdown", [given]).strip() == "Because."


def test_only_hidden_words_are_shown():
    assert with_comments_shown("<!-- a -->") == "&lt;!-- a -->"
    assert with_comments_shown("b <!-- a -->") == "b <!-- a -->"
    assert with_comments_shown("<!-- a") == "&lt;!-- a"


@pytest.mark.parametrize("text", ["a" * 200_000, "a b c d 1 " * 20_000, "a " * 4, " " * 200_000])
def test_text_without_sentence_takes_little_time(text):
    assert not has_sentence(text)
