"""Emulate in NumPy the part of `triton.language` that the course's kernels use: `tl` without a GPU.

A block is an array with one of Triton's dtypes. Dtypes are promoted and shapes are broadcast as
Triton does it, and what Triton refuses is refused, in its words where the checks know them. A load
or a store outside of a tensor's memory, which on a GPU may do anything, is an error.
"""

from __future__ import annotations

import builtins
import types
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True, eq=False)  # each type is one object, and compared as such
class dtype:
    """A type of numbers. bfloat16 is computed in float32, and rounded after each operation."""

    name: str
    numpy: type[np.generic]
    bits: int
    kind: str  # b, u, i or f, as in NumPy, or p for a pointer

    def __str__(self) -> str:
        return self.name


@dataclass(frozen=True)
class pointer_type(dtype):
    """The type of the address of a number."""

    element_ty: dtype


int1, uint8 = dtype("int1", np.bool_, 1, "b"), dtype("uint8", np.uint8, 8, "u")
int8, int16 = dtype("int8", np.int8, 8, "i"), dtype("int16", np.int16, 16, "i")
int32, int64 = dtype("int32", np.int32, 32, "i"), dtype("int64", np.int64, 64, "i")
float16, bfloat16 = dtype("fp16", np.float16, 16, "f"), dtype("bf16", np.float32, 16, "f")
float32, float64 = dtype("fp32", np.float32, 32, "f"), dtype("fp64", np.float64, 64, "f")


class constexpr:
    """Mark a parameter that is known when a kernel is compiled; a value stays what it is."""

    def __new__(cls, value: Any) -> Any:
        return value


@dataclass
class Memory:
    """The memory of a tensor: all numbers of its storage, and where the tensor's own begin."""

    name: str
    numbers: NDArray[Any]
    first: int


running = types.SimpleNamespace(place=(), grid=())  # which program, and of how many

OF_TL = (
    "a kernel takes operations from tl alone: tl.exp2, tl.maximum and tl.where, not np's, torch's "
    "or math's, nor int and float."
)
AMBIGUOUS = (
    "a block of numbers is neither true nor false: if, and, or, min and max take one number. Of blocks "
    "tl.where chooses, tl.minimum(a, b) and tl.maximum(a, b) compare, & and | join masks."
)


class Block:
    """A block of numbers, or of pointers: places in a tensor's memory. A number has no axes."""

    def __init__(self, data: Any, dtype: dtype, memory: Memory | None = None) -> None:
        self.data = np.asarray(data, dtype.numpy)
        if dtype is bfloat16:
            self.data = _narrowed(self.data)
        self.shape, self.memory = self.data.shape, memory
        self.dtype = self.type = dtype

    def like(self, data: Any) -> Block:
        """Return other data of the same dtype, in the same memory."""
        return Block(data, self.dtype, self.memory)

    def __getitem__(self, slices: Any) -> Block:
        slices = slices if isinstance(slices, tuple) else (slices,)
        if any(one is not None and one != slice(None) for one in slices):
            raise ValueError(f"unsupported tensor index: {slices}")
        return self.like(self.data[slices])

    def __bool__(self) -> bool:
        if self.shape:
            raise ValueError(AMBIGUOUS)
        return bool(self.data)

    def __index__(self) -> int:
        if self.shape or self.dtype.kind not in "iu":
            raise TypeError(f"a whole number is wanted, not {self.dtype} of shape {self.shape}")
        return int(self.data)

    def _refused(self, *_: Any, **__: Any) -> Any:
        raise TypeError(OF_TL)

    __int__ = __float__ = __array__ = __array_ufunc__ = __array_function__ = _refused
    __torch_function__ = classmethod(_refused)
    __iter__ = None


def _narrowed(data: NDArray[Any]) -> NDArray[Any]:
    """Round float32 to the nearest numbers of 8 bits' precision, those of bfloat16."""
    bits = np.ascontiguousarray(data).view(np.uint32)
    rounded = (bits + np.uint32(0x7FFF) + (bits >> 16 & 1)) & np.uint32(0xFFFF0000)
    return np.where(np.isnan(data), data, rounded.view(np.float32).reshape(data.shape))


def as_block(value: Any) -> Block:
    """Return a block as it is, and a number as one without axes."""
    if isinstance(value, Block):
        return value
    if not isinstance(value, (bool, int, float)):
        raise TypeError(f"cannot convert {value} of type {type(value)} to tensor")
    if isinstance(value, float):
        return Block(value, float32)
    wide = int32 if -(2**31) <= value < 2**31 else int64
    return Block(value, int1 if isinstance(value, bool) else wide)


def cast(input: Any, dtype: dtype) -> Block:
    block = as_block(input)
    if block.dtype == dtype:
        return block
    if "p" in (block.dtype.kind, dtype.kind):
        raise TypeError(f"cannot cast {block.dtype} to {dtype}")
    return Block(block.data, dtype)


def _common(a: Any, b: Any, both: tuple[dtype, dtype], divides: bool) -> dtype:
    """Return the dtype that two operands meet in: a number that Python holds gives way to a block's."""
    if isinstance(a, Block) != isinstance(b, Block):
        of_block, of_number = both if isinstance(a, Block) else both[::-1]
        if "buif".index(of_number.kind) <= "buif".find(of_block.kind):
            both = (of_block, of_block)
    for wide in (float64, float32):
        if wide in both:
            return wide
    if float16 in both or bfloat16 in both:
        if divides or (float16 not in both and both[0] is not both[1]):
            return float32
        return float16 if float16 in both else bfloat16
    return builtins.max(both, key=lambda one: (one.bits, one.kind == "u"))


def _applied(function: Callable[..., Any], *arrays: NDArray[Any]) -> Any:
    """Call a function of NumPy's on arrays whose shapes have to fit."""
    try:
        return function(*arrays)
    except ValueError:
        shapes = " and ".join(str(list(array.shape)) for array in arrays)
        raise ValueError(f"Cannot make_shape_compatible: incompatible shapes {shapes}") from None


def _operator(
    function: Callable[..., Any], kinds: str = "buif", result: Any = None, divides: bool = False
) -> Callable[..., Block]:
    """Return an operation on two blocks or numbers, of some kinds of dtypes."""

    def operation(a: Any, b: Any) -> Block:
        left, right = as_block(a), as_block(b)
        common = left.dtype
        if common is not right.dtype or divides:
            common = _common(a, b, (left.dtype, right.dtype), divides)
        if common.kind not in kinds or "p" in (left.dtype.kind, right.dtype.kind):
            raise TypeError(f"invalid operands of type {left.dtype} and {right.dtype}")
        data = _applied(function, cast(left, common).data, cast(right, common).data)
        common = common if data.dtype.kind == common.kind else float32  # the quotient of integers
        return Block(data, result or common)

    return operation


_sum_of_numbers, _difference = _operator(np.add), _operator(np.subtract)


def _add(a: Any, b: Any) -> Block:
    pointer, by = as_block(a), as_block(b)
    if pointer.dtype.kind != "p":
        pointer, by = by, pointer
    if pointer.dtype.kind != "p":
        return _sum_of_numbers(a, b)
    if by.dtype.kind in "fp":
        raise TypeError(f"invalid operands of type {pointer.dtype} and {by.dtype}")
    return pointer.like(_applied(np.add, pointer.data, by.data))


def _sub(a: Any, b: Any) -> Block:
    is_pointer = as_block(a).dtype.kind == "p"
    return _add(a, _difference(0, b)) if is_pointer else _difference(a, b)


OPERATORS = {
    **{"add": _add, "sub": _sub, "mul": _operator(np.multiply)},
    "truediv": _operator(np.divide, divides=True),
    "mod": _operator(np.fmod, divides=True),  # with the sign of a, as in C
    "floordiv": _operator(lambda a, b: (a - np.fmod(a, b)) // b, "ui", divides=True),
    **{"and": _operator(np.bitwise_and, "bui"), "or": _operator(np.bitwise_or, "bui")},
    **{"lt": _operator(np.less, result=int1), "le": _operator(np.less_equal, result=int1)},
    **{"gt": _operator(np.greater, result=int1), "ge": _operator(np.greater_equal, result=int1)},
    **{"eq": _operator(np.equal, result=int1), "ne": _operator(np.not_equal, result=int1)},
}
for _name, _operation in OPERATORS.items():
    setattr(Block, f"__{_name}__", _operation)
    setattr(Block, f"__r{_name}__", lambda b, a, _operation=_operation: _operation(a, b))
Block.__neg__ = lambda self: _sub(0, self)
Block.__invert__ = lambda self: self.like(~self.data)


def load(pointer: Any, mask: Any = None, other: Any = None, **_: Any) -> Block:
    """Load the numbers at pointers; where a mask is False `other`, by default 0."""
    if mask is None and other is not None:
        raise ValueError("`other` cannot be provided without `mask`")
    found, places, wanted, others = _places(pointer, mask, 0 if other is None else other, "load")
    found = found[np.where(wanted, places, pointer.memory.first)]
    if pointer.dtype.element_ty is bfloat16:  # which NumPy has as bare bits
        found = (found.astype(np.uint32) << 16).view(np.float32)
    return Block(np.where(wanted, found, others), pointer.dtype.element_ty)


def store(pointer: Any, value: Any, mask: Any = None, **_: Any) -> None:
    """Store numbers at pointers, where a mask is True, in the dtype of the memory."""
    numbers, places, wanted, data = _places(pointer, mask, value, "store")
    if places.shape != pointer.shape:
        wrong = f"{list(places.shape)} but got {list(pointer.shape)}"
        raise ValueError(f"Expected pointer argument to have shape {wrong}")
    data = data[wanted]
    bare = pointer.dtype.element_ty is bfloat16
    numbers[places[wanted]] = data.view(np.uint32) >> 16 if bare else data


def _places(pointer: Any, mask: Any, value: Any, what: str) -> Sequence[NDArray[Any]]:
    """Return a memory's numbers, the places pointed at, which are wanted, and values for them.

    Those that are wanted have to be in the memory.
    """
    if as_block(pointer).dtype.kind != "p":
        raise ValueError(f"Unsupported ptr type {as_block(pointer).dtype} in `tl.{what}`")
    if mask is not None and as_block(mask).dtype is not int1:
        raise ValueError("Mask must have boolean scalar type")
    memory, wanted = pointer.memory, as_block(True if mask is None else mask).data
    values = cast(value, pointer.dtype.element_ty).data
    places, wanted, values = _applied(np.broadcast_arrays, pointer.data, wanted, values)
    wild = wanted & ((places < 0) | (places >= len(memory.numbers)))
    if wild.any():
        place, last = places[wild][0] - memory.first, len(memory.numbers) - memory.first - 1
        raise IndexError(
            f"tl.{what} reaches outside of `{memory.name}`: place {place} counted from its first number, "
            f"and its memory has the places {-memory.first} to {last}. A mask leaves out what is not there."
        )
    return memory.numbers, places, wanted, values


def program_id(axis: int) -> Block:
    return Block(running.place[axis], int32)


def num_programs(axis: int) -> Block:
    return Block(running.grid[axis], int32)


def arange(start: Any, end: Any) -> Block:
    if not isinstance(start, int) or not isinstance(end, int):
        raise ValueError("arange's arguments must be of type tl.constexpr")
    if end <= start or (end - start) & (end - start - 1):
        raise ValueError("arange's range must be a power of 2")
    return Block(np.arange(start, end), int32)


def full(shape: Sequence[int], value: Any, dtype: dtype) -> Block:
    sizes = tuple(shape)
    if not all(isinstance(size, int) and size > 0 and not size & (size - 1) for size in sizes):
        raise ValueError("each size in a shape must be a constant, and a power of 2")
    return Block(np.full(sizes, cast(value, dtype).data), dtype)


def zeros(shape: Sequence[int], dtype: dtype) -> Block:
    return full(shape, 0, dtype)


def zeros_like(input: Block) -> Block:
    return full(input.shape, 0, input.dtype)


def trans(input: Block, *axes: Any) -> Block:
    if not axes and len(input.shape) != 2:
        raise ValueError(f"tl.trans takes a matrix; this has the shape {list(input.shape)}")
    return input.like(np.transpose(input.data, _flat(axes) or None))


def permute(input: Block, *axes: Any) -> Block:
    return input.like(np.transpose(input.data, _flat(axes)))


def reshape(input: Block, *shape: Any) -> Block:
    return input.like(_applied(lambda x: np.reshape(x, _flat(shape)), input.data))


def _flat(numbers: tuple[Any, ...]) -> tuple[int, ...]:
    """Return the numbers that are given one by one, or as one tuple or list."""
    return tuple(numbers[0]) if numbers and isinstance(numbers[0], (tuple, list)) else numbers


def expand_dims(input: Block, axis: Any) -> Block:
    return input.like(np.expand_dims(input.data, axis))


def broadcast_to(input: Any, shape: Sequence[int]) -> Block:
    return as_block(input).like(_applied(lambda x: np.broadcast_to(x, shape), as_block(input).data))


def dot(input: Block, other: Block, acc: Any = None, out_dtype: dtype = float32, **_: Any) -> Block:
    """Multiply two matrices of one dtype, and add the product to `acc`; sums run in float32."""
    a, b = as_block(input), as_block(other)
    assert len(a.shape) == len(b.shape) == 2, "input and other must have equal ranks >= 2"
    assert a.shape[1] == b.shape[0], "input and other must have equal reduction dimensions"
    assert a.dtype == b.dtype, f"Both operands must be same dtype. Got {a.dtype} and {b.dtype}"
    assert a.dtype.kind == "f", f"Unsupported lhs dtype {a.dtype}"
    assert a.shape[1] >= 16, "Input shapes should have M >= 1, N >= 1 and K >= 16"
    wide = float64 if a.dtype is float64 else float32
    product = Block(cast(a, wide).data @ cast(b, wide).data, wide)
    product = cast(product, out_dtype) if a.dtype is float16 else product
    if acc is None:
        return product
    assert acc.shape == product.shape, "accumulator shape is incompatible"
    assert acc.dtype == product.dtype, f"acc must be {product.dtype}; it is {acc.dtype}"
    return acc + product


def where(condition: Any, x: Any, y: Any) -> Block:
    chosen = cast(condition, int1).data
    return _operator(lambda a, b: _applied(np.where, chosen, a, b))(x, y)


def cdiv(x: Any, div: Any) -> Any:
    return (x + div - 1) // div


maximum, minimum = _operator(np.maximum), _operator(np.minimum)


def _elementwise(function: Callable[..., Any]) -> Callable[..., Block]:
    def operation(x: Any) -> Block:
        block = as_block(x)
        if block.dtype not in (float32, float64):
            raise ValueError(f"Expected dtype ['fp32', 'fp64'] but got {block.dtype}")
        return block.like(function(block.data))

    return operation


exp, exp2 = _elementwise(np.exp), _elementwise(np.exp2)
log, log2 = _elementwise(np.log), _elementwise(np.log2)
sqrt, abs = _elementwise(np.sqrt), _elementwise(np.abs)
math = types.SimpleNamespace(exp=exp, exp2=exp2, log=log, log2=log2, sqrt=sqrt, abs=abs)


def _reduction(function: Callable[..., Any], widened: str) -> Callable[..., Block]:
    """Return a reduction along an axis; some kinds of dtypes are widened to 32 bits before."""

    def reduction(input: Any, axis: Any = None, *, keep_dims: bool = False) -> Block:
        block = as_block(input)
        if block.dtype.kind in widened and block.dtype.bits < 32:
            block = cast(block, float32 if block.dtype.kind == "f" else int32)
        if axis is not None and not -len(block.shape) <= axis < len(block.shape):
            raise ValueError(f"axis {axis} out of bounds for shape {list(block.shape)}")
        return block.like(function(block.data, axis=axis, keepdims=keep_dims))

    return reduction


sum = _reduction(np.sum, "bui")
max, min = _reduction(np.fmax.reduce, "buif"), _reduction(np.fmin.reduce, "buif")  # without NaN
for _name in (
    *("trans", "permute", "reshape", "expand_dims", "broadcast_to", "sum", "max", "min"),
    *("exp", "log", "sqrt", "abs"),
):
    setattr(Block, _name, globals()[_name])
Block.to = Block.cast = cast
Block.T = property(trans)

range = static_range = lambda *sizes, **_: builtins.range(*sizes)
multiple_of = max_contiguous = max_constancy = lambda input, values: input


def fma(x: Any, y: Any, z: Any) -> Block:
    return _add(x * y, z)


def static_assert(condition: Any, message: str = "") -> None:
    assert condition, message


def __getattr__(name: str) -> Any:
    raise AttributeError(f"tl.{name} is not in Triton, or not in what stands for it without CUDA")
