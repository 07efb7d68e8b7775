"""Right and wrong answers to `torch_attention`."""

import math

import torch


def right_textbook(query, key, value, is_causal=False):
    scores = query @ key.transpose(-2, -1) / math.sqrt(query.shape[-1])
    if is_causal:
        mask = torch.ones(scores.shape[-2:], dtype=torch.bool, device=query.device).tril()
        scores = scores.masked_fill(~mask, float("-inf"))
    return torch.softmax(scores, dim=-1) @ value


def right_as_einsum(query, key, value, is_causal=False):
    wide = torch.promote_types(query.dtype, torch.float32)
    scores = torch.einsum("...ld,...sd->...ls", query.to(wide), key.to(wide))
    scores *= query.size(-1) ** -0.5
    if is_causal:
        length, keys = scores.shape[-2:]
        rows = torch.arange(length, device=query.device)[:, None]
        future = torch.arange(keys, device=query.device) > rows
        scores = torch.where(future, float("-inf"), scores)
    weights = scores.softmax(-1)
    return torch.einsum("...ls,...sv->...lv", weights, value.to(wide)).to(value.dtype)


def right_by_hand(query, key, value, is_causal=False):
    scores = torch.matmul(query, key.mT) * (1 / math.sqrt(key.shape[-1]))
    if is_causal:
        scores = scores + torch.full_like(scores, -math.inf).triu(1)
    scores = scores - scores.amax(-1, keepdim=True).detach()
    exponentials = scores.exp()
    return (exponentials / exponentials.sum(-1, keepdim=True)).matmul(value)


def right_in_float64(query, key, value, is_causal=False):
    scores = (query.double() / query.shape[-1] ** 0.5) @ key.double().transpose(-1, -2)
    if is_causal:
        keep = torch.tril(torch.ones_like(scores)).bool()
        scores = scores.masked_fill(keep.logical_not(), -torch.inf)
    log_weights = scores - scores.logsumexp(-1, keepdim=True)
    return (log_weights.exp() @ value.double()).type_as(value)


def right_by_rows(query, key, value, is_causal=False):
    rows = []
    for i in range(query.shape[-2]):
        seen = min(i + 1, key.shape[-2]) if is_causal else key.shape[-2]
        scores = (query[..., i : i + 1, :] * key[..., :seen, :]).sum(-1)
        weights = torch.nn.functional.softmax(scores / math.sqrt(query.shape[-1]), dim=-1)
        rows.append((weights[..., None] * value[..., :seen, :]).sum(-2))
    return torch.stack(rows, dim=-2)


def right_that_looks_at_values(query, key, value, is_causal=False):
    scores = query @ key.transpose(-2, -1) / math.sqrt(query.shape[-1])
    if is_causal:
        scores = scores.masked_fill(torch.ones_like(scores).triu(1) == 1, -torch.inf)
    if bool(scores.isnan().any()):
        raise ValueError("NaN")
    return scores.softmax(dim=-1) @ value


def attention(query, key, value, is_causal=False, forbidden=-math.inf):
    scores = query @ key.mT / math.sqrt(query.shape[-1])
    if is_causal:
        future = torch.ones(scores.shape[-2:], dtype=torch.bool, device=scores.device).triu(1)
        scores = scores.masked_fill(future, forbidden)
    return scores.softmax(dim=-1) @ value


def wrong_far_from_minus_infinity(query, key, value, is_causal=False):
    """Fill in a number that float16 does not have."""
    return attention(query, key, value, is_causal, forbidden=-1e9)


def wrong_renormalized_after_the_softmax(query, key, value, is_causal=False):
    """Lose the past where the future takes all the weight."""
    weights = (query @ key.mT / math.sqrt(query.shape[-1])).softmax(dim=-1)
    if is_causal:
        weights = weights.tril()
        weights = weights / weights.sum(dim=-1, keepdim=True)
    return weights @ value


def wrong_brought_to_the_cpu(query, key, value, is_causal=False):
    return attention(query, key, value, is_causal).cpu()
