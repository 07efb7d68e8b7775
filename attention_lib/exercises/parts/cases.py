"""Arguments for the cases of several exercises."""

from __future__ import annotations

import math
import pickle
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from attention_lib.checks.calls.case import Case


def in_float32(arguments: Iterable[Any]) -> list[Any]:
    """Convert the arrays among the arguments to float32."""
    return [
        argument.astype(np.float32) if isinstance(argument, np.ndarray) else argument
        for argument in arguments
    ]


def draw_projections(rng: Generator, d: int, d_k: int, d_v: int) -> list[NDArray]:
    """Draw w_q, w_k and w_v that keep vectors of size 1 at size 1."""
    return [rng.normal(size=(d, width)) / math.sqrt(d) for width in (d_k, d_k, d_v)]


def draw_mask(rng: Generator, shape: tuple[int, ...]) -> NDArray[np.bool_]:
    """Draw a mask that allows and forbids something in every row."""
    return rng.permuted(np.broadcast_to(np.arange(shape[-1]) < shape[-1] // 2, shape), axis=-1)


# Cases that nobody can know by heart


def about(rng: Generator, size: int) -> int:
    """Draw a size, at most an eighth above this one."""
    return int(rng.integers(size, size + size // 8 + 1))


def drawn_again(
    cases: Callable[[Generator], Iterator[Case]], change: Callable[[Generator, Case], Case]
) -> Callable[[Generator], Iterator[Case]]:
    """Add to each case that is the same for every seed one as hard, with other numbers."""

    def all_cases(rng: Generator) -> Iterator[Case]:
        own, others = list(cases(rng)), cases(np.random.default_rng(rng.integers(2**32)))
        yield from own
        for case, other in zip(own, others, strict=True):
            if pickle.dumps((case.args, case.kwargs)) == pickle.dumps((other.args, other.kwargs)):
                yield change(rng, case)

    return all_cases


def other_numbers(rng: Generator, array: NDArray) -> NDArray:
    """Multiply each row by a number near 1, or integers by a small one: 0 and ±inf stay."""
    shape = (*array.shape[:-1], 1)
    is_integer = array.dtype.kind in "iu"
    factors = rng.integers(2, 5, shape) if is_integer else rng.uniform(0.85, 0.99, shape)
    return (array * factors).astype(array.dtype)


def other_scores(rng: Generator, case: Case) -> Case:
    """Draw other rows for the first argument, in another order."""
    scores, *others = case.args
    scores = rng.permuted(other_numbers(rng, scores), axis=-1)
    return Case(scores, *others, raises=case.raises, **case.kwargs)


def other_arrays(rng: Generator, case: Case) -> Case:
    """Draw other rows for each floating or integer argument, which keep their order."""
    args = (other_numbers(rng, one) if np.ndim(one) > 1 else one for one in case.args)
    return Case(*args, raises=case.raises, **case.kwargs)
