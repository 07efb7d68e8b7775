"""Right answers to `attention_flops`."""

import math

import numpy as np


def right_by_products(batch, heads, length, head_dim, is_causal=False):
    one = 2 * batch * heads * length**2 * head_dim
    return 2 * one // (2 if is_causal else 1)


def right_as_a_float(batch, heads, length, head_dim, is_causal=False):
    return 4.0 * math.prod((batch, heads, length, length, head_dim)) * (0.5 if is_causal else 1.0)


def right_in_numpy(batch, heads, length, head_dim, is_causal=False):
    entries = np.float64(batch) * heads * length * length
    return entries * head_dim * (2 if is_causal else 4)
