"""Right and wrong answers to `decode_part`."""

import math

import torch


def right_textbook(query, key, value):
    scores = query @ key.transpose(-2, -1) / math.sqrt(query.shape[-1])
    logsumexp = torch.logsumexp(scores, dim=-1)
    return torch.exp(scores - logsumexp[..., None]) @ value, logsumexp


def right_by_softmax(query, key, value):
    scores = (query.float() / query.shape[-1] ** 0.5) @ key.float().mT
    weights = torch.softmax(scores, dim=-1)
    return [(weights @ value.float()).to(value.dtype), scores.logsumexp(-1)]


def right_by_hand(query, key, value):
    wide = torch.promote_types(query.dtype, torch.float32)
    query, key = query.to(wide), key.to(wide)
    if key.shape[-2] == 0:
        empty = query.new_zeros((*query.shape[:-1], value.shape[-1]))
        return empty.to(value.dtype), torch.full_like(query[..., 0], -math.inf)
    scores = torch.einsum("...ld,...sd->...ls", query, key) * query.shape[-1] ** -0.5
    maximum = scores.amax(dim=-1, keepdim=True)
    exponentials = (scores - maximum).exp()
    total = exponentials.sum(dim=-1, keepdim=True)
    output = exponentials / total @ value.to(wide)
    return output.to(value.dtype), (maximum + total.log()).squeeze(-1).to(query.dtype).float()


def right_key_by_key(query, key, value):
    query, wide = query / math.sqrt(query.shape[-1]), torch.float32
    logsumexp = torch.full(query.shape[:-1], -math.inf, dtype=wide, device=query.device)
    output = query.new_zeros((*query.shape[:-1], value.shape[-1])).to(wide)
    for k in range(key.shape[-2]):
        score = (query * key[..., k : k + 1, :]).sum(-1).to(wide)
        joined = torch.logaddexp(logsumexp, score)
        output = output * (logsumexp - joined).exp()[..., None]
        output = output + (score - joined).exp()[..., None] * value[..., k : k + 1, :]
        logsumexp = joined
    return output.to(value.dtype), logsumexp


def wrong_without_the_last(query, key, value):
    last = max(key.shape[-2] - 1, min(1, key.shape[-2]))
    return right_textbook(query, key[..., :last, :], value[..., :last, :])


def wrong_causal(query, key, value):
    scores = query @ key.mT / math.sqrt(query.shape[-1])
    future = torch.ones(scores.shape[-2:], dtype=torch.bool, device=scores.device).triu(1)
    scores = scores.masked_fill(future, -math.inf)
    logsumexp = scores.logsumexp(-1)
    return (scores - logsumexp[..., None]).exp() @ value, logsumexp


def wrong_stops_without_keys(query, key, value):
    scores = query @ key.mT / math.sqrt(query.shape[-1])
    maximum = scores.amax(dim=-1, keepdim=True)
    total = (scores - maximum).exp().sum(dim=-1, keepdim=True)
    return (scores - maximum).exp() / total @ value, (maximum + total.log())[..., 0]


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
