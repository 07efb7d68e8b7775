"""Launch kernels in NumPy, one program after another: `jit` and `autotune` without a GPU.

A kernel's own function is called, never a changed copy of its source, so that an error arises in
the line that whoever wrote the kernel knows.
"""

from __future__ import annotations

import contextlib
import functools
import inspect
import itertools
import operator
import types
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch

import attention_lib.lessons.gpu.tile_language as tile_language  # its package is a stub in the sandbox
from attention_lib.lessons.gpu.tile_language import Block, Memory, as_block, pointer_type, running


class Kernel:
    """A function that many programs run, each on blocks of its own."""

    def __init__(self, function: Callable[..., Any], constants: dict[str, Any]) -> None:
        functools.update_wrapper(self, function)
        self.fn, self._constants = function, constants
        self._signature = inspect.signature(function)
        kinds = {n: str(getattr(k, "__name__", k)) for n, k in function.__annotations__.items()}
        self._constant_names = {name for name, kind in kinds.items() if "constexpr" in kind}

    def __getitem__(self, grid: Any) -> Callable[..., None]:
        return functools.partial(self._launch, grid)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if not running.grid:
            name = self.fn.__name__
            raise RuntimeError(f"A kernel is launched on a grid of programs: {name}[grid](...).")
        return _in_numpy(self.fn)(**self._bound(args, kwargs))

    def _launch(self, grid: Any, /, *args: Any, **options: Any) -> None:
        known = self._constants | options
        known = {name: known[name] for name in known if name in self._signature.parameters}
        values = self._bound(args, known)  # without what concerns a compiler alone
        grid = grid(values) if callable(grid) else grid
        if not isinstance(grid, (tuple, list)):
            raise TypeError(f"A grid is a tuple of one to three numbers, such as (3,), not {grid}.")
        function = _in_numpy(self.fn)
        with _launch_on((*map(operator.index, grid), 1, 1)[:3]):
            for place in itertools.product(*map(range, running.grid)):
                running.place = place
                function(**values)

    def _bound(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> dict[str, Any]:
        bound = self._signature.bind(*args, **kwargs)
        bound.apply_defaults()
        return {
            name: _constant(value) if name in self._constant_names else _argument(name, value)
            for name, value in bound.arguments.items()
        }


@contextlib.contextmanager
def _launch_on(grid: tuple[int, ...]) -> Iterator[None]:
    try:
        running.grid = grid
        with np.errstate(all="ignore"):
            yield
    finally:
        running.grid = ()


@contextlib.contextmanager
def one_program() -> Iterator[None]:
    """Let kernels be called in the body, as the only program of a launch calls them."""
    with _launch_on((1, 1, 1)):
        running.place = (0, 0, 0)
        yield


@dataclass(eq=False)
class Config:
    """Constants that a kernel is launched with; what else there is concerns a compiler alone."""

    kwargs: dict[str, Any]
    num_warps: int = 4
    num_stages: int = 3
    maxnreg: int | None = None


def jit(function: Callable[..., Any] | None = None, **options: Any) -> Any:
    """Make a kernel of a function, as `triton.jit` does."""
    return Kernel(function, {}) if function else jit


def autotune(configs: Sequence[Config], key: Sequence[str], **options: Any) -> Any:
    """Launch a kernel with the first of several configurations: here no time is measured."""
    return lambda kernel: Kernel(kernel.fn, configs[0].kwargs)


def in_numpy(kernel: Any) -> Any:
    """Return a kernel of Triton's as one that runs here; one that does already stays as it is."""
    while not isinstance(kernel, (Kernel, types.FunctionType)):
        kernel = kernel.fn
    return kernel if isinstance(kernel, Kernel) else jit(kernel)


def _in_numpy(function: Callable[..., Any]) -> Callable[..., Any]:
    """Let a function that was written for Triton find here what it would find there."""
    known, names = function.__globals__, function.__code__.co_names
    found = {name: _constant(known[name]) for name in names if name in known}
    if all(found[name] is known[name] for name in found):
        return function
    cells = tuple(types.CellType(_constant(c.cell_contents)) for c in function.__closure__ or ())
    return types.FunctionType(function.__code__, known | found, closure=cells)


def _constant(value: Any) -> Any:
    """Return for a module, a kernel or a constant of Triton's what stands for it here."""
    kind = value.__name__ if isinstance(value, types.ModuleType) else type(value).__module__
    if kind.partition(".")[0] != "triton":
        return value
    if isinstance(value, types.ModuleType):
        return tile_language
    return in_numpy(value) if hasattr(value, "fn") else value.value


def _argument(name: str, value: Any) -> Any:
    """Return what a kernel gets for an argument: a pointer for a tensor, a block for a number."""
    if isinstance(value, torch.Tensor):
        return pointer(name, value)
    if isinstance(value, (tuple, list)):
        return tuple(_argument(name, one) for one in value)
    return as_block(value) if isinstance(value, (bool, int, float)) else _constant(value)


def block_of(array: np.ndarray) -> Block:
    """Return a block of an array of integers or booleans."""
    types_of = {np.bool_: tile_language.int1, np.int32: tile_language.int32}
    return Block(array, types_of.get(array.dtype.type, tile_language.int64))


def pointer(name: str, tensor: torch.Tensor) -> Block:
    """Return a pointer to a tensor's first number, in the memory that it is part of."""
    kind = getattr(tile_language, str(tensor.dtype).removeprefix("torch."))
    storage = torch.empty(0, dtype=tensor.dtype).set_(tensor.untyped_storage())
    if tensor.dtype == torch.bfloat16:
        storage = storage.view(torch.uint16)
    memory = Memory(name, storage.numpy(), tensor.storage_offset())
    dtype = pointer_type(f"pointer<{kind}>", np.int64, 64, "p", kind)
    return Block(memory.first, dtype, memory)
