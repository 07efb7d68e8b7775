"""Emulate in NumPy the part of `triton.language` that the course's kernels use: `tl` without a GPU.

A block is an array with one of Triton's dtypes. Dtypes are promoted and shapes are broadcast as
Triton does it, and what Triton refuses is refused, in its words where the checks know them. A load
or a store outside of a tensor's memory, which on a GPU may do anything, is an error.
"""

from __future__ import annotations

import builtins
import math as numbers_math
import types
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from numbers import Number
from typing import Any

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True, repr=False)
class dtype:
    """A type of numbers. bfloat16 is computed in float32, and rounded after each operation."""

    name: str
    numpy: type[np.generic]
    primitive_bitwidth: int

    def __repr__(self) -> str:
        return self.name

    def is_floating(self) -> bool:
        return issubclass(self.numpy, np.floating)

    def is_int(self) -> bool:
        return not self.is_floating()

    def is_ptr(self) -> bool:
        return False


@dataclass(frozen=True, repr=False)
class pointer_type(dtype):
    """The type of the address of a number."""

    element_ty: dtype

    def is_floating(self) -> bool:
        return False

    def is_int(self) -> bool:
        return False

    def is_ptr(self) -> bool:
        return True


int1 = dtype("int1", np.bool_, 1)
int8, uint8 = dtype("int8", np.int8, 8), dtype("uint8", np.uint8, 8)
int16, int32 = dtype("int16", np.int16, 16), dtype("int32", np.int32, 32)
int64 = dtype("int64", np.int64, 64)
float16, bfloat16 = dtype("fp16", np.float16, 16), dtype("bf16", np.float32, 16)
float32, float64 = dtype("fp32", np.float32, 32), dtype("fp64", np.float64, 64)
BY_NAME = {
    **{f"torch.{one.name}": one for one in (int8, uint8, int16, int32, int64)},
    **{"torch.bool": int1, "torch.float16": float16, "torch.bfloat16": bfloat16},
    **{"torch.float32": float32, "torch.float64": float64},
}


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


@dataclass
class Launch:
    """Which program runs, of how many in each of the three dimensions."""

    place: tuple[int, ...] = ()
    grid: tuple[int, ...] = ()


running = Launch()

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
        self.dtype, self.memory = dtype, memory

    @property
    def shape(self) -> tuple[int, ...]:
        return self.data.shape

    @property
    def type(self) -> Any:
        if not self.shape:
            return self.dtype
        return types.SimpleNamespace(element_ty=self.dtype, scalar=self.dtype, shape=self.shape)

    @property
    def T(self) -> Block:
        return trans(self)

    def to(self, dtype: dtype, **_: Any) -> Block:
        return cast(self, dtype)

    def __getitem__(self, slices: Any) -> Block:
        slices = slices if isinstance(slices, tuple) else (slices,)
        for one in slices:
            if one is not None and one != slice(None):
                raise ValueError(f"unsupported tensor index: {one}")
        if len(slices) - slices.count(None) > len(self.shape):
            raise ValueError(f"a block of shape {list(self.shape)} has no such axis")
        return Block(self.data[slices], self.dtype, self.memory)

    def __repr__(self) -> str:
        return f"{self.dtype}{list(self.shape)} {self.data}"

    def __bool__(self) -> bool:
        if self.shape:
            raise ValueError(AMBIGUOUS)
        return bool(self.data)

    def __index__(self) -> int:
        if self.shape or not self.dtype.is_int():
            raise TypeError(f"range takes whole numbers, and no block: {self.dtype}{self.shape}")
        return int(self.data)

    def refused(self, *_: Any, **__: Any) -> Any:
        raise TypeError(OF_TL)

    __int__ = __float__ = __array__ = __array_ufunc__ = __array_function__ = refused
    __torch_function__ = classmethod(refused)
    __iter__ = None
    __hash__ = object.__hash__

    def __neg__(self) -> Block:
        if self.dtype.is_ptr():
            raise ValueError(f"wrong type argument to unary minus ({self.dtype})")
        return Block(-self.data, self.dtype)

    def __invert__(self) -> Block:
        if not self.dtype.is_int():
            raise ValueError(f"wrong type argument to unary invert ({self.dtype})")
        return Block(~self.data, self.dtype)


def _narrowed(data: NDArray[Any]) -> NDArray[Any]:
    """Round float32 to the nearest numbers of 8 bits' precision, those of bfloat16."""
    bits = np.ascontiguousarray(data).view(np.uint32)
    rounded = (bits + np.uint32(0x7FFF) + (bits >> 16 & 1)) & np.uint32(0xFFFF0000)
    return np.where(np.isnan(data), data, rounded.view(np.float32)).reshape(data.shape)


def as_block(value: Any) -> Block:
    """Return a block as it is, and a number as one without axes."""
    if isinstance(value, Block):
        return value
    if isinstance(value, Number):
        return Block(value, _dtype_of(value))
    raise TypeError(f"cannot convert {value} of type {type(value)} to tensor")


def _dtype_of(number: Any) -> dtype:
    if isinstance(number, (bool, np.bool_)):
        return int1
    if isinstance(number, (int, np.integer)):
        return int32 if -(2**31) <= number < 2**31 else int64
    size = abs_of(number)
    in_range = not numbers_math.isfinite(number) or size == 0.0 or 2.0**-126 <= size < 2.0**128
    return float32 if in_range else float64


abs_of = builtins.abs


def _kind(one: dtype) -> int:
    """Return a dtype's place in the order bool, unsigned, signed, floating."""
    return "buif".index(np.dtype(one.numpy).kind)


def _common(a: Any, b: Any, divides: bool = False) -> dtype:
    """Return the dtype that two operands meet in: a number that Python holds gives way to a block's."""
    first, second = as_block(a).dtype, as_block(b).dtype
    if first.is_ptr() or second.is_ptr():
        raise TypeError(f"invalid operands of type {first} and {second}")
    if isinstance(a, Block) != isinstance(b, Block):
        of_block, of_number = (first, second) if isinstance(a, Block) else (second, first)
        if _kind(of_number) <= _kind(of_block):
            return float32 if divides and of_block in (float16, bfloat16) else of_block
    both = (first, second)
    for wide in (float64, float32):
        if wide in both:
            return wide
    if first.is_floating() or second.is_floating():
        if divides:
            return float32
        return float16 if float16 in both else bfloat16 if first is second else float32
    return builtins.max(both, key=lambda one: (one.primitive_bitwidth, one is uint8))


def _fitting(*shapes: tuple[int, ...]) -> tuple[int, ...]:
    """Return the shape that shapes broadcast to."""
    try:
        return np.broadcast_shapes(*shapes)
    except ValueError:
        rank = builtins.max(map(len, shapes))
        axes = zip(*((1,) * (rank - len(shape)) + shape for shape in shapes), strict=True)
        index, sizes = next((i, s) for i, s in enumerate(axes) if len({*s} - {1}) > 1)
        left, right = [size for size in dict.fromkeys(sizes) if size != 1][:2]
        raise ValueError(
            f"Cannot make_shape_compatible: incompatible dimensions at index {index}: {left} and {right}"
        ) from None


def _operands(a: Any, b: Any, divides: bool = False) -> tuple[NDArray[Any], NDArray[Any], dtype]:
    """Return two operands as arrays of one dtype, whose shapes fit."""
    kind = _common(a, b, divides)
    left, right = cast(a, kind).data, cast(b, kind).data
    if left.shape != right.shape:
        _fitting(left.shape, right.shape)
    return left, right, kind


def _arithmetic(function: Callable[..., Any]) -> Callable[..., Block]:
    def operation(a: Any, b: Any) -> Block:
        left, right, kind = _operands(a, b)
        return Block(function(left, right), kind)

    return operation


def _is_pointer(value: Any) -> bool:
    return isinstance(value, Block) and value.dtype.is_ptr()


def _moved(pointer: Block, by: Any) -> Block:
    """Move pointers by whole numbers."""
    by = as_block(by)
    if _is_pointer(by):
        raise TypeError("cannot add pointers together")
    if by.dtype.is_floating():
        raise TypeError(f"invalid operands of type {pointer.dtype} and {by.dtype}")
    _fitting(pointer.shape, by.shape)
    return Block(pointer.data + by.data, pointer.dtype, pointer.memory)


def _add(a: Any, b: Any) -> Block:
    if _is_pointer(a):
        return _moved(a, b)
    return _moved(b, a) if _is_pointer(b) else _arithmetic(np.add)(a, b)


def _sub(a: Any, b: Any) -> Block:
    return _moved(a, -as_block(b)) if _is_pointer(a) else _arithmetic(np.subtract)(a, b)


def _truediv(a: Any, b: Any) -> Block:
    left, right, kind = _operands(a, b, divides=True)
    kind = kind if kind.is_floating() else float32
    return Block(left.astype(kind.numpy) / right.astype(kind.numpy), kind)


def _mod(a: Any, b: Any) -> Block:
    left, right, kind = _operands(a, b, divides=True)
    return Block(np.fmod(left, right), kind)  # with the sign of a, as in C


def _floordiv(a: Any, b: Any) -> Block:
    left, right, kind = _operands(a, b, divides=True)
    if kind.is_floating():
        raise TypeError(f"unexpected type {kind}")
    return Block((left - np.fmod(left, right)) // right, kind)  # towards 0, as in C


def _of_bits(function: Callable[..., Any]) -> Callable[..., Block]:
    def operation(a: Any, b: Any) -> Block:
        left, right, kind = _operands(a, b)
        if kind.is_floating():
            raise TypeError(f"invalid operands of type {as_block(a).dtype} and {as_block(b).dtype}")
        return Block(function(left, right), kind)

    return operation


def _comparison(function: Callable[..., Any]) -> Callable[..., Block]:
    def operation(a: Any, b: Any) -> Block:
        left, right, _ = _operands(a, b)
        return Block(function(left, right), int1)

    return operation


OPERATORS: dict[str, Callable[..., Block]] = {
    **{"add": _add, "sub": _sub, "mul": _arithmetic(np.multiply)},
    **{"truediv": _truediv, "floordiv": _floordiv, "mod": _mod},
    **{"and": _of_bits(np.bitwise_and), "or": _of_bits(np.bitwise_or)},
    **{"xor": _of_bits(np.bitwise_xor), "lshift": _of_bits(np.left_shift)},
    "rshift": _of_bits(np.right_shift),
}
for _name, _operator in OPERATORS.items():
    setattr(Block, f"__{_name}__", _operator)
    setattr(Block, f"__r{_name}__", lambda self, other, _operator=_operator: _operator(other, self))
for _name, _function in {
    **{"lt": np.less, "le": np.less_equal, "gt": np.greater, "ge": np.greater_equal},
    **{"eq": np.equal, "ne": np.not_equal},
}.items():
    setattr(Block, f"__{_name}__", _comparison(_function))


# Making blocks


def program_id(axis: int) -> Block:
    return Block(running.place[axis], int32)


def num_programs(axis: int) -> Block:
    return Block(running.grid[axis], int32)


def arange(start: Any, end: Any) -> Block:
    if not isinstance(start, int) or not isinstance(end, int):
        raise ValueError("arange's arguments must be of type tl.constexpr")
    if end <= start:
        raise ValueError("arange's end argument must be greater than the start argument")
    if (end - start) & (end - start - 1):
        raise ValueError("arange's range must be a power of 2")
    return Block(np.arange(start, end), int32)


def full(shape: Sequence[int], value: Any, dtype: dtype) -> Block:
    sizes = tuple(shape)
    for number, size in enumerate(sizes):
        if not isinstance(size, int):
            raise TypeError(f"Shape element {number} must have type `constexpr`")
        if size < 1 or size & (size - 1):
            raise ValueError(f"Shape element {number} must be a power of 2")
    return Block(np.full(sizes, cast(value, dtype).data), dtype)


def zeros(shape: Sequence[int], dtype: dtype) -> Block:
    return full(shape, 0, dtype)


def zeros_like(input: Any) -> Block:
    return Block(np.zeros_like(as_block(input).data), as_block(input).dtype)


# Memory


def load(pointer: Any, mask: Any = None, other: Any = None, **_: Any) -> Block:
    """Load the numbers at pointers; where a mask is False `other`, by default 0."""
    if not _is_pointer(pointer):
        raise ValueError(f"Unsupported ptr type {_type_name(pointer)} in `tl.load`")
    if mask is None and other is not None:
        raise ValueError("`other` cannot be provided without `mask`")
    kind = pointer.dtype.element_ty
    places, wanted = _places(pointer, mask)
    _require_inside(pointer.memory, places, wanted, "tl.load reads")
    numbers = pointer.memory.numbers
    if wanted is None:
        return _loaded(numbers[places], kind)
    otherwise = cast(0 if other is None else other, kind)
    shape = _fitting(places.shape, otherwise.shape)
    found = _loaded(numbers[np.where(wanted, places, pointer.memory.first)], kind)
    return Block(np.where(wanted, found.data, np.broadcast_to(otherwise.data, shape)), kind)


def _loaded(numbers: NDArray[Any], kind: dtype) -> Block:
    if kind is bfloat16:  # which NumPy has as bare bits
        numbers = (numbers.astype(np.uint32) << 16).view(np.float32)
    return Block(numbers, kind)


def store(pointer: Any, value: Any, mask: Any = None, **_: Any) -> None:
    """Store numbers at pointers, where a mask is True, in the dtype of the memory."""
    if not _is_pointer(pointer):
        raise ValueError(f"Unsupported ptr type {_type_name(pointer)} in `tl.store`")
    numbers = cast(value, pointer.dtype.element_ty)
    mask = None if mask is None else as_block(mask)
    shape = _fitting(pointer.shape, numbers.shape, () if mask is None else mask.shape)
    if not pointer.shape and shape:
        raise ValueError("Value argument cannot be block type if pointer argument is not a block")
    if shape != pointer.shape:
        raise ValueError(
            f"Expected pointer argument to have shape {list(shape)} but got {list(pointer.shape)}"
        )
    if mask is not None and mask.dtype is not int1:
        raise ValueError("Mask must have boolean scalar type")
    places, wanted = _places(pointer, mask)
    _require_inside(pointer.memory, places, wanted, "tl.store writes")
    data = np.broadcast_to(numbers.data, shape)
    if numbers.dtype is bfloat16:
        data = (np.ascontiguousarray(data).view(np.uint32) >> 16).astype(np.uint16)
    if wanted is None:
        pointer.memory.numbers[places] = data
    else:
        pointer.memory.numbers[places[wanted]] = data[wanted]


def _type_name(value: Any) -> str:
    return repr(value.dtype) if isinstance(value, Block) else type(value).__name__


def _places(pointer: Block, mask: Any) -> tuple[NDArray[Any], NDArray[Any] | None]:
    """Return the places of pointers and which of them are wanted, all if that is None."""
    if mask is None:
        return pointer.data, None
    wanted = cast(mask, int1).data
    if wanted.shape and not pointer.shape:
        raise ValueError("Mask argument cannot be block type if pointer argument is not a block")
    shape = _fitting(pointer.shape, wanted.shape)
    return np.broadcast_to(pointer.data, shape), np.broadcast_to(wanted, shape)


def _require_inside(
    memory: Memory | None, places: NDArray[Any], wanted: NDArray[Any] | None, what: str
) -> None:
    assert memory is not None
    outside = (places < 0) | (places >= len(memory.numbers))
    if wanted is not None:
        outside &= wanted
    if outside.any():
        place = places[outside].flat[0] - memory.first
        last = len(memory.numbers) - memory.first - 1
        raise IndexError(
            f"{what} outside of `{memory.name}`: place {place} counted from its first number, and its "
            f"memory has the places {-memory.first} to {last}. A mask leaves out what is not there."
        )


# Dtypes and shapes


def cast(input: Any, dtype: dtype, **_: Any) -> Block:
    block = as_block(input)
    if block.dtype == dtype:
        return block
    if block.dtype.is_ptr() or dtype.is_ptr():
        raise TypeError(f"cannot cast {block.dtype} to {dtype}")
    return Block(block.data, dtype)


def trans(input: Any, *dims: Any) -> Block:
    block = as_block(input)
    if not dims and len(block.shape) != 2:
        raise ValueError(
            f"tl.trans exchanges the axes of a matrix; this has the shape {list(block.shape)}"
        )
    return Block(np.transpose(block.data, _flat(dims) or None), block.dtype, block.memory)


permute = trans


def reshape(input: Any, *shape: Any) -> Block:
    block = as_block(input)
    if numbers_math.prod(_flat(shape)) != block.data.size:
        raise ValueError("reshape() cannot change total number of elements in tensor")
    return Block(block.data.reshape(_flat(shape)), block.dtype, block.memory)


def expand_dims(input: Any, axis: Any) -> Block:
    block = as_block(input)
    return Block(np.expand_dims(block.data, axis), block.dtype, block.memory)


def broadcast_to(input: Any, *shape: Any) -> Block:
    block, wanted = as_block(input), tuple(_flat(shape))
    if block.shape and len(block.shape) != len(wanted):
        raise ValueError(f"Cannot broadcast, rank mismatch: {list(block.shape)}, {list(wanted)}")
    _fitting(block.shape, wanted)
    return Block(np.broadcast_to(block.data, wanted), block.dtype, block.memory)


def _flat(sizes: tuple[Any, ...]) -> Sequence[int]:
    return sizes[0] if len(sizes) == 1 and isinstance(sizes[0], (tuple, list)) else sizes


# Arithmetic


def dot(input: Any, other: Any, acc: Any = None, out_dtype: dtype = float32, **_: Any) -> Block:
    """Multiply two matrices of one dtype, and add the product to `acc`; sums run in float32."""
    a, b = as_block(input), as_block(other)
    assert len(a.shape) == len(b.shape) == 2, "input and other must have equal ranks >= 2"
    assert a.shape[1] == b.shape[0], "input and other must have equal reduction dimensions"
    assert a.dtype == b.dtype, f"Both operands must be same dtype. Got {a.dtype} and {b.dtype}"
    assert a.dtype.is_floating(), f"Unsupported lhs dtype {a.dtype}"
    assert a.shape[1] >= 16, "Input shapes should have M >= 1, N >= 1 and K >= 16"
    wide = np.float64 if a.dtype is float64 else np.float32
    product = a.data.astype(wide) @ b.data.astype(wide)
    kind = float64 if a.dtype is float64 else out_dtype if a.dtype is float16 else float32
    if acc is None:
        return Block(product, kind)
    start = as_block(acc)
    assert start.shape == product.shape, "accumulator shape is incompatible"
    assert start.dtype == kind, f"the accumulator must be {kind}; it is {start.dtype}"
    return Block(product + start.data, kind)


def where(condition: Any, x: Any, y: Any) -> Block:
    chosen = cast(condition, int1).data
    left, right, kind = _operands(x, y)
    _fitting(chosen.shape, left.shape, right.shape)
    return Block(np.where(chosen, left, right), kind)


def maximum(x: Any, y: Any, **_: Any) -> Block:
    return _arithmetic(np.maximum)(x, y)


def minimum(x: Any, y: Any, **_: Any) -> Block:
    return _arithmetic(np.minimum)(x, y)


def clamp(x: Any, min: Any, max: Any, **_: Any) -> Block:
    return minimum(maximum(x, min), max)


def cdiv(x: Any, div: Any) -> Any:
    return (x + div - 1) // div


def abs(x: Any) -> Block:
    return Block(np.abs(as_block(x).data), as_block(x).dtype)


def _elementwise(function: Callable[..., Any]) -> Callable[..., Block]:
    def operation(x: Any) -> Block:
        block = as_block(x)
        if block.dtype not in (float32, float64):
            raise ValueError(f"Expected dtype ['fp32', 'fp64'] but got {block.dtype}")
        return Block(function(block.data), block.dtype)

    return operation


exp, exp2 = _elementwise(np.exp), _elementwise(np.exp2)
log, log2 = _elementwise(np.log), _elementwise(np.log2)
sin, cos = _elementwise(np.sin), _elementwise(np.cos)
floor, ceil = _elementwise(np.floor), _elementwise(np.ceil)
sqrt = _elementwise(np.sqrt)
rsqrt = _elementwise(lambda data: 1 / np.sqrt(data))
sigmoid = _elementwise(lambda data: 1 / (1 + np.exp(-data)))
math = types.SimpleNamespace(
    **{"exp": exp, "exp2": exp2, "log": log, "log2": log2, "sin": sin, "cos": cos, "abs": abs},
    **{"floor": floor, "ceil": ceil, "sqrt": sqrt, "rsqrt": rsqrt},
)


# Reductions


def _reduced(function: Callable[..., Any], block: Block, axis: Any, keep: bool) -> NDArray[Any]:
    if axis is not None and not -len(block.shape) <= axis < len(block.shape):
        raise ValueError(f"axis {axis} out of bounds for shape {list(block.shape)}")
    return np.asarray(function(block.data, axis=axis, keepdims=keep))


def _widened(input: Any) -> Block:
    block = as_block(input)
    if block.dtype.primitive_bitwidth >= 32:
        return block
    return cast(block, float32 if block.dtype.is_floating() else int32)


def sum(input: Any, axis: Any = None, keep_dims: bool = False, dtype: Any = None) -> Block:
    block = as_block(input) if as_block(input).dtype.is_floating() else _widened(input)
    block = cast(block, dtype or block.dtype)
    return Block(_reduced(np.sum, block, axis, keep_dims), block.dtype)


def _extreme(
    function: Callable[..., Any], index: Callable[..., Any]
) -> tuple[Callable[..., Any], Callable[..., Block]]:
    def extreme(
        input: Any,
        axis: Any = None,
        return_indices: bool = False,
        return_indices_tie_break_left: bool = True,
        keep_dims: bool = False,
    ) -> Any:
        block = _widened(input)
        largest = Block(_reduced(function, block, axis, keep_dims), block.dtype)
        return (largest, place(input, axis, True, keep_dims)) if return_indices else largest

    def place(input: Any, axis: Any, tie_break_left: bool = True, keep_dims: bool = False) -> Block:
        return Block(_reduced(index, as_block(input), axis, keep_dims), int32)

    return extreme, place


max, argmax = _extreme(np.fmax.reduce, np.argmax)  # NaN is ignored, and by maximum it is not
min, argmin = _extreme(np.fmin.reduce, np.argmin)


def cumsum(input: Any, axis: int = 0) -> Block:
    return Block(np.cumsum(as_block(input).data, axis=axis), as_block(input).dtype)


for _name in (
    *("exp", "log", "sin", "cos", "sqrt", "rsqrt", "sigmoid", "abs", "cdiv", "sum", "max", "min"),
    *("argmax", "argmin", "cumsum", "trans", "permute", "reshape", "expand_dims", "broadcast_to"),
    "cast",
):
    setattr(Block, _name, globals()[_name])


# What only a compiler needs


def range(*arguments: Any, **_: Any) -> builtins.range:
    return builtins.range(*arguments)


static_range = range
static_print = device_print = print


def static_assert(condition: Any, message: str = "") -> None:
    assert condition, message


device_assert = static_assert


def multiple_of(input: Any, values: Any) -> Any:
    return input


max_contiguous = max_constancy = multiple_of


def __getattr__(name: str) -> Any:
    raise AttributeError(f"tl.{name} is not there, or not without a CUDA device")
