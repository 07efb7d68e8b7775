"""What the GPU lesson's exercises share. Torch is imported when it is used, never with the catalogue."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from numpy.random import Generator

from attention_lib.checks.calls.case import Answer
from attention_lib.checks.calls.tensors import is_tensor


class LazyReference:
    """A function of `attention_lib` that needs torch, imported when it is first used.

    Parameters
    ----------
    name
        Its name in `attention_lib`.
    truth
        What is called in its place, where answers are compared with something else.
    """

    def __init__(self, name: str, truth: Answer | None = None) -> None:
        self.__name__ = name
        self._truth = truth

    @property
    def __wrapped__(self) -> Answer:  # where inspect looks for the source and the signature
        import attention_lib

        function = getattr(attention_lib, self.__name__)
        return getattr(function, "fn", function)  # of a Triton kernel, the Python function

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return (self._truth or self.__wrapped__)(*args, **kwargs)


def torch_device(name: str) -> Any:
    import torch

    return torch.device(name)


def draw_tensors(rng: Generator, *shapes: tuple[int, ...], dtype: str = "float64") -> list[Any]:
    import torch

    arrays = [rng.standard_normal(shape) for shape in shapes]
    return [torch.from_numpy(array).to(getattr(torch, dtype)) for array in arrays]


def draw_inputs(
    rng: Generator,
    leading: Sequence[int],
    sizes: tuple[int, int, int, int],
    dtype: str = "float64",
) -> list[Any]:
    """Draw query, key and value for the sizes L, S, d_k and d_v."""
    length, keys, d_k, d_v = sizes
    shapes = [(*leading, length, d_k), (*leading, keys, d_k), (*leading, keys, d_v)]
    return draw_tensors(rng, *shapes, dtype=dtype)


def leaves_device(answer: Answer, shapes: Sequence[tuple[int, ...]], *others: Any) -> bool:
    """Try tensors of the meta device, which have a device and no values."""
    import torch

    try:
        returned = answer(*(torch.empty(shape, device="meta") for shape in shapes), *others)
    except RuntimeError as error:
        # An answer may look at values, which are not there; devices it may not mix.
        texts = ("expected device", "same device", "Cannot copy out of meta tensor")
        return any(text in str(error) for text in texts)
    except TypeError:
        return False
    results = returned if isinstance(returned, (tuple, list)) else (returned,)
    return any(is_tensor(result) and not result.is_meta for result in results)


def output_magnitude(query: Any, key: Any, value: Any, is_causal: bool = False) -> Any:
    """Size attention's output: an error in any score of a row moves all its weights."""
    scores = query.abs() @ key.abs().transpose(-2, -1) / math.sqrt(query.shape[-1])
    largest = value.abs().amax(dim=(-2, -1), keepdim=True)
    return (2.0 + scores.amax(dim=-1, keepdim=True)) * largest
