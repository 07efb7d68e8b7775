"""Lesson 10's outer kernel, tuned, for arrays with any strides: it takes an inner loop through the keys."""

from __future__ import annotations

from attention_lib.lessons.gpu.triton import tl
from attention_lib.lessons.gpu.tuning import NUMBER_BY_NUMBER, configurations, fused, tuned_over

__all__ = ["forward"]

TOGETHER = tl.constexpr(32)  # heads

# None of these spills on Hopper. Of a tile a warp takes 16 rows: with more warps than that, all is
# done twice. With 128 registers at most, two programs share a multiprocessor: one multiplies while
# the other exponentiates.
TUNED = configurations(
    (128, 128, 8, 3, None),
    (128, 64, 8, 3, 128),
    (128, 64, 4, 3, None),
    (64, 128, 4, 2, None),
    (64, 64, 4, 3, None),
    (64, 32, 4, 3, None),
)
WIDE = configurations((128, 128, 8, 3, None), (64, 64, 4, 3, None), (64, 32, 4, 3, None))


@tuned_over(TUNED, WIDE, NUMBER_BY_NUMBER)
@fused
def forward(
    query,
    key,
    value,
    output,
    logsumexp,  # (batch, heads, row), without gaps; in powers of 2
    query_strides,  # of each array: batch, head, row, component
    key_strides,
    value_strides,
    output_strides,
    heads,
    query_length,
    key_length,
    scale,
    length_class,  # only what the tuning depends on, the length's binary digits
    INNER: tl.constexpr,
    HEAD: tl.constexpr,
    WIDTH: tl.constexpr,
    PACKED: tl.constexpr,  # whether keys, and values, follow each other without a gap
    IS_CAUSAL: tl.constexpr,
    KEEPS_LOGSUMEXP: tl.constexpr,
    ROWS: tl.constexpr,
    BLOCK: tl.constexpr,
):
    """Compute ROWS rows of one head's output; INNER goes through the keys."""
    # Under a causal mask the last tiles take longest: those of TOGETHER heads go first, and short
    # ones fill the gaps at the end. Still more heads at a time would crowd the cache.
    tiles = tl.cdiv(query_length, ROWS)
    group = tl.program_id(0) // (tiles * TOGETHER) * TOGETHER
    members = tl.minimum(tl.num_programs(0) // tiles - group, TOGETHER)
    place = tl.program_id(0) % (tiles * TOGETHER)
    tile = tiles - 1 - place // members
    batch = ((group + place % members) // heads).to(tl.int64)
    head = ((group + place % members) % heads).to(tl.int64)
    rows = tile * ROWS + tl.arange(0, ROWS)
    keys = tl.arange(0, BLOCK)
    components = tl.arange(0, WIDTH)
    inside = rows[:, None] < query_length
    if HEAD < WIDTH:  # the query is 0 there, so that any number will do for key and value
        inside = inside & (components[None, :] < HEAD)
        components = tl.where(components < HEAD, components, 0)

    query += batch * query_strides[0] + head * query_strides[1]
    key += batch * key_strides[0] + head * key_strides[1]
    value += batch * value_strides[0] + head * value_strides[1]
    output += batch * output_strides[0] + head * output_strides[1]
    # Rows times stride may pass 2^31. A stride that is a constant leaves more registers free.
    key_stride = tl.cast(HEAD if PACKED else key_strides[2], tl.int64)
    value_stride = tl.cast(HEAD if PACKED else value_strides[2], tl.int64)
    far_rows = rows[:, None].to(tl.int64)
    query_pointers = query + far_rows * query_strides[2] + components[None, :] * query_strides[3]
    output_pointers = output + far_rows * output_strides[2]
    output_pointers += components[None, :] * output_strides[3]
    key_pointers = key + keys[:, None] * key_stride + components[None, :] * key_strides[3]
    value_pointers = value + keys[:, None] * value_stride + components[None, :] * value_strides[3]

    limit = tl.zeros([ROWS], tl.int32) + key_length  # row i may see the keys below limit[i]
    seen_by_all = key_length
    stop = key_length
    if IS_CAUSAL:
        limit = tl.minimum(limit, rows + 1)
        seen_by_all = tl.minimum(key_length, tile * ROWS + 1)
        stop = tl.minimum(key_length, tile * ROWS + ROWS)  # no block wholly in the future
    unmasked = seen_by_all // BLOCK * BLOCK

    block = tl.load(query_pointers, mask=inside, other=0.0)
    result = tl.zeros([ROWS, WIDTH], tl.float32)
    total = tl.zeros([ROWS], tl.float32)
    maximum = tl.full([ROWS], float("-inf"), tl.float32)
    result, total, maximum = INNER(
        block, key_pointers, value_pointers, key_stride, value_stride, 0, unmasked, limit, scale,
        result, total, maximum, BLOCK, False,
    )  # fmt: skip
    if unmasked < stop:  # ptxas may run the products of two bare loops one by one
        result, total, maximum = INNER(
            block, key_pointers, value_pointers, key_stride, value_stride, unmasked, stop, limit,
            scale, result, total, maximum, BLOCK, True,
        )  # fmt: skip
    if KEEPS_LOGSUMEXP:
        of_rows = (batch * heads + head) * query_length + rows
        tl.store(logsumexp + of_rows, maximum + tl.log2(total), mask=rows < query_length)
    result = result / total[:, None]
    tl.store(output_pointers, result.to(output.dtype.element_ty), mask=inside)
