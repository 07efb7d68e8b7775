"""Patch an answer's text: replace parts of it, and define the function in the new text.

A patch is written ``old => new``, or ``old => new && old => new`` for several replacements. A list
of choices in braces, ``np.{max|min}``, writes one patch for each choice.
"""

from __future__ import annotations
import __future__

import functools
import hashlib
import inspect
import itertools
import linecache
import math
import re
import sys
import textwrap
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

import attention_lib

AND, ARROW = " && ", " =>"
BAR = r"(?<!\s)\|(?!\s)"  # between choices; Python's own | has spaces around it
CHOICES = re.compile(rf"\{{([^{{}}]*{BAR}[^{{}}]*)\}}")


@dataclass(frozen=True, eq=False, repr=False)
class Patch:
    """An answer with parts of its text replaced, compiled at the first call.

    The new text may use the names of the answer's module, those of `attention_lib`, np and math.
    The answer's own name refers to the answer without the patch.

    Parameters
    ----------
    answer
        The function whose text is patched.
    replacements
        Pairs of an old text, which occurs in the answer exactly once, and the new one.
    mistake
        The id of the known mistake that the patch makes, for errors.
    """

    answer: Callable[..., Any]
    replacements: tuple[tuple[str, str], ...]
    mistake: str = ""

    @functools.cached_property
    def spans(self) -> tuple[tuple[int, int, str], ...]:
        """Start and end of each old text, and the new text; in the order of their places.

        Raises
        ------
        ValueError
            If an old text is not in the answer exactly once.
        """
        text, found = _source_of(self.answer).text, []
        for old, new in self.replacements:
            count, begin = text.count(old), text.find(old)
            if count != 1:
                raise ValueError(
                    f"{self._where} replaces {old!r}, which occurs {count} times in "
                    f"{self.answer.__name__}: quote text that occurs once."
                )
            found.append((begin, begin + len(old), new))
        return tuple(sorted(found))

    @property
    def text(self) -> str:
        """The answer's text after the replacements."""
        text = _source_of(self.answer).text
        for begin, end, new in reversed(self.spans):
            text = text[:begin] + new + text[end:]
        return text

    @functools.cached_property
    def function(self) -> Any:
        """The function that the patched text defines.

        Raises
        ------
        ValueError
            If the patched text is not valid Python.
        """
        text, source = self.text, _source_of(self.answer)
        digest = hashlib.sha256(text.encode()).hexdigest()[:16]
        name = f"<patched {self.answer.__name__} {digest}>"  # no code: Triton puts it in quotes
        linecache.cache[name] = (len(text), None, text.splitlines(keepends=True), name)
        defined: dict[str, Any] = {}
        try:
            code = compile(text, name, "exec", source.flags, dont_inherit=True)
            exec(code, source.names, defined)
        except (SyntaxError, NameError) as error:
            raise ValueError(f"{self._where} makes no function: {error}.\n{text}") from error
        finally:
            if source.is_packed or AND in self.mistake:  # must not be shown, or is one of thousands
                del linecache.cache[name]
        return defined[self.answer.__name__]

    def __repr__(self) -> str:
        """Return only the mistake's id: a class's edition must not print an answer."""
        return f"<Patch {self.mistake}>"

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self.function(*args, **kwargs)

    def with_(self, other: Patch) -> Patch | None:
        """Return both patches in one, or None if they change the same place, or other answers."""
        if self.answer is not other.answer or any(
            begin < other_end and other_begin < end
            for begin, end, _ in self.spans
            for other_begin, other_end, _ in other.spans
        ):
            return None
        mistakes = AND.join(filter(None, (self.mistake, other.mistake)))
        return Patch(self.answer, (*self.replacements, *other.replacements), mistakes)

    @property
    def _where(self) -> str:
        return f"{_source_of(self.answer).file}: {self.mistake or 'a patch'}"


def patches(answer: Callable[..., Any], written: str, mistake: str = "") -> Iterator[Patch]:
    """Read the patches of an answer from a text, one for each choice.

    The same list of choices in several places is one choice.

    Raises
    ------
    ValueError
        If a replacement is not written ``old => new``, or a list of choices not ``{one|other}``.
    """
    lists = list(dict.fromkeys(CHOICES.findall(written)))
    choices = [re.split(BAR, one) for one in lists]
    if re.search(BAR, CHOICES.sub("", written)) or not all(
        all(one) and len(one) == len(set(one)) for one in choices
    ):
        raise ValueError(
            f"{_file_of(answer)}: {mistake or 'a patch'}, in {written!r}: write choices as "
            "{one|other}, none of them empty and no two the same."
        )
    for chosen in itertools.product(*choices):
        text = written
        for one, choice in zip(lists, chosen, strict=True):
            text = text.replace(f"{{{one}}}", choice)
        parts = [part.split(ARROW) for part in text.split(AND)]
        if not all(len(part) == 2 and part[0] for part in parts):
            raise ValueError(
                f"{_file_of(answer)}: {mistake or 'a patch'}, in {written!r}: write each "
                f"replacement as 'old => new', and several with{AND}between them."
            )
        yield Patch(answer, tuple((old, new.removeprefix(" ")) for old, new in parts), mistake)


class Source(NamedTuple):
    """A function's text, where it is, and how it is compiled."""

    text: str
    file: str
    names: dict[str, Any]  # names that the text may use, one dictionary for all patches
    flags: int  # for the compiler
    is_packed: bool  # in a class's edition, which shows no source


@functools.cache
def _source_of(answer: Callable[..., Any]) -> Source:
    function = inspect.unwrap(answer)
    code, module = function.__code__, sys.modules.get(function.__module__)
    packed_source = getattr(getattr(module, "__loader__", None), "packed_source", None)
    if packed_source and code.co_filename not in linecache.cache:
        lines = packed_source(code.co_filename).splitlines(keepends=True)
    else:
        lines = linecache.getlines(code.co_filename)
    block = inspect.getblock(lines[code.co_firstlineno - 1 :])
    text = textwrap.dedent("".join(block))
    names = {**vars(attention_lib), "np": np, "math": math, **function.__globals__}
    flags = code.co_flags & __future__.annotations.compiler_flag
    return Source(text, _file_of(answer), names, flags, packed_source is not None)


def _file_of(answer: Callable[..., Any]) -> str:
    """Return the last folder and the name of an answer's file, as ``scaling/entropy.py``."""
    return "/".join(Path(inspect.unwrap(answer).__code__.co_filename).parts[-2:])
