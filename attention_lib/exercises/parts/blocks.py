"""Tiled attention with a wrong step, and the probes of block size that tiled exercises share."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from attention_lib.checks.calls.case import Answer, Case
from attention_lib.checks.calls.measuring import lines_run, overflows, peak_bytes, returned
from attention_lib.checks.exercise import Probe, Table, composable
from attention_lib.exercises.parts.softmax import EPSILONS, plain_softmax
from attention_lib.lessons.attention import attention

Arguments = tuple[Any, ...]  # of a tiled function, all but block_size
Changes = dict[str, Any]  # arguments of `tiled`: the parts that a wrong answer exchanges


def large_scores(rng: Generator) -> Iterator[Case]:
    """Yield scores far beyond what exp can take, some rows rising and some falling."""
    query, key = np.array([[2.0, 0.0], [-2.0, 0.0], [0.0, 2.0]]), np.zeros((7, 2))
    key[:, 0] = 1000 * np.sqrt(2) * np.arange(-3, 4) + np.array([0, 1, 2, 0, 1, 1, 2])
    key[:, 1] = -3000 + np.array([1, 2, 0, 0, 2, 1, 2])
    yield Case(query, key, rng.normal(size=(7, 3)), 2)
    yield Case(query, key[::-1].copy(), rng.normal(size=(7, 5)), 3)
    # All far above 0, and the rows far from each other.
    key = np.array([[1000.0, 4000.0]]) + rng.integers(0, 3, (5, 2))
    yield Case(np.array([[0.0, 2.0], [2.0, 0.0]]), key, rng.normal(size=(5, 3)), 3)
    key = np.zeros((6, 3), np.float32)
    key[:, 0] = [-2000, -1999, -1998, -2000, -1997, -1999]
    query = np.array([[1.0, 0.0, 0.0], [-1.0, 0.0, 0.0]], np.float32)
    yield Case(query, key, rng.normal(size=(6, 2)).astype(np.float32), 4)
    # Below every number that might stand for -inf.
    query, key = np.array([[1e70, 0.0], [-1e70, 0.0]]), np.zeros((5, 2))
    key[:, 0] = 1e70 * np.array([-3, -1, -2, -5, -4])
    yield Case(query, key, rng.normal(size=(5, 3)), 2)


def output_magnitude(
    query: NDArray, key: NDArray, value: NDArray, block_size: int, mask: NDArray | None = None
) -> NDArray:
    """Size the output: an error in any score of a row moves all its weights."""
    _, weights = attention(query, key, value, mask)
    scores = np.abs(query) @ np.abs(key).mT / math.sqrt(query.shape[-1])
    if mask is not None:
        scores = np.where(mask, scores, 0)
    reach = scores.max(axis=-1, keepdims=True)
    return weights * (2 + 4 * reach) @ np.abs(value)


# Tiled attention from parts. Each default is right; a wrong answer exchanges one or two.


def block_slices(count: int, block_size: int) -> list[slice]:
    """Cut `count` positions into blocks, of which the last may be short."""
    return [slice(j, min(j + block_size, count)) for j in range(0, count, block_size)]


def one_over_root_d_k(query: NDArray, key: NDArray, value: NDArray, block_size: int) -> float:
    return 1 / math.sqrt(query.shape[-1])


def row_maximum(scores: NDArray) -> NDArray:
    return scores.max(axis=-1, keepdims=True)


def correction(old: NDArray, new: NDArray) -> NDArray:
    return np.exp(old - new)


def no_correction(old: NDArray, new: NDArray) -> float:
    return 1.0


@composable
def tiled(
    *,
    scale: Callable[..., float] = one_over_root_d_k,
    blocks: Callable[[int, int], list[slice]] = block_slices,
    value_block: Callable[[slice], slice] = lambda block: block,
    first: float = -np.inf,
    width: Callable[[NDArray, NDArray], int] = lambda query, value: value.shape[-1],
    peak: Callable[[NDArray], Any] = row_maximum,
    raise_to: Callable[[Any, Any], Any] = np.maximum,
    weigh: Callable[..., NDArray] = lambda scores, old, new: np.exp(scores - new),
    correct_total: Callable[..., Any] = correction,
    correct_output: Callable[..., Any] = correction,
    end_of_step: Callable[..., Any] = lambda output, total: output,
    end: Callable[..., Any] = lambda output, total, maximum: output / total,
    hidden: Callable[[NDArray, NDArray], Any] | None = None,
    fill: float = -np.inf,
    hide_late: bool = False,
    skip_hidden: bool = False,
) -> Answer:
    """Make an answer to `tiled_attention` from its parts.

    Parameters
    ----------
    hidden
        Given the positions of queries (a column) and of keys (a row), which keys are hidden from
        which queries. Their scores are replaced with `fill`.
    hide_late
        Hide them after the exponentials only.
    skip_hidden
        Form the scores of a block that is hidden as a whole, but do not use them.
    """

    def answer(query: NDArray, key: NDArray, value: NDArray, block_size: int) -> Any:
        dtype = np.result_type(query, np.float32)
        factor = scale(query, key, value, block_size)
        rows = query.shape[:-1]
        maximum, total = np.full((*rows, 1), first, dtype), np.zeros((*rows, 1), dtype)
        output = np.zeros((*rows, width(query, value)), dtype)
        for block in blocks(key.shape[-2], block_size):
            scores = (query @ key[..., block, :].mT * factor).astype(dtype)
            is_hidden = np.False_
            if hidden is not None:
                columns = np.arange(block.start, block.stop)
                is_hidden = hidden(np.arange(query.shape[-2])[:, None], columns)
                if skip_hidden and np.all(is_hidden):
                    continue
                if not hide_late:
                    scores = np.where(is_hidden, dtype.type(fill), scores)
            new = raise_to(maximum, peak(scores))
            exponentials = weigh(scores, maximum, new)
            if hide_late:
                exponentials = np.where(is_hidden, 0, exponentials)
            total = total * correct_total(maximum, new) + exponentials.sum(-1, keepdims=True)
            mixed = exponentials @ value[..., value_block(block), :]
            output = end_of_step(output * correct_output(maximum, new) + mixed, total)
            maximum = new
        return end(output, total, maximum)

    return answer


def mistakes_of(wrong: dict[str, tuple[Changes, ...]], make: Callable[..., Answer]) -> Table:
    """Return the mistakes whose sentences and exchanged parts are given, made by `make`."""
    return tuple(
        entry
        for sentence, variants in wrong.items()
        for entry in (sentence, *(make(**changes) for changes in variants))
    )


# Mistakes in the step from block to block, in the order in which they are recognized.
WRONG_STEPS: dict[str, tuple[Changes, ...]] = {
    "nothing-corrected: Nothing is corrected when the maximum grows: multiply the total and the "
    "output so far by exp(old maximum − new maximum), while the old one is there.": (
        {"correct_total": no_correction, "correct_output": no_correction},
    ),
    "output-uncorrected: The output so far is not corrected when the maximum grows: multiply it by "
    "exp(old maximum − new maximum), like the total, while the old one is there.": (
        {"correct_output": no_correction},
    ),
    "total-uncorrected: The total so far is not corrected when the maximum grows: multiply it, while "
    "the old one is there, by exp(old maximum − new maximum).": ({"correct_total": no_correction},),
    "corrected-late: The new block is corrected with the rest: correct what was there before, and add "
    "the block's part after it.": (
        {"weigh": lambda scores, old, new: np.exp(scores - new) * np.exp(old - new)},
    ),
    "width-of-queries: The output so far is as wide as a query: it has d_v columns, as value has.": (
        {"width": lambda query, value: query.shape[-1]},
    ),
    "old-maximum: A block's exponentials are taken with the maximum from before it: take exp(score − "
    "maximum) with the new one.": (
        {"weigh": lambda scores, old, new: np.exp(scores - np.where(np.isinf(old), new, old))},
        {"weigh": lambda scores, old, new: np.exp(scores - old), "first": 0.0},
    ),
    "own-maximum: A block's exponentials are taken with the maximum of that block alone, and the sums "
    "so far have another one: take exp(score − maximum) with the larger of the two.": (
        {"weigh": lambda scores, old, new: np.exp(scores - row_maximum(scores))},
    ),
    "softmax-in-every-block: The weights of each block are divided by its own sum: take exp(score − "
    "maximum) alone, and divide once, at the very end.": (
        {"weigh": lambda scores, old, new: plain_softmax(scores - new)},
    ),
    "correction-reversed: The correction is reversed: multiply by exp(old maximum − new maximum), "
    "which is never above 1.": (
        dict.fromkeys(
            ("correct_total", "correct_output"),
            lambda old, new: np.where(np.isinf(old), 0, np.exp(new - old)),
        ),
    ),
    "old-maximum-subtracted: The old maximum is subtracted, at first far below every score, and the "
    "exponential is infinite: subtract the new one in every exponential, exp(old − new) and exp(score − new).": (
        {"weigh": lambda scores, old, new: np.exp(scores - old)},
    ),
    "block-maximum: The maximum is that of the present block alone: keep the larger one of the old "
    "and the new.": (
        {"raise_to": lambda old, new: new},
        {
            "raise_to": lambda old, new: new,
            "correct_total": no_correction,
            "correct_output": no_correction,
        },
    ),
    "maximum-starts-at-number: The maximum starts at a number: where all scores lie far below it, "
    "every exponential is 0. Start at -inf.": tuple(
        {"first": first} for first in (0.0, -1e3, -1e4, -1e6, -1e9, -1e20, -1e30)
    ),
    "exp-overflows: No maximum is subtracted, so the exponentials of large scores overflow.": (
        {"first": 0.0, "raise_to": lambda old, new: old},
    ),
    "one-maximum: There is one maximum for all queries: each has its own, along the last axis.": (
        {"peak": lambda scores: np.full((*scores.shape[:-1], 1), scores.max())},
    ),
    "not-divided: The output is not divided: at the very end, divide it by the total.": (
        {"end": lambda output, total, maximum: output},
    ),
    "constant-in-total: A constant is added to the total, which is at least 1: leave it out.": tuple(
        {"end": lambda output, total, maximum, epsilon=epsilon: output / (total + epsilon)}
        for epsilon in EPSILONS
    ),
    "output-not-alone: The output is returned with something else: return the output alone.": (
        {"end": lambda output, total, maximum: (output / total, maximum + np.log(total))},
        {"end": lambda output, total, maximum: (output / total, maximum, total)},
        {"end": lambda output, total, maximum: (output / total, total)},
    ),
    "last-keys-lost: Keys are lost at the end: the last block is short where block_size does not "
    "divide their number.": (
        # The first and the third keep one block where there would be none.
        {"blocks": lambda keys, size: block_slices(keys, size)[: keys // size] or [slice(0, keys)]},
        {"blocks": lambda keys, size: block_slices(keys, size)[: keys // size]},
        {"blocks": lambda keys, size: block_slices(keys, size)[:-1] or [slice(0, keys)]},
    ),
    "first-values-always: Every block of keys meets the first values: slice value like key.": (
        {"value_block": lambda block: slice(0, block.stop - block.start)},
    ),
}

WRONG_SCALES: dict[str, tuple[Changes, ...]] = {
    "never-scaled: The scores are not scaled: divide them by √d_k.": (
        {"scale": lambda query, key, value, block_size: 1.0},
    ),
    "divided-by-d-k: The scores are divided by d_k itself: divide them by √d_k.": (
        {"scale": lambda query, key, value, block_size: 1 / query.shape[-1]},
    ),
    "root-of-d-v: The scores are divided by √d_v: divide by √d_k, the width of queries and keys.": (
        {"scale": lambda query, key, value, block_size: 1 / math.sqrt(value.shape[-1])},
    ),
    "root-of-keys: The scores are divided by √S, the number of keys: divide them by √d_k.": (
        {"scale": lambda query, key, value, block_size: 1 / math.sqrt(key.shape[-2])},
    ),
    "root-of-block-size: The scores are divided by √block_size: divide them by √d_k.": (
        {"scale": lambda query, key, value, block_size: 1 / math.sqrt(block_size)},
    ),
    "multiplied-by-root: The scores are multiplied by √d_k: divide them by it.": (
        {"scale": lambda query, key, value, block_size: math.sqrt(query.shape[-1])},
    ),
}

DIVIDED_IN_EVERY_STEP: dict[str, tuple[Changes, ...]] = {
    "divided-every-step: The output is divided by the total in every step: the next step must then "
    "undo it. Divide once, after the last block.": (
        {
            "end_of_step": lambda output, total: output / total,
            "end": lambda output, total, maximum: output,
        },
    ),
}


def first_item_only(answer: Answer) -> Table:
    """Return the mistake of giving the first batch item's output alone."""
    return (
        "first-item-only: Only the first batch item is computed: leading dimensions must be kept.",
        lambda query, key, value, block_size: answer(
            *(array[(0,) * (array.ndim - 2)] for array in (query, key, value)), block_size
        ),
    )


# What is measured: bytes held, whether block_size matters, whether it is the size of a block.

FIXED_BLOCKS = (
    "Cut the keys into range(0, S, block_size): the caller decides how much is held at a time."
)
NUMBER_OF_BLOCKS = "block_size is how many keys a block has, not how many blocks there are."


def long_inputs(
    rng: Generator, length: int, keys: int, d_v: int = 1
) -> tuple[NDArray, NDArray, NDArray]:
    """Draw queries and keys of two components each: little beside the scores they make."""
    return tuple(rng.normal(size=shape) for shape in ((length, 2), (keys, 2), (keys, d_v)))


def held_and_allowed(held: int, allowed: int) -> str:
    return f"it held {held:,} bytes at once, and {allowed:,} are allowed."


def as_they_are(query: NDArray, key: NDArray, value: NDArray) -> Arguments:
    return query, key, value


def ignores_block_size(
    name: str, length: int, keys: int, complete: Callable[..., Arguments] = as_they_are
) -> Probe:
    """Return a probe that asks whether block_size makes any difference at all.

    Sums taken in other blocks are rounded otherwise, so among many numbers some differ in
    their last bits. Where not one bit changes, and not one line more is run for smaller
    blocks, the same work was done. `complete` makes the answer's arguments, all but block_size,
    out of query, key and value.
    """

    def probe(answer: Answer, rng: Generator) -> str | None:
        arguments = complete(*long_inputs(rng, length, keys, 9))
        sizes = (2, 7, 40)
        if len({_bits(returned(answer, *arguments, size)) for size in sizes}) > 1:
            return None
        if len({lines_run(answer, *arguments, size) for size in sizes}) > 1:
            return None
        return (
            f"{name} ignores block_size: with 2, 7 and 40 it returns "
            f"the same numbers to the last bit, as it did the same work. {FIXED_BLOCKS}"
        )

    return probe


def _bits(result: Any) -> bytes:
    """Return the bits of one array, or of several one after another."""
    parts = result if isinstance(result, (tuple, list)) else [result]
    return b"".join(np.asarray(part).tobytes() for part in parts)


def takes_block_size_for_a_count(
    name: str, length: int, keys: int, complete: Callable[..., Arguments] = as_they_are
) -> Probe:
    """Return a probe that asks whether more is done for two large blocks than for many small."""

    def probe(answer: Answer, rng: Generator) -> str | None:
        arguments, half = complete(*long_inputs(rng, length, keys)), keys // 2
        many, two = (lines_run(answer, *arguments, size) for size in (2, half))
        if two <= 2 * many:
            return None
        return (
            f"{name} cuts {keys} keys into more blocks for "
            f"block_size = {half} than for 2. {NUMBER_OF_BLOCKS}"
        )

    return probe


def growth_in_bytes(answer: Answer, small: Arguments, large: Arguments, block_size: int) -> int:
    """Return how much more one call holds at a time for the larger of two inputs."""
    first = peak_bytes(answer, *small, block_size)
    return peak_bytes(answer, *large, block_size) - first


FEW_KEYS, MANY_KEYS, SMALL_BLOCK = 64, 160, 4


def keeps_every_block(
    name: str,
    d_v: int,
    bytes_a_key: int,
    remedy: str,
    complete: Callable[..., Arguments] = as_they_are,
) -> Probe:
    """Return a probe of memory for few and many keys: what is kept of each block grows with them."""

    def probe(answer: Answer, rng: Generator) -> str | None:
        few, many = (complete(*long_inputs(rng, 128, keys, d_v)) for keys in (FEW_KEYS, MANY_KEYS))
        growth = growth_in_bytes(answer, few, many, SMALL_BLOCK)
        allowed = bytes_a_key * (MANY_KEYS - FEW_KEYS)
        if growth <= allowed:
            return None
        return (
            f"{name} keeps something of every block: for {MANY_KEYS} "
            f"keys in blocks of {SMALL_BLOCK} it held {growth:,} bytes more than for {FEW_KEYS}, "
            f"and {allowed:,} more are allowed. {remedy}"
        )

    return probe


HUGE = 1e200  # two such numbers multiplied overflow
FORMED_TWICE = (
    "Form the scores of each block once, and use them up in that step: the maximum, the total and "
    "the output so far grow side by side."
)


def forms_scores_twice(
    name: str,
    remedy: str = FORMED_TWICE,
    complete: Callable[..., Arguments] = as_they_are,
) -> Probe:
    """Return a probe that counts how often one score is formed.

    The score of one query and one key overflows to -inf, which a right answer gives the weight 0
    like any other, and no other score does. So every operation that forms this score overflows
    once. A query and a key as large whose product stays small show what else overflows.
    """

    def probe(answer: Answer, rng: Generator) -> str | None:
        huge_score, apart = inputs_with_a_huge_score(rng)
        formed, other = (overflows(answer, *complete(*one), 2) for one in (huge_score, apart))
        if formed - other < 2:
            return None
        return (
            f"{name} forms the score of one query and one key "
            f"{formed - other} times, and once is enough. {remedy}"
        )

    return probe


def inputs_with_a_huge_score(rng: Generator) -> Iterator[tuple[NDArray, NDArray, NDArray]]:
    """Yield query, key and value with one score that overflows to -inf, then without.

    There the two large numbers lie in different components.
    """
    query, key, value = (rng.normal(size=shape) for shape in ((3, 5), (7, 5), (7, 2)))
    query[:, :2], key[:, :2] = 0, 0
    query[rng.integers(3), 0] = -HUGE
    number = rng.integers(6)  # not the last, which is a block of its own
    for component in (0, 1):
        key[number, :2] = 0
        key[number, component] = HUGE
        yield query, key.copy(), value
