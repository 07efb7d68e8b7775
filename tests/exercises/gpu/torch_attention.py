"""Right and wrong answers to `torch_attention`."""

import math

import torch


def attention(query, key, value, is_causal=False, forbidden=-math.inf):
    scores = query @ key.mT / math.sqrt(query.shape[-1])
    if is_causal:
        future = torch.ones(scores.shape[-2:], dtype=torch.bool, device=scores.device).triu(1)
        scores = scores.masked_fill(future, forbidden)
    return scores.softmax(dim=-1) @ value


def wrong_far_from_minus_infinity(query, key, value, is_causal=False):
    """Fill in a number that float16 does not have."""
    return attention(query, key, value, is_causal, forbidden=-1e9)


def wrong_brought_to_the_cpu(query, key, value, is_causal=False):
    return attention(query, key, value, is_causal).cpu()
