"""Right and wrong answers to `dot_product_scores`."""

import numpy as np


def right_by_matmul(query, key):
    return query @ key.mT


def right_by_einsum(query, key):
    return np.einsum("...ld,...sd->...ls", query, key)


def right_by_loops(query, key):
    out = np.empty((*query.shape[:-1], key.shape[-2]), np.result_type(query, key))
    for batch in np.ndindex(query.shape[:-2]):
        for i, one in enumerate(query[batch]):
            for j, other in enumerate(key[batch]):
                out[(*batch, i, j)] = sum(a * b for a, b in zip(one, other, strict=True))
    return out


def right_by_broadcasting(query, key):
    return (query[..., :, None, :] * key[..., None, :, :]).sum(axis=-1)


def right_by_components(query, key):
    total = 0
    for d in range(query.shape[-1]):
        total = total + query[..., :, None, d] * key[..., None, :, d]
    return total


def right_in_float64(query, key):
    wide = np.matmul(query.astype(float), np.swapaxes(key, -1, -2).astype(float))
    return wide.astype(query.dtype)


def right_transposed_twice(query, key):
    return np.swapaxes(key @ np.swapaxes(query, -1, -2), -1, -2)


@np.vectorize(signature="(l,d),(s,d)->(l,s)")
def right_item_by_item(query, key):
    return np.linalg.multi_dot([query, key.T])


def right_by_polarization(query, key):
    q, k = (a.astype(np.longdouble) for a in (query[..., :, None, :], key[..., None, :, :]))
    return ((((q + k) ** 2).sum(-1) - ((q - k) ** 2).sum(-1)) / 4).astype(query.dtype)


def wrong_first_keys_for_every_item(query, key):
    return query @ key[(0,) * (key.ndim - 2)].mT


def wrong_empties_its_queries(query, key):
    result = query @ key.mT
    query[...] = 0
    return result


WRONG = {
    "all axes turned but the batch's first": lambda q, k: np.inner(q, k),
    "through float32": lambda q, k: (q.astype(np.float32) @ k.astype(np.float32).mT).astype(
        q.dtype
    ),
    "rounded": lambda q, k: (q @ k.mT).round(8),
    "negative": lambda q, k: -(q @ k.mT),
    "half the distance": lambda q, k: (
        -0.5 * ((q[..., :, None, :] - k[..., None, :, :]) ** 2).sum(axis=-1)
    ),
    "last component left out": lambda q, k: q[..., :-1] @ k[..., :-1].mT,
}
