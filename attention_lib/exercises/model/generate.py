"""`generate(step, prompt, count, choose, stop=None)` writes on from a prompt.

`step(tokens, caches)` returns `(scores, caches)`, with scores `(L, V)`; caches are None at first. `prompt`
`(L,)` holds integers, L ≥ 1. `choose(scores)` takes the scores `(V,)` of one word, the last row, and returns
the next word. The result holds the new words, at most `count`, as a list, a tuple or an array; it ends before
`stop`. The prompt goes into `step` at once, each new word by itself, as arrays of shape `(L,)` and by
position, with the caches that came back. There is one `choose` for each step, and `step` is not called when
nothing more is needed of it: `count` words take `count` calls, 0 words none.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from attention_lib.checks.calls import staging
from attention_lib.checks.calls.case import Case
from attention_lib.checks.exercise import Exercise, known_mistakes
from attention_lib.lessons.model import generate

HINTS = (
    "A loop with two variables: the newest words, which are the whole prompt at first, and the caches, "
    "which are None at first.",
    "In each turn: step, choose from scores[-1], stop or append. Then the newest words are that one "
    "word alone, np.array([word]).",
    "How often does step run for 3 words? Three times: the prompt gives the first, and after the third "
    "nobody asks what follows.",
)
VOCABULARY = 23


def noted(method: Callable[..., Any]) -> Callable[..., Any]:
    """Keep the error of a method as `refusal`, so that an answer that catches it is told all the same."""

    @functools.wraps(method)
    def call(self: Script, *args: Any) -> Any:
        try:
            return method(self, *args)
        except Exception as error:
            self.refusal = error
            raise

    return call


class Script:
    """A model whose scores depend on all words read so far, and that says how it must be called.

    Its caches are the words read, so that caches that are lost, or handed on twice, give other words.
    """

    def __init__(self, seed: int, prompt: NDArray, count: int, stop: int | None) -> None:
        self.seed, self.prompt, self.count, self.stop = seed, prompt, count, stop
        self.chosen_from = b""
        self.refusal: Exception | None = None

    @noted
    def step(self, tokens: Any, caches: Any) -> tuple[NDArray, NDArray]:
        if not isinstance(tokens, np.ndarray) or tokens.ndim != 1:
            raise TypeError(
                "step takes its tokens as an array of shape (L,); it was called with "
                f"{shape_or_type(tokens)}."
            )
        if caches is None:
            self.chosen_from = b""
            if len(tokens) != len(self.prompt):
                raise ValueError(
                    f"step was called without caches and with {len(tokens)} words: at first it takes the "
                    f"prompt's {len(self.prompt)} words at once, later the caches that came back."
                )
        elif len(tokens) != 1:
            raise ValueError(
                f"step was called with caches and {len(tokens)} words: after the prompt each new word goes "
                "in by itself, since the caches hold the others."
            )
        read = tokens if caches is None else np.append(caches, tokens)
        if self.stop in read[len(self.prompt) :]:
            raise ValueError(f"step was called with the word {self.stop}, which ends the text.")
        if len(read) >= len(self.prompt) + self.count:
            raise ValueError(
                f"step was called for word {len(read) - len(self.prompt) + 1} of {self.count}: it is not "
                "called when nothing more is needed of it."
            )
        before = len(read) - len(tokens)
        rows = [self.scores_after(read[: before + i + 1]) for i in range(len(tokens))]
        return np.array(rows), read

    def scores_after(self, read: NDArray) -> NDArray:
        """Return scores that depend on every word read, and on their order."""
        seeds = [self.seed, len(read), *read.tolist()]  # NumPy takes no notice of zeros at the end
        return np.random.default_rng(seeds).normal(size=VOCABULARY)

    @noted
    def choose(self, scores: Any) -> int:
        if not isinstance(scores, np.ndarray) or scores.ndim != 1:
            raise TypeError(
                "choose takes the scores of one word, shape (V,); it was called with "
                f"{shape_or_type(scores)}."
            )
        if scores.tobytes() == self.chosen_from:
            raise ValueError(
                "choose was called twice for one word: it may draw another one each time."
            )
        self.chosen_from = scores.tobytes()
        return int(scores.argsort()[-2])  # as no answer does that leaves out `choose`


def shape_or_type(value: Any) -> str:
    if isinstance(value, np.ndarray):
        return f"shape {value.shape}"
    return f"a value of type {type(value).__name__}"


def cases(rng: Generator) -> Iterator[Case]:
    yield scripted(rng, 3, 4)
    yield scripted(rng, 1, 3)
    yield scripted(rng, 5, 1)
    yield scripted(rng, 2, 0)
    yield scripted(rng, 4, 12)
    yield scripted(rng, 3, 9, ends_after=4)
    yield scripted(rng, 6, 8, ends_after=1)
    yield scripted(rng, 2, 7, ends_after=0)
    yield scripted(rng, 3, 5, ends_after=5)  # the word that ends the text would come sixth


def scripted(rng: Generator, length: int, count: int, ends_after: int | None = None) -> Case:
    """Draw a prompt and a model; with `ends_after`, its word of that number ends the text."""
    while True:
        prompt, seed = rng.integers(0, VOCABULARY, length), int(rng.integers(1 << 30))
        free = Script(seed, prompt, count + 1, None)
        words = generate(free.step, prompt, count + 1, free.choose)
        if len(set(words)) < len(words) and ends_after is not None:
            continue  # the word must come once, so that it is clear where the text ends
        stop = None if ends_after is None else int(words[ends_after])
        script = Script(seed, prompt, count, stop)
        arguments = script.step, prompt, count, script.choose
        return Case(*arguments) if stop is None else Case(*arguments, stop)


def plain(step, prompt, count, choose, stop=None):
    words, tokens, caches = [], np.array(prompt), None
    while len(words) < count:
        scores, caches = step(tokens, caches)
        word = choose(scores[-1])
        if word == stop:
            break
        words.append(word)
        tokens = np.array([word])
    return np.array(words, dtype=int)


MISTAKES = known_mistakes(
    plain,
    "stop-kept: The word that ends the text is among the words returned: look for it before you keep it.",
    "        if word == stop:\n            break\n        words.append(word) =>         words.append(word)\n"
    "        if word == stop:\n            break",
    "greedy: The word of the largest score is taken: call choose, which says what comes next.",
    "choose(scores[-1]) => int(np.argmax(scores[-1]))",
    "first-row: The scores of the first row are taken: the last row scores what follows the last word.",
    "scores[-1] => scores[0]",
    "prompt-returned: The prompt is among the words returned: return only the new ones.",
    "return np.array(words, dtype=int) => return np.array([*prompt, *words], dtype=int)",
    "caches-lost: The caches are not handed on: without them step has read one word.",
    "scores, caches = step(tokens, caches) => scores, _ = step(tokens, caches)",
    "scores, caches = step(tokens, caches) => scores, _ = step(tokens, None)",
    "one-word-too-few: One word is missing at the end.",
    "while len(words) < count => while len(words) < count - 1",
    "last-word-only: Only the last word is returned: return all new ones.",
    "return np.array(words, dtype=int) => return np.array(words[-1:], dtype=int)",
    "prompt-counted: The prompt's words are counted too: count is of the new ones.",
    "while len(words) < count => while len(words) + len(prompt) < count",
)

EXERCISE = Exercise(
    name="generate",
    points=3,
    minutes=8,
    reference=generate,
    run=staging.returning_an_array,
    cases=cases,
    hints=HINTS,
    mistakes=MISTAKES,
)
