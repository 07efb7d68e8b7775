"""Find a student's words outside the cells that ask for them."""

from __future__ import annotations

import ast
import contextlib
import io
import re
import tokenize
import unicodedata
from collections.abc import Iterable, Iterator

from attention_lib.grading.intake.bindings import parse_cell

LONG_LINE = 20  # characters; such a part of a lesson's line is the lesson's own
# So many words in a row, or twelve letters of a script without spaces between words. Code needs
# more words, on one line: a short comment there is about the code.
_ROW = r"\b(?:[^\W\d_]++[%s,;:.'’\"()-]++){%d}[^\W\d_]|[\u0e00-\u0eff\u3040-\u9fff]{12}"
_SENTENCE = re.compile(_ROW % (r"\s", 5))
_SENTENCE_IN_CODE = re.compile(_ROW % (r" \t", 7))
_TEXT_MAGIC = re.compile(r"\s*%%(markdown|html|latex)\b", re.IGNORECASE)
_HTML_COMMENT = re.compile(r"<!--.*?(?:-->|\Z)", re.DOTALL)


def has_words(text: str) -> bool:
    """Tell whether a text has a letter, a digit or a symbol, not only punctuation or spaces."""
    kinds = map(unicodedata.category, text)
    return any(kind[0] in "LNS" and kind != "Sk" for kind in kinds)


def has_sentence(text: str) -> bool:
    """Tell whether a text has several words in a row."""
    return _SENTENCE.search(text) is not None


def is_blank_answer(text: str, placeholder: str) -> bool:
    """Tell whether an answer in words holds only its placeholder."""
    return not has_words(text.replace(placeholder.strip(), ""))


def with_comments_shown(text: str) -> str:
    """Make HTML comments visible if nothing else was written."""
    hidden = has_words(text) and not has_words(_HTML_COMMENT.sub("", text))
    return text.replace("<!--", "&lt;!--") if hidden else text


def own_words(text: str, kind: str, given: Iterable[str] = ()) -> str:
    """Return what a human should read of a cell, without the `given` lines of the lesson.

    In code, these are comments and texts: all of them if the cell holds nothing else, otherwise
    only whole sentences.
    """
    known = "\n".join(given)
    known_lines = {_stripped(line) for line in known.splitlines()}
    sentences_only = kind == "code" and not _is_text_only(text)
    if sentences_only and not _SENTENCE_IN_CODE.search(text):
        return ""
    parts = _comments_and_texts(text) if sentences_only else [text]
    lines = (line for part in parts for line in part.splitlines())
    bare = filter(lambda line: line not in known_lines, map(_stripped, lines))
    own = "\n".join(line for line in bare if len(line) < LONG_LINE or line not in known)
    return own if has_words(own) and (not sentences_only or _SENTENCE_IN_CODE.search(own)) else ""


def _stripped(line: str) -> str:
    return line.strip("#'\" \t")


def _is_text_only(code: str) -> bool:
    """Tell whether a code cell holds only comments and texts, which it may print or assign."""
    tree = parse_cell(code)
    return bool(_TEXT_MAGIC.match(code)) or (tree is not None and all(map(_is_text, tree.body)))


def _is_text(node: ast.stmt) -> bool:
    match node:
        case ast.Expr(value=ast.Call(func=ast.Name(), args=[ast.Constant(value=str())])):
            return True  # print("..."), Markdown("...")
        case ast.Expr(value=ast.Constant()) | ast.Assign(value=ast.Constant(value=str())):
            return True
    return False


def _comments_and_texts(code: str) -> Iterator[str]:
    """Yield comments and texts; code that cannot be parsed counts as one text."""
    if parse_cell(code) is None:
        yield code
        return
    with contextlib.suppress(tokenize.TokenError, SyntaxError):  # IPython's own syntax may stop it
        for token in tokenize.generate_tokens(io.StringIO(code).readline):
            is_text = token.type == tokenize.STRING and token.string[0] not in "fF"
            if is_text or token.type == tokenize.COMMENT:
                yield _stripped(token.string)
