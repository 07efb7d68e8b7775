"""Launch kernels in NumPy, one program after another: `jit` and `autotune` without a GPU.

A kernel's own function is called, never a changed copy of its source, so that an error arises in
the line that whoever wrote the kernel knows.
"""

from __future__ import annotations

import functools
import inspect
import itertools
import operator
import types
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from numbers import Number
from typing import Any

import numpy as np
import torch

from attention_lib.lessons.gpu import tile_language
from attention_lib.lessons.gpu.tile_language import BY_NAME, Block, Memory, as_block, pointer_type

OUTSIDE = (
    "A kernel is launched on a grid of programs, {name}[grid](...), or called by another kernel."
)


class Kernel:
    """A function that many programs run, each on blocks of its own."""

    def __init__(self, function: Callable[..., Any]) -> None:
        self.fn = function
        functools.update_wrapper(self, function)
        self._signature = inspect.signature(function)
        self._constants = {
            name
            for name, annotation in function.__annotations__.items()
            if str(getattr(annotation, "__name__", annotation)).endswith("constexpr")
        }

    def __getitem__(self, grid: Any) -> Callable[..., None]:
        return functools.partial(self._launch, grid)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if not tile_language.running.grid:
            raise RuntimeError(OUTSIDE.format(name=self.fn.__name__))
        return _in_numpy(self.fn)(**self._bound(args, kwargs))

    def _launch(self, grid: Any, /, *args: Any, **kwargs: Any) -> None:
        known = {name: kwargs[name] for name in kwargs if name in self._signature.parameters}
        values = self._bound(args, known)  # without options of the compiler
        grid = grid(values) if callable(grid) else grid
        if not isinstance(grid, (tuple, list)):
            raise TypeError(f"A grid is a tuple of up to three numbers, such as (3,); got {grid}.")
        running, sizes = tile_language.running, (*map(operator.index, grid), 1, 1)[:3]
        function, before = _in_numpy(self.fn), (running.place, running.grid)
        try:
            running.grid = sizes
            with np.errstate(all="ignore"):
                for running.place in itertools.product(*map(range, sizes)):
                    function(**values)
        except Exception as error:
            _end_in_the_kernel(error.__traceback__)
            raise
        finally:
            running.place, running.grid = before

    def _bound(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> dict[str, Any]:
        bound = self._signature.bind(*args, **kwargs)
        bound.apply_defaults()
        return {
            name: _constant(value) if name in self._constants else _argument(name, value)
            for name, value in bound.arguments.items()
        }


@dataclass(eq=False)
class Config:
    """Constants that a kernel is launched with; what else there is concerns a compiler alone."""

    kwargs: dict[str, Any]
    num_warps: int = 4
    num_stages: int = 3
    maxnreg: int | None = None


@dataclass
class Tuned:
    """A kernel with the constants of its first configuration: no time is measured here."""

    fn: Kernel
    configs: Sequence[Config] = field(default_factory=list)

    def __getitem__(self, grid: Any) -> Callable[..., None]:
        return functools.partial(self.fn[grid], **self.configs[0].kwargs)


def jit(function: Callable[..., Any] | None = None, **options: Any) -> Any:
    """Make a kernel of a function, as `triton.jit` does."""
    return Kernel(function) if function else jit


def autotune(configs: Sequence[Config], key: Sequence[str] = (), **options: Any) -> Any:
    """Launch a kernel with the first of several configurations, for `triton.autotune`."""
    return lambda kernel: Tuned(kernel, configs)


def in_numpy(kernel: Any) -> Any:
    """Return a kernel of Triton's as one that runs here; one that does already stays as it is."""
    while not isinstance(kernel, (Kernel, types.FunctionType)):
        kernel = kernel.fn
    return kernel if isinstance(kernel, Kernel) else Kernel(kernel)


def _in_numpy(function: Callable[..., Any]) -> Callable[..., Any]:
    """Let a kernel's function find here what it would find in Triton."""
    names = [name for name in function.__code__.co_names if name in function.__globals__]
    others = {name: _constant(function.__globals__[name]) for name in names}
    cells = tuple(
        types.CellType(_constant(cell.cell_contents)) for cell in function.__closure__ or ()
    )
    if not any(others[name] is not function.__globals__[name] for name in names):
        return function
    return types.FunctionType(function.__code__, function.__globals__ | others, closure=cells)


def _constant(value: Any) -> Any:
    """Return for a module, a kernel or a constant of Triton's what stands for it here."""
    if not _is_of_triton(value):
        return value
    if isinstance(value, types.ModuleType):
        return tile_language
    if hasattr(value, "fn"):
        return in_numpy(value)
    return getattr(value, "value", value)


def _is_of_triton(value: Any) -> bool:
    name = value.__name__ if isinstance(value, types.ModuleType) else type(value).__module__
    return name.partition(".")[0] == "triton"


def _argument(name: str, value: Any) -> Any:
    """Return what a kernel gets for an argument: a pointer for a tensor, a block for a number."""
    if isinstance(value, torch.Tensor):
        return _pointer(name, value)
    if isinstance(value, (tuple, list)):
        return tuple(_argument(name, one) for one in value)
    if isinstance(value, Number):
        return as_block(value)
    if isinstance(value, np.ndarray):
        raise TypeError(f"{name}: a kernel takes tensors, torch.from_numpy(array), not arrays.")
    return _constant(value)


def _pointer(name: str, tensor: torch.Tensor) -> Block:
    if tensor.device.type != "cpu":
        raise ValueError(
            f"{name}: without Triton a kernel runs on the CPU; this tensor is on {tensor.device}."
        )
    kind = BY_NAME[str(tensor.dtype)]
    storage = torch.empty(0, dtype=tensor.dtype).set_(tensor.untyped_storage())
    if tensor.dtype == torch.bfloat16:
        storage = storage.view(torch.uint16)
    memory = Memory(name, storage.numpy(), tensor.storage_offset())
    pointer = pointer_type(f"pointer<{kind}>", np.int64, 64, kind)
    return Block(memory.first, pointer, memory)


def _end_in_the_kernel(trace: types.TracebackType | None) -> None:
    """Cut the frames in which an operation was carried out from the end of a traceback."""
    own = {one.__code__.co_filename for one in (tile_language.load, jit)}
    last = None
    while trace is not None:
        if trace.tb_frame.f_code.co_filename not in own:
            last = trace
        trace = trace.tb_next
    if last is not None:
        last.tb_next = None
