"""Right and wrong answers to `decode_part`."""

import math

import torch


def right_textbook(query, key, value):
    scores = query @ key.transpose(-2, -1) / math.sqrt(query.shape[-1])
    logsumexp = torch.logsumexp(scores, dim=-1)
    return torch.exp(scores - logsumexp[..., None]) @ value, logsumexp


def wrong_without_the_last(query, key, value):
    last = max(key.shape[-2] - 1, min(1, key.shape[-2]))
    return right_textbook(query, key[..., :last, :], value[..., :last, :])


def wrong_detached_to_numpy(query, key, value):
    return tuple(torch.from_numpy(one.numpy()) for one in right_textbook(query, key, value))


WRONG = {
    "a list of arrays": lambda *tensors: [one.numpy() for one in right_textbook(*tensors)],
    "the largest number for no keys": lambda *tensors: (
        right_textbook(*tensors)[0],
        right_textbook(*tensors)[1].clamp(min=-1e30),
    ),
    "one query's sum for all": lambda *tensors: (
        right_textbook(*tensors)[0],
        right_textbook(*tensors)[1][..., :1].expand(tensors[0].shape[:-1]),
    ),
    "rounded": lambda *tensors: tuple(one.round(decimals=3) for one in right_textbook(*tensors)),
    "scaled in place": lambda query, key, value: right_textbook(
        query.mul_(1.0).add_(1e-3), key, value
    ),
}
