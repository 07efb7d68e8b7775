"""Right and wrong answers to `multi_head_attention`."""

import numpy as np

import attention_lib
from attention_lib.lessons.attention import attention
from tests.exercises.multihead import merge_heads, split_heads
from tests.exercises.parts import attend, softmax_or_zeros


def right_textbook(x, w_q, w_k, w_v, w_o, num_heads, mask=None):
    query, key, value = (split_heads.right_textbook(x @ w, num_heads) for w in (w_q, w_k, w_v))
    if mask is not None:
        mask = mask[..., None, :, :]
    output, _ = attention(query, key, value, mask)
    return merge_heads.right_textbook(output) @ w_o


def right_one_by_one(x, w_q, w_k, w_v, w_o, num_heads, mask=None):
    size = x.shape[-1] // num_heads
    outputs = []
    for h in range(num_heads):
        columns = slice(h * size, (h + 1) * size)
        query, key, value = x @ w_q[:, columns], x @ w_k[:, columns], x @ w_v[:, columns]
        outputs.append(attention(query, key, value, mask)[0])
    return np.concatenate(outputs, axis=-1) @ w_o


def right_in_float64(x, w_q, w_k, w_v, w_o, num_heads, mask=None):
    dtype = np.float32 if x.dtype == np.float32 else np.float64
    x, w_q, w_k, w_v, w_o = (a.astype(np.float64) for a in (x, w_q, w_k, w_v, w_o))
    allowed = np.array(True) if mask is None or mask.dtype != bool else mask[..., None, :, :]
    added = np.array(0.0) if mask is None or mask.dtype == bool else mask[..., None, :, :]
    q = split_heads.right_by_slices(x @ w_q, num_heads) / np.sqrt(x.shape[-1] / num_heads)
    scores = np.where(
        allowed, q @ split_heads.right_by_slices(x @ w_k, num_heads).mT + added, -np.inf
    )
    scores -= scores.max(axis=-1, keepdims=True)
    exponentials = np.exp(scores)
    weights = exponentials / exponentials.sum(axis=-1, keepdims=True)
    return (
        merge_heads.right_by_concatenating(
            weights @ split_heads.right_by_slices(x @ w_v, num_heads)
        )
        @ w_o
    ).astype(dtype)


def right_from_one_big_product(x, w_q, w_k, w_v, w_o, num_heads, mask=None):
    projected = x @ np.concatenate([w_q, w_k, w_v], axis=1)
    q, k, v = (
        split_heads.right_by_np_split(part, num_heads) for part in np.split(projected, 3, axis=-1)
    )
    if mask is not None:
        shape = (*mask.shape[:-2], num_heads, *mask.shape[-2:])
        mask = np.broadcast_to(np.expand_dims(mask, -3), shape)
    return np.matmul(merge_heads.right_by_concatenating(attention(q, k, v, mask=mask)[0]), w_o)


def right_as_one_long_sequence(x, w_q, w_k, w_v, w_o, num_heads, mask=None):
    """Lay the heads end to end and let the mask keep them apart."""
    length = x.shape[-2]

    def laid_out(weight):
        heads = split_heads.right_textbook(x @ weight, num_heads)
        return heads.reshape(*x.shape[:-2], num_heads * length, -1)

    own = np.kron(np.eye(num_heads), np.ones((length, length))) > 0
    if mask is not None:
        tiled = np.tile(mask, (num_heads, num_heads))
        own = own & tiled if mask.dtype == bool else np.where(own, tiled, -np.inf)
    output, _ = attention(*map(laid_out, (w_q, w_k, w_v)), own)
    return merge_heads.right_textbook(output.reshape(*x.shape[:-2], num_heads, length, -1)) @ w_o


def right_item_by_item(x, w_q, w_k, w_v, w_o, num_heads, mask=None):
    if x.ndim == 2:
        return right_one_by_one(x, w_q, w_k, w_v, w_o, num_heads, mask)
    masks = [mask] * len(x) if mask is None or mask.ndim < x.ndim else mask
    weights = w_q, w_k, w_v, w_o
    return np.array(
        [
            right_item_by_item(item, *weights, num_heads, own)
            for item, own in zip(x, masks, strict=True)
        ]
    )


def layer(
    place=lambda mask: mask[..., None, :, :], scale=None, finish=np.matmul, weigh=softmax_or_zeros
):
    """Make multi-head attention with some of its steps exchanged."""

    def answer(x, w_q, w_k, w_v, w_o, num_heads, mask=None):
        query, key, value = (
            split_heads.right_textbook(x @ weight, num_heads) for weight in (w_q, w_k, w_v)
        )
        mask = None if mask is None else place(mask)
        by = scale and scale(x, num_heads)
        return finish(
            merge_heads.right_textbook(attend(query, key, value, mask, by, weigh)[0]), w_o
        )

    return answer


def wrong_causal_without_a_mask(x, w_q, w_k, w_v, w_o, num_heads, mask=None):
    mask = np.tri(x.shape[-2], dtype=bool) if mask is None else mask
    return layer()(x, w_q, w_k, w_v, w_o, num_heads, mask)


def wrong_heads_that_see_their_own_columns(x, w_q, w_k, w_v, w_o, num_heads, mask=None):
    """Split x, and give every head a square block of each matrix."""
    size, heads = x.shape[-1] // num_heads, []
    for start in range(0, x.shape[-1], size):
        own = slice(start, start + size)
        part = (x[..., own] @ weight[own, own] for weight in (w_q, w_k, w_v))
        heads.append(attend(*part, mask)[0])
    return np.concatenate(heads, axis=-1) @ w_o


def wrong_always_two_heads(x, w_q, w_k, w_v, w_o, num_heads, mask=None):
    return layer()(x, w_q, w_k, w_v, w_o, 2 if x.shape[-1] % 2 == 0 else num_heads, mask)


def wrong_weights_doubled_afterwards(x, w_q, w_k, w_v, w_o, num_heads, mask=None):
    output = layer()(x, w_q, w_k, w_v, w_o, num_heads, mask)
    w_q *= 2
    return output


def first_head_masked(mask):
    return np.where(np.arange(2)[:, None, None] == 0, mask[..., None, :, :], mask.dtype.type(1))


WRONG = {
    "divided by 2": layer(scale=lambda x, heads: 0.5),
    "the first item's mask": layer(place=lambda mask: mask[(0,) * (mask.ndim - 2)]),
    "one item's mask after another": layer(
        place=lambda mask: mask[..., None, :, :] if mask.ndim == 2 else mask[:1, None]
    ),
    "one head masked": layer(place=first_head_masked),
    "heads added": layer(finish=lambda merged, w_o: merged @ w_o + merged),
    "softmax over all": layer(weigh=lambda s: softmax_or_zeros(s, (-1, -2))),
    "the library's split": lambda x, w_q, w_k, w_v, w_o, heads, mask=None: (
        layer()(x, w_q, w_k, w_v, w_o, heads, mask)
        + 0 * attention_lib.merge_heads(attention_lib.split_heads(x, heads))
    ),
    "the library's groups": lambda x, w_q, w_k, w_v, w_o, heads, mask=None: (
        merge_heads.right_textbook(
            attention_lib.grouped_query_attention(
                *(split_heads.right_textbook(x @ w, heads) for w in (w_q, w_k, w_v)),
                None if mask is None else mask[..., None, :, :],
            )
        )
        @ w_o
    ),
}
