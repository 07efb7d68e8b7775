"""Arguments for the cases of several exercises."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray


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
