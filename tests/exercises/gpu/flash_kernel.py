"""Right answers to `flash_kernel`."""

from attention_lib.lessons.gpu import launch

jit, tl = launch.jit, launch.tl


@jit
def right_scaled_first(
    query, key_pointers, value_pointers, key_stride, value_stride, start, stop, limit, scale,
    output, total, maximum, BLOCK: tl.constexpr, MASKED: tl.constexpr,
):  # fmt: skip
    for first in range(start, stop, BLOCK):
        columns = first + tl.arange(0, BLOCK)
        key = tl.load(key_pointers + first * key_stride, mask=columns[:, None] < stop, other=0.0)
        scores = tl.dot(query, tl.trans(key)) * scale
        if MASKED:
            scores += tl.where(columns[None, :] < limit[:, None], 0.0, float("-inf"))
        new = tl.maximum(maximum, tl.max(scores, 1))
        weights = tl.exp2(scores - new[:, None])
        old = tl.exp2(maximum - new)
        value = tl.load(
            value_pointers + first * value_stride, mask=columns[:, None] < stop, other=0
        )
        output = tl.dot(weights.to(value.dtype), value, output * old[:, None])
        total = old * total + tl.sum(weights, 1)
        maximum = new
    return output, total, maximum


@jit
def right_with_moving_pointers(
    query, key_pointers, value_pointers, key_stride, value_stride, start, stop, limit, scale,
    output, total, maximum, BLOCK: tl.constexpr, MASKED: tl.constexpr,
):  # fmt: skip
    key_pointers += start * key_stride
    value_pointers += start * value_stride
    offsets = tl.arange(0, BLOCK)
    for first in range(start, stop, BLOCK):
        there = (first + offsets < stop)[:, None]
        key = tl.load(key_pointers, mask=there, other=0.0)
        value = tl.load(value_pointers, mask=there, other=0.0)
        scores = scale * tl.dot(query, key.T)
        if MASKED:
            scores = tl.where((first + offsets)[None, :] < limit[:, None], scores, -float("inf"))
        highest = tl.maximum(tl.max(scores, axis=1), maximum)
        shrink = tl.math.exp2(maximum - highest)
        weights = tl.math.exp2(scores - tl.expand_dims(highest, 1))
        total *= shrink
        total += tl.sum(weights, axis=1)
        output *= tl.expand_dims(shrink, 1)
        output += tl.dot(weights.to(value.dtype), value)
        maximum = highest
        key_pointers += BLOCK * key_stride
        value_pointers += BLOCK * value_stride
    return output, total, maximum


@jit
def right_in_powers_of_e(
    query, key_pointers, value_pointers, key_stride, value_stride, start, stop, limit, scale,
    output, total, maximum, BLOCK: tl.constexpr, MASKED: tl.constexpr,
):  # fmt: skip
    for first in range(start, stop, BLOCK):
        columns = first + tl.arange(0, BLOCK)
        inside = columns < stop
        key = tl.load(key_pointers + first * key_stride, mask=inside[:, None], other=0.0)
        value = tl.load(value_pointers + first * value_stride, mask=inside[:, None], other=0.0)
        scores = tl.dot(query, tl.trans(key)) * scale * 0.6931471805599453
        visible = inside[None, :]
        if MASKED:
            visible &= columns[None, :] < limit[:, None]
        scores = tl.where(visible, scores, float("-inf"))
        larger = tl.maximum(maximum, tl.max(scores, axis=1))
        weights = tl.exp(scores - larger[:, None])
        shrink = tl.exp(maximum - larger)
        total = total * shrink + tl.sum(weights, axis=1)
        output = output * shrink[:, None] + tl.dot(weights.to(value.dtype), value)
        maximum = larger
    return output, total, maximum
