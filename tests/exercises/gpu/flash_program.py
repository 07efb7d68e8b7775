"""Right and wrong answers to `flash_program`."""

from attention_lib.lessons.gpu import launch
from tests.exercises.answers import patched

jit, tl = launch.jit, launch.tl


@jit
def right_with_moved_pointers(
    query, key, value, output, query_length, key_length, scale, INNER: tl.constexpr,
    HEAD: tl.constexpr, IS_CAUSAL: tl.constexpr, ROWS: tl.constexpr, BLOCK: tl.constexpr,
):  # fmt: skip
    query += tl.program_id(1) * query_length * HEAD
    output += tl.program_id(1) * query_length * HEAD
    key += tl.program_id(1) * key_length * HEAD
    value += tl.program_id(1) * key_length * HEAD
    start = tl.program_id(0) * ROWS
    rows = start + tl.arange(0, ROWS)
    across = tl.arange(0, HEAD)[None, :]
    down = rows[:, None] * HEAD
    block = tl.load(query + down + across, mask=(rows < query_length)[:, None], other=0.0)
    keys = tl.arange(0, BLOCK)[:, None] * HEAD + across
    total = tl.zeros((ROWS,), dtype=tl.float32)
    maximum = total - float("inf")
    mixed = tl.zeros((ROWS, HEAD), dtype=tl.float32)
    if IS_CAUSAL:
        limit = tl.minimum(rows + 1, key_length)
        whole = tl.minimum(start, key_length) // BLOCK * BLOCK
        stop = tl.minimum(start + ROWS, key_length)
    else:
        limit = tl.full((ROWS,), 0, tl.int32) + key_length
        whole = key_length // BLOCK * BLOCK
        stop = key_length
    mixed, total, maximum = INNER(
        block, key + keys, value + keys, HEAD, HEAD, 0, whole, limit, scale, mixed, total, maximum,
        BLOCK, False,
    )  # fmt: skip
    if whole < stop:
        mixed, total, maximum = INNER(
            block, key + keys, value + keys, HEAD, HEAD, whole, stop, limit, scale, mixed, total,
            maximum, BLOCK=BLOCK, MASKED=True,
        )  # fmt: skip
    mixed = mixed / total[:, None]
    mixed = mixed.to(output.dtype.element_ty)
    tl.store(output + down + across, mixed, mask=(rows < query_length)[:, None])


@jit
def right_with_limits_first(
    query, key, value, output, query_length, key_length, scale, INNER: tl.constexpr,
    HEAD: tl.constexpr, IS_CAUSAL: tl.constexpr, ROWS: tl.constexpr, BLOCK: tl.constexpr,
):  # fmt: skip
    tile, head = tl.program_id(0), tl.program_id(1)
    rows = tile * ROWS + tl.arange(0, ROWS)
    i = tl.arange(0, HEAD)
    places = head * query_length * HEAD + tl.expand_dims(rows * HEAD, 1) + tl.expand_dims(i, 0)
    there = tl.broadcast_to(tl.expand_dims(rows, 1) < query_length, [ROWS, HEAD])
    tile_of_queries = tl.load(query + places, mask=there, other=0.0)
    first = head * key_length * HEAD
    places_of_keys = first + HEAD * tl.arange(0, BLOCK)[:, None] + i[None, :]
    limit = tl.where(rows < 0, 0, key_length)
    if IS_CAUSAL:
        limit = tl.where(rows < key_length, rows + 1, key_length)
    stop = tl.max(limit, axis=0)
    whole = tl.min(limit, axis=0) // BLOCK * BLOCK
    state = (
        tl.zeros([ROWS, HEAD], tl.float32),
        tl.zeros([ROWS], tl.float32),
        tl.full([ROWS], -float("inf"), tl.float32),
    )
    a, b, c = INNER(
        tile_of_queries, key + places_of_keys, value + places_of_keys, HEAD, HEAD, 0, whole, limit,
        scale, state[0], state[1], state[2], BLOCK, False,
    )  # fmt: skip
    a, b, c = INNER(
        tile_of_queries, key + places_of_keys, value + places_of_keys, HEAD, HEAD, whole, stop,
        limit, scale, a, b, c, BLOCK, True,
    )  # fmt: skip
    tl.store(output + places, a * (1.0 / b)[:, None], mask=there)


@jit
def right_with_mask_first(
    query, key, value, output, query_length, key_length, scale, INNER: tl.constexpr,
    HEAD: tl.constexpr, IS_CAUSAL: tl.constexpr, ROWS: tl.constexpr, BLOCK: tl.constexpr,
):  # fmt: skip
    first_row = tl.program_id(0) * ROWS
    rows = first_row + tl.arange(0, ROWS)
    places = (tl.program_id(1) * query_length + rows)[:, None] * HEAD + tl.arange(0, HEAD)[None, :]
    keys = tl.program_id(1) * key_length + tl.arange(0, BLOCK)
    key_places = keys[:, None] * HEAD + tl.arange(0, HEAD)[None, :]
    block = tl.load(query + places, mask=rows[:, None] < query_length)
    limit = tl.zeros([ROWS], tl.int32) + key_length
    whole, stop = key_length // BLOCK * BLOCK, key_length
    if IS_CAUSAL:
        limit = tl.minimum(limit, rows + 1)
        whole = tl.minimum(key_length, first_row + 1) // BLOCK * BLOCK
        stop = tl.minimum(key_length, tl.cdiv(first_row + ROWS, BLOCK) * BLOCK)
    maximum = tl.full([ROWS], float("-inf"), tl.float32)
    total, result = tl.zeros([ROWS], tl.float32), tl.zeros([ROWS, HEAD], tl.float32)
    result, total, maximum = INNER(
        block, key + key_places, value + key_places, HEAD, HEAD, whole, stop, limit, scale, result,
        total, maximum, BLOCK, True,
    )  # fmt: skip
    result, total, maximum = INNER(
        block, key + key_places, value + key_places, HEAD, HEAD, 0, whole, limit, scale, result,
        total, maximum, BLOCK, False,
    )  # fmt: skip
    tl.store(output + places, result / total[:, None], mask=rows[:, None] < query_length)


WRONG = {
    "the total divides twice": patched(
        "flash_program", "result / total[:, None] => result / total[:, None] / total[:, None]"
    ),
}
