"""Run an answer that cannot be called directly, in its own process.

The answer is run on other devices, with a simulated clock, in a launch, on strided arrays or under
autograd. Nothing here contains the answer of a lesson. torch is imported when it is used.
"""

from __future__ import annotations

import ast
import functools
import inspect
import math
import operator
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from attention_lib.checks.calls.calling import learner_frames
from attention_lib.checks.calls.case import Answer
from attention_lib.checks.calls.remote import remote_measurement, remote_staging
from attention_lib.checks.calls.simulated import Machine, availability, replaced
from attention_lib.checks.calls.timeouts import time_limit
from attention_lib.checks.calls.watching import unwatched

COMPILE_SECONDS = 60.0  # the time limit of a launch on CUDA
POISONED = (
    "it reads or writes where there is no array, and the GPU takes no more work from this process: "
    "mend it, restart the kernel (in JupyterLab: Kernel, Restart), and run the cells again."
)


@remote_staging
def with_devices(answer: Answer) -> Answer:
    """Call `answer` on a machine that seems to have the given devices."""

    def pick_device_where(cuda: bool, mps: bool) -> Any:
        with replaced(availability(cuda, mps), answer):
            return answer()

    return pick_device_where


@remote_staging
def returning_an_array(answer: Answer) -> Answer:
    """Convert the list, tuple or array that `answer` returns to an array."""

    @functools.wraps(answer)
    def answer_as_an_array(*args: Any, **kwargs: Any) -> Any:
        result = answer(*args, **kwargs)
        if not isinstance(result, (list, tuple)):
            return result
        return np.array(result, dtype=None if result else int)

    return answer_as_an_array


@remote_staging
def on_strided_arrays(answer: Answer) -> Answer:
    """Call `answer` with strided arrays: views of every second column of wider ones.

    The arguments of a case cannot be strided: deep copies are contiguous.
    """

    def answer_on_views(*args: Any, **kwargs: Any) -> Any:
        return answer(*map(_every_second_column, args), **kwargs)

    return answer_on_views


def _every_second_column(argument: Any) -> Any:
    if not isinstance(argument, np.ndarray):
        return argument
    *leading, columns = argument.shape
    # An odd number of columns, so that flattening makes a copy.
    wide = np.zeros((*leading, 2 * columns + 1), argument.dtype)
    wide[..., 1::2] = argument
    return wide[..., 1::2]


@remote_staging
def on_simulated_machine(answer: Answer) -> Answer:
    """Let `answer` time `fn` on a simulated machine, where its calls take these milliseconds."""

    def time_milliseconds(fn: tuple[float, ...], device: Any, *repeats: int) -> Any:
        machine = Machine(fn, device.type)
        with machine.in_place_of_the_real_one(answer):
            return answer(machine.call, device, *repeats)

    return time_milliseconds


@remote_staging
def launched(kernel: Any) -> Answer:
    """Launch the outer kernel with `kernel` as its inner loop, on tiles of the case's size."""

    def flash_attention(
        query: Any, key: Any, value: Any, is_causal: bool = False, tile: tuple[int, int] = (16, 32)
    ) -> Any:
        from attention_lib.lessons.gpu import launch

        _stop_at_a_stub(kernel)
        inner, query, key, value = _on_device(kernel, query, key, value)
        # After the move, which would remove the gaps.
        key, value = _among_nan(key), _among_nan(value, beside=8)

        def attend() -> Any:
            return launch.flash_attention(
                query, key, value, is_causal, kernel=inner, tile=tile
            ).cpu()

        return _launched(inner, attend)

    return flash_attention


@remote_staging
def launched_without_limit(kernel: Any) -> Answer:
    """Launch an inner loop in NumPy, with a limit of 0 for all keys if MASKED is False."""

    def flash_attention(query: Any, key: Any, value: Any) -> Any:
        from attention_lib.lessons.gpu import launch

        def inner(*given: Any) -> Any:
            hidden = given[7] if given[-1] else 0 * given[7]
            return launch.in_numpy(kernel)(*given[:7], hidden, *given[8:])

        with unwatched():
            return launch.flash_attention(query, key, value, kernel=inner, tile=(16, 16))

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
    """Launch an outer kernel in NumPy with an inner loop that counts keys: (heads, L, d).

    Component 0 counts the keys of unmasked calls, component 1 those of masked calls.
    """

    def count(query: Any, key: Any, value: Any, is_causal: bool, tile: tuple[int, int]) -> Any:
        from attention_lib.lessons.gpu.loops import sum_without_maximum

        signature = inspect.signature(sum_without_maximum)

        def counting(*args: Any, **kwargs: Any) -> Any:
            given = signature.bind(*args, **kwargs).args
            output, total, maximum = given[9:12]
            counts = output + 0.0
            keys = operator.index(given[6]) - operator.index(given[5])
            counts.data[:, int(given[13])] += max(keys, 0)
            return counts, 0.0 * total + 1.0, maximum

        return _run_program(program, (query, key, value), is_causal, tile, counting)

    return count


@remote_staging
def launched_on_rows(kernel: Any) -> Answer:
    """Launch a kernel with one program for each row of scores (rows, length)."""

    def softmax(scores: Any, block: int) -> Any:
        _stop_at_a_stub(kernel)
        compiled, scores = _on_device(kernel, scores)

        def fill() -> Any:
            given, _ = _with_room(scores, math.nan)
            weights, rooms = _with_room(scores, NOT_STORED)
            weights.fill_(NOT_STORED)
            compiled[(len(scores),)](given, weights, scores.shape[-1], BLOCK=block)
            if any((room != NOT_STORED).any() for room in rooms):
                raise IndexError(WRITES_PAST_ROW)
            return weights.cpu()

        return _launched(compiled, fill)

    return softmax


@remote_measurement
def reads_past_rows(kernel: Any, scores: Any, block: int) -> bool:
    """Tell whether a kernel, run in NumPy, reads past memory that ends with the last row."""
    from attention_lib.lessons.gpu import launch

    given, (weights, _) = scores.clone(), _with_room(scores, NOT_STORED)
    with unwatched():
        try:
            launch.in_numpy(kernel)[(len(scores),)](given, weights, scores.shape[-1], BLOCK=block)
        except IndexError:
            return True
    return False


WRITES_PAST_ROW = (
    "it stores outside of weights: row i begins at place i * length, and tl.store needs the mask of the "
    "columns below length."
)
WRITES_OUTSIDE = (
    "it stores outside of output: give tl.store the mask of the rows that there are, and look at the "
    "places of the others."
)
ROOM_ON_GPU, ROOM_HERE = 2**17, 2**13  # the padding; in NumPy a kernel cannot write past it
NOT_STORED = -60000.0  # fills output before the launch; exact in any dtype


def _run_program(
    program: Any, arrays: Sequence[Any], is_causal: bool, tile: tuple[int, int], kernel: Any
) -> Any:
    from attention_lib.lessons.gpu import launch

    _stop_at_a_stub(program)
    with unwatched():
        program = launch.in_numpy(program) if launch.runs_in_numpy(kernel) else program
    program, *arrays = _on_device(program, *arrays)

    def attend() -> Any:
        query, key, value = (_with_room(tensor, math.nan)[0] for tensor in arrays)
        output, rooms = _with_room(query, NOT_STORED)
        output.fill_(NOT_STORED)
        launch.run_program(program, query, key, value, output, is_causal, kernel=kernel, tile=tile)
        if any((room != NOT_STORED).any() for room in rooms):
            raise IndexError(WRITES_OUTSIDE)
        return output.cpu()

    return _launched(program, attend)


def _on_device(kernel: Any, *tensors: Any) -> list[Any]:
    """Compile a kernel and move tensors to the GPU, unless the kernel runs in NumPy."""
    from attention_lib.lessons.gpu import launch

    with unwatched():
        kernel = launch.jit(kernel) if inspect.isfunction(kernel) else kernel
        stays = launch.runs_in_numpy(kernel)
    return [kernel, *(tensor if stays else tensor.cuda() for tensor in tensors)]


def _launched(kernel: Any, attend: Callable[[], Any]) -> Any:
    """Launch a kernel with time to compile; raise the error that occurred inside the kernel."""
    from attention_lib.lessons.gpu import launch

    try:
        with unwatched():
            if launch.runs_in_numpy(kernel):
                return attend()
            with time_limit(COMPILE_SECONDS):
                return attend()
    except Exception as error:
        raise _cause(error, kernel) from None


def _stop_at_a_stub(kernel: Any) -> None:
    code = getattr(getattr(kernel, "fn", kernel), "__code__", None)
    if code and "NotImplementedError" in code.co_names:
        raise NotImplementedError


def _with_room(tensor: Any, filler: float) -> tuple[Any, tuple[Any, Any]]:
    """Copy a contiguous tensor, and pad the memory before and after it.

    Otherwise a kernel that stores to wrong places could overwrite other memory.
    """
    room = ROOM_ON_GPU if tensor.is_cuda else ROOM_HERE
    memory = tensor.new_full((2 * room + tensor.numel(),), filler)
    before, copy, behind = memory.split([room, tensor.numel(), room])
    copy = copy.view(tensor.shape)
    copy.copy_(tensor)
    return copy, (before, behind)


def _among_nan(tensor: Any, beside: int = 0) -> Any:
    """Copy a tensor, and put rows of NaN after it to detect reads past its end.

    With `beside` further numbers after each row, the stride is longer than a row.
    """
    *leading, rows, columns = tensor.shape
    room = tensor.new_full((*leading, rows + 64, columns + beside), math.nan)
    room[..., :rows, :columns] = tensor
    return room[..., :rows, :columns]


class CompilationError(ValueError):
    """An error of Triton's compiler, with the learner's line."""


def _cause(error: BaseException, kernel: Any) -> BaseException:
    """Find the error inside the kernel, in the chain of Triton's errors.

    A compiler's error has the source of the calling function. Its cause has the source of the
    called function.
    """
    if "CUDA error" in str(error):
        return RuntimeError(POISONED)
    chain = [error]
    while chain[-1].__cause__ is not None:
        chain.append(chain[-1].__cause__)
    for refused in chain:
        node = getattr(refused, "node", None)
        if node is not None and getattr(refused, "src", None) == getattr(kernel, "src", ""):
            message = [m for one in chain if (m := getattr(one, "error_message", None))][-1]
            line = kernel.starting_line_number + node.lineno - 1
            quoted = ast.unparse(node).splitlines()[0]
            return CompilationError(f"{message} (line {line}: `{quoted:.60}`)")
    # The launch stops if the loop does not return three blocks with the right shapes.
    texts = (
        "unpack",
        "list index out of range",
        "is not iterable",
        "Expected pointer argument to have shape",
    )
    if not _in_the_kernel(error) and any(text in str(error) for text in texts):
        return ValueError("what it returns must be output, total, maximum, in this order.")
    return error


def _in_the_kernel(error: BaseException) -> bool:
    """Tell whether a traceback contains a line of the learner's code."""
    frames = learner_frames(error)
    return any("site-packages" not in frame.filename for frame in frames)


@remote_measurement
def gradients(
    function: Callable[..., Any], inputs: Sequence[Any], toward: Any, **kwargs: Any
) -> list[Any] | None:
    """Return the gradients of a function's inputs, from the gradient `toward` of its output.

    A gradient is None if the output does not depend on the input. If no gradient exists, the result
    is None.
    """
    import torch

    inputs = [tensor.detach().clone().requires_grad_() for tensor in inputs]
    output = function(*inputs, **kwargs)
    if not output.requires_grad:
        return None
    return list(torch.autograd.grad(output, inputs, toward, allow_unused=True))
