"""Lesson 10's Triton kernels: softmax of rows, and a FlashAttention forward pass in two parts."""

from __future__ import annotations

from attention_lib.lessons.gpu.triton import jit, tl

__all__ = ["flash_kernel", "flash_program", "softmax_kernel"]


# The known mistakes of the three exercises replace lines of these functions by their text. Who
# changes a line changes it in the exercise's file in attention_lib/exercises/gpu/, too.
@jit
def softmax_kernel(scores, weights, length, BLOCK: tl.constexpr):
    """Write the softmax of one row of scores (rows, length) to weights; length is at most BLOCK.

    Both arrays are float32 and lie in memory without gaps. Program i has row i. BLOCK is a power of
    2, and nothing is read or written past the end of the row.
    """
    row = tl.program_id(0)
    columns = tl.arange(0, BLOCK)
    there = columns < length
    places = row * length + columns
    numbers = tl.load(scores + places, mask=there, other=float("-inf"))
    largest = tl.max(numbers, axis=0)
    powers = tl.exp(numbers - largest)
    total = tl.sum(powers, axis=0)
    tl.store(weights + places, powers / total, mask=there)


@jit
def flash_kernel(
    query,
    key_pointers,
    value_pointers,
    key_stride,
    value_stride,
    start,
    stop,
    limit,
    scale,
    output,
    total,
    maximum,
    BLOCK: tl.constexpr,
    MASKED: tl.constexpr,
):
    """Take the keys from start to stop, BLOCK at a time, into output, total and maximum.

    query (ROWS, d); key_pointers and value_pointers (BLOCK, d) point at keys 0 to BLOCK - 1,
    and the strides lead from one key to the next. scale is log2(e) / sqrt(d), so that 2 to the
    power of a scaled score is e to the power of score / sqrt(d). If MASKED, row i may see the
    keys below limit[i] only, and the last block may be short; if not, every block is whole.
    output (ROWS, d), total (ROWS,) and maximum (ROWS,) are what the keys before start have left;
    the three are returned, in this order.
    """
    key_pointers += start * key_stride  # and on by a block in every turn: in 64 bits,
    value_pointers += start * value_stride  # first times a stride takes longer than a sum
    for first in range(start, stop, BLOCK):
        columns = first + tl.arange(0, BLOCK)
        if MASKED:  # the last block may be short
            there = columns[:, None] < stop
            key = tl.load(key_pointers, mask=there, other=0.0)
            value = tl.load(value_pointers, mask=there, other=0.0)
        else:
            key = tl.load(key_pointers)
            value = tl.load(value_pointers)
        scores = tl.dot(query, tl.trans(key))  # (ROWS, BLOCK)
        if MASKED:
            scores = tl.where(columns[None, :] < limit[:, None], scores, float("-inf"))
        larger = tl.maximum(maximum, tl.max(scores, axis=1) * scale)
        weights = tl.exp2(scores * scale - larger[:, None])
        shrink = tl.exp2(maximum - larger)  # brings what is there to the new maximum
        total = total * shrink + tl.sum(weights, axis=1)
        output = output * shrink[:, None] + tl.dot(weights.to(value.dtype), value)
        maximum = larger
        key_pointers += BLOCK * key_stride
        value_pointers += BLOCK * value_stride
    return output, total, maximum


@jit
def flash_program(
    query,
    key,
    value,
    output,
    query_length,
    key_length,
    scale,
    INNER: tl.constexpr,
    HEAD: tl.constexpr,
    IS_CAUSAL: tl.constexpr,
    ROWS: tl.constexpr,
    BLOCK: tl.constexpr,
):
    """Compute ROWS rows of one head's output; INNER, a loop such as flash_kernel, takes the keys.

    query and output (heads, query_length, HEAD), key and value (heads, key_length, HEAD) arrive as
    the addresses of their first numbers and lie in memory without gaps. Program (tile, head) has
    the rows tile * ROWS to tile * ROWS + ROWS - 1 of its head, of which the last may not be there.
    If IS_CAUSAL, row i sees the keys 0 to i. HEAD is a power of 2, at least 16.
    """
    tile = tl.program_id(0)
    head = tl.program_id(1)
    rows = tile * ROWS + tl.arange(0, ROWS)
    components = tl.arange(0, HEAD)
    inside = rows[:, None] < query_length
    places = (head * query_length + rows)[:, None] * HEAD + components[None, :]
    block = tl.load(query + places, mask=inside, other=0.0)
    keys = head * key_length + tl.arange(0, BLOCK)
    key_places = keys[:, None] * HEAD + components[None, :]

    limit = tl.zeros([ROWS], tl.int32) + key_length  # row i may see the keys below limit[i]
    seen_by_all = key_length
    stop = key_length
    if IS_CAUSAL:
        limit = tl.minimum(key_length, rows + 1)
        seen_by_all = tl.minimum(key_length, tile * ROWS + 1)
        stop = tl.minimum(key_length, tile * ROWS + ROWS)  # no block wholly in the future
    unmasked = seen_by_all // BLOCK * BLOCK  # whole blocks that every row sees

    result = tl.zeros([ROWS, HEAD], tl.float32)
    total = tl.zeros([ROWS], tl.float32)
    maximum = tl.full([ROWS], float("-inf"), tl.float32)
    result, total, maximum = INNER(
        block, key + key_places, value + key_places, HEAD, HEAD, 0, unmasked, limit, scale,
        result, total, maximum, BLOCK, False,
    )  # fmt: skip
    result, total, maximum = INNER(
        block, key + key_places, value + key_places, HEAD, HEAD, unmasked, stop, limit, scale,
        result, total, maximum, BLOCK, True,
    )  # fmt: skip
    tl.store(output + places, result / total[:, None], mask=inside)
