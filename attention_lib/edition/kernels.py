"""Triton kernels that an edition withholds: the learner's own, once they have passed their checks."""

from __future__ import annotations

import inspect
from typing import Any, NoReturn

from attention_lib.edition import calls
from attention_lib.edition.lookups import NotRecorded

__all__ = ["WithheldKernel", "own_attention"]


class WithheldKernel:
    """Stands for a kernel of the library; a launch of it says that it is the learner's to write."""

    def __init__(self, name: str, contract: str) -> None:
        self.__name__, self.__doc__ = name, contract

    def __getitem__(self, grid: Any) -> NoReturn:
        raise NotRecorded(calls.advice(self.__name__))

    def __call__(self, *args: Any, **kwargs: Any) -> NoReturn:
        raise NotRecorded(calls.advice(self.__name__))


def __getattr__(name: str) -> Any:
    """Return a kernel of lesson 09 by its name, as `attention_lib` hands it out."""
    from attention_lib.lessons.gpu import kernel

    if name not in kernel.__all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    own_one = calls.own_function(name)
    return getattr(kernel, name) if own_one is None else own_one


def own_attention(query: Any, key: Any, value: Any, is_causal: bool) -> Any:
    """Compute attention by the learner's own two kernels, or return None where one is missing."""
    from attention_lib.lessons.gpu import launch

    program, kernel = map(calls.own_function, ("flash_program", "flash_kernel"))
    if program is None or kernel is None:
        return None
    tile = (16, 16)
    if not launch.INTERPRETED:
        tile = (32, 32) if query.dtype == launch.torch.float32 else (64, 64)
        program, kernel = (launch.jit(k) if inspect.isfunction(k) else k for k in (program, kernel))
    dtype = query.dtype
    if launch.INTERPRETED and dtype == launch.torch.bfloat16:  # the interpreter keeps bare bits
        query, key, value = query.float(), key.float(), value.float()
    shape, leading = query.shape, query.shape[:-2]
    query, key, value = (
        tensor.detach().expand(*leading, *tensor.shape[-2:]).flatten(0, -3).contiguous()
        for tensor in (query, key, value)
    )
    output = launch.torch.empty_like(query)
    launch.run_program(program, query, key, value, output, is_causal, kernel=kernel, tile=tile)
    return output.reshape(shape).to(dtype)
