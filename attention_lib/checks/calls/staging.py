"""Running an answer that cannot be called by itself, in the answer's own process.

A machine with other devices, a simulated clock, a launch for a kernel, strided arrays, autograd.
Nothing here knows a lesson's answer, and torch is imported when it is used.
"""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from attention_lib.checks.calls.calling import learner_frames
from attention_lib.checks.calls.case import Answer
from attention_lib.checks.calls.remote import remote_measurement, remote_staging
from attention_lib.checks.calls.simulated import Machine, Work, availability, replaced
from attention_lib.checks.calls.watching import unwatched


@remote_staging
def with_devices(answer: Answer) -> Answer:
    """Call `answer` on a machine that has these devices, or seems to."""

    def pick_device_where(cuda: bool, mps: bool) -> Any:
        with replaced(availability(cuda, mps), answer):
            return answer()

    return pick_device_where


@remote_staging
def on_strided_arrays(answer: Answer) -> Answer:
    """Call `answer` with every array as a view: each second column of a wider one.

    Copies of a case's arguments, and arrays sent to another process, are contiguous.
    """

    def answer_on_views(*args: Any, **kwargs: Any) -> Any:
        return answer(*map(_every_second_column, args), **kwargs)

    return answer_on_views


def _every_second_column(argument: Any) -> Any:
    if not isinstance(argument, np.ndarray):
        return argument
    *leading, columns = argument.shape
    wide = np.zeros((*leading, 2 * columns + 1), argument.dtype)  # odd: no flat view of two rows
    wide[..., 1::2] = argument
    return wide[..., 1::2]


@remote_staging
def on_simulated_machine(answer: Answer) -> Answer:
    """Let `answer` time a simulated machine, whose clock only `fn` moves."""

    def time_milliseconds(fn: Work, device: Any, *repeats: int) -> Any:
        machine = Machine(fn, device.type)
        with machine.in_place_of_the_real_one(answer):
            return answer(machine.call, device, *repeats)

    return time_milliseconds


@remote_staging
def launched(kernel: Any) -> Answer:
    """Call the kernel that has `kernel` for its inner loop, on tiles of the case's size."""

    def flash_attention(
        query: Any, key: Any, value: Any, is_causal: bool = False, tile: tuple[int, int] = (16, 32)
    ) -> Any:
        from attention_lib.lessons.gpu import launch

        _stop_at_a_stub(kernel)
        key, value = _among_nan(key), _among_nan(value, beside=8)
        inner = kernel
        if not launch.INTERPRETED:
            inner = launch.jit(kernel) if inspect.isfunction(kernel) else kernel
            query, key, value = query.cuda(), key.cuda(), value.cuda()
        try:
            with unwatched():
                output = launch.flash_attention(
                    query, key, value, is_causal, kernel=inner, tile=tile
                )
        except Exception as error:
            raise _cause(error) from None
        return output.cpu()

    return flash_attention


@remote_staging
def launched_without_limit(kernel: Any) -> Answer:
    """Launch an inner loop on whole blocks, with MASKED False and a limit that hides every key."""

    def flash_attention(query: Any, key: Any, value: Any) -> Any:
        from attention_lib.lessons.gpu import launch
        from attention_lib.lessons.gpu.loops import one_tile_without_limit

        tile = (query.shape[-2], 16)
        inner = kernel
        if not launch.INTERPRETED and inspect.isfunction(kernel):
            inner = launch.jit(kernel)
        arrays = (query, key, value)
        return _run_program(one_tile_without_limit, arrays, False, tile, inner)

    return flash_attention


@remote_staging
def launched_program(program: Any) -> Answer:
    """Launch an outer kernel on query, key and value (heads, length, d), with an inner loop."""

    def flash_attention(
        query: Any, key: Any, value: Any, is_causal: bool = False, tile: tuple[int, int] = (16, 32)
    ) -> Any:
        from attention_lib.lessons.gpu.loops import sum_without_maximum

        return _run_program(program, (query, key, value), is_causal, tile, sum_without_maximum)

    return flash_attention


@remote_staging
def counted_program(program: Any) -> Answer:
    """Launch an outer kernel with a loop that counts the keys it is handed: (heads, L, d)."""

    def count(query: Any, key: Any, value: Any, is_causal: bool, tile: tuple[int, int]) -> Any:
        from attention_lib.lessons.gpu.loops import count_keys

        return _run_program(program, (query, key, value), is_causal, tile, count_keys)

    return count


WRITES_OUTSIDE = (
    "it stores outside of output: give tl.store the mask of the rows that there are, and look at the "
    "places of the others."
)
ROOM = 2**17  # numbers before and behind each array
NOT_STORED = -60000.0  # what output holds before the launch, in any dtype


def _run_program(
    program: Any, arrays: Sequence[Any], is_causal: bool, tile: tuple[int, int], kernel: Any
) -> Any:
    from attention_lib.lessons.gpu import launch

    _stop_at_a_stub(program)
    if not launch.INTERPRETED:
        program = launch.jit(program) if inspect.isfunction(program) else program
        arrays = [tensor.cuda() for tensor in arrays]
    query, key, value = (_with_room(tensor, math.nan)[0] for tensor in arrays)
    output, rooms = _with_room(query, NOT_STORED)
    output.fill_(NOT_STORED)
    try:
        with unwatched():
            launch.run_program(
                program, query, key, value, output, is_causal, kernel=kernel, tile=tile
            )
    except Exception as error:
        raise _cause(error) from None
    if any((room != NOT_STORED).any() for room in rooms):
        raise IndexError(WRITES_OUTSIDE)
    return output.cpu()


def _stop_at_a_stub(kernel: Any) -> None:
    try:
        source = inspect.getsource(getattr(kernel, "fn", kernel))
    except (OSError, TypeError):
        return
    if "raise NotImplementedError" in source:
        raise NotImplementedError


def _with_room(tensor: Any, filler: float) -> tuple[Any, tuple[Any, Any]]:
    """Copy a tensor without gaps to a place with a filler before and behind it.

    What an interpreted kernel stores at wrong places would otherwise destroy other memory.
    """
    memory = tensor.new_full((2 * ROOM + tensor.numel(),), filler)
    before, copy, behind = memory.split([ROOM, tensor.numel(), ROOM])
    copy = copy.view(tensor.shape)
    copy.copy_(tensor)
    return copy, (before, behind)


def _among_nan(tensor: Any, beside: int = 0) -> Any:
    """Put rows of NaN behind the last one, so that reading on too far shows.

    With numbers `beside` each row, from one to the next it is further than a row is long.
    """
    *leading, rows, columns = tensor.shape
    room = tensor.new_full((*leading, rows + 64, columns + beside), math.nan)
    room[..., :rows, :columns] = tensor
    return room[..., :rows, :columns]


def _cause(error: BaseException) -> BaseException:
    """Find what went wrong inside the kernel, below the interpreter's own errors.

    It gets the traceback that ends in the learner's kernel: in a function of Triton that the kernel
    calls, the interpreter begins another one.
    """
    traceback_of_kernel = error.__traceback__
    while type(error).__name__ == "InterpreterError" and error.__cause__ is not None:
        error = error.__cause__
        if _in_the_kernel(error):
            traceback_of_kernel = error.__traceback__
    error = error.with_traceback(traceback_of_kernel)
    # Nothing was returned, not three things, or one of another shape: the launch stops over it.
    texts = ("unpack", "is not iterable", "Expected pointer argument to have shape")
    if not _in_the_kernel(error) and any(text in str(error) for text in texts):
        return ValueError("what it returns must be output, total, maximum, in this order.")
    return error


def _in_the_kernel(error: BaseException) -> bool:
    """Tell whether a learner's line is in an error's traceback."""
    frames = learner_frames(error)
    return any("site-packages" not in frame.filename for frame in frames)


@remote_measurement
def gradients(
    function: Callable[..., Any], inputs: Sequence[Any], toward: Any, **kwargs: Any
) -> list[Any] | None:
    """Return the gradient of a function's output, along `toward`, for each of its inputs.

    None stands for the gradient of an input that the output does not depend on; for all of
    them, where the output has no gradient.
    """
    import torch

    inputs = [tensor.detach().clone().requires_grad_() for tensor in inputs]
    output = function(*inputs, **kwargs)
    if not output.requires_grad:
        return None
    return list(torch.autograd.grad(output, inputs, toward, allow_unused=True))
