"""ONNX's node cases, as its wheel carries them, and what several of our tests do with them.

ONNX publishes each case a second time for the same operator written out in smaller ones, under a
name with `_expanded`: the same inputs and outputs, which are not counted twice here.
"""

import importlib
import math
import warnings

import numpy as np
import pytest
from onnx import helper
from onnx.backend.test.case import node as onnx_cases

from attention_lib import padding_mask

MODULES = [
    "attention",
    "logsoftmax",
    "reduce_log_sum_exp",
    "rotaryembedding",
    "softmax",
    "softmax_cross_entropy_loss",
]
TOLERANCE = {np.float16: 2e-3, np.float32: 1e-5, np.float64: 1e-12}  # of their own arithmetic

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    for module in MODULES:
        importlib.import_module(f"onnx.backend.test.case.node.{module}")


def published(operator, wanted=lambda inputs, options: True):
    """Return an operator's cases as pytest parameters: inputs and outputs by name, attributes.

    `wanted` says from inputs and attributes which of them apply. NumPy has no bfloat16.
    """
    cases = list(_generate(operator, wanted))
    assert cases, f"ONNX has no cases for {operator}"
    return cases


def _generate(operator, wanted):
    for case in onnx_cases._NodeTestCases:
        node = case.model.graph.node[0]
        if node.op_type == operator and "_expanded" not in case.name:
            inputs, outputs = case.data_sets[0]
            inputs = dict(zip(filter(None, node.input), inputs, strict=True))
            outputs = dict(zip(filter(None, node.output), outputs, strict=True))
            options = {a.name: helper.get_attribute_value(a) for a in node.attribute}
            if not has_bfloat16(inputs) and wanted(inputs, options):
                name = case.name.removeprefix("test_")
                yield pytest.param(inputs, outputs, options, id=name)


def assert_close(got, expected):
    tolerance = TOLERANCE[expected.dtype.type]
    assert got.dtype == expected.dtype
    assert got.shape == expected.shape
    np.testing.assert_allclose(got, expected, rtol=tolerance, atol=tolerance)


def has_bfloat16(inputs):
    return any(str(array.dtype) == "bfloat16" for array in inputs.values())


def unpack_heads(x, num_heads):
    """Turn ONNX's packed (batch, length, heads · size) into (batch, heads, length, size)."""
    batch, length, size = x.shape
    return x.reshape(batch, length, num_heads, size // num_heads).swapaxes(1, 2)


def pack_heads(x):
    return x.swapaxes(1, 2).reshape(*x.shape[::2], -1)


def heads_of(inputs, options):
    """Return Q, K and V of an Attention case with an axis for heads, and no cache yet."""
    query, key, value = inputs["Q"], inputs["K"], inputs["V"]
    if query.ndim == 3:
        query = unpack_heads(query, options["q_num_heads"])
        key = unpack_heads(key, options["kv_num_heads"])
        value = unpack_heads(value, options["kv_num_heads"])
    return query, key, value


def with_past(inputs, key, value):
    """Put an Attention case's cache, if it has one, before its keys and values."""
    if "past_key" not in inputs:
        return key, value
    return (
        np.concatenate((inputs["past_key"], key), axis=2),
        np.concatenate((inputs["past_value"], value), axis=2),
    )


def mask_of(inputs, options, length, key_length):
    """Turn what ONNX says about who may see whom into `mask` and `is_causal`."""
    is_causal = bool(options.get("is_causal", 0))
    left = options.get("left_window_size", -1)
    right = options.get("right_window_size", -1)
    offset = inputs["past_key"].shape[2] if "past_key" in inputs else 0
    allowed = np.ones((length, key_length), bool)
    if "nonpad_kv_seqlen" in inputs:
        real = inputs["nonpad_kv_seqlen"]
        allowed = allowed & padding_mask(real, key_length)[:, None, None, :]
        offset = (real - length).reshape(-1, 1, 1, 1)
    ahead = np.arange(key_length) - np.arange(length)[:, None] - offset
    if is_causal and np.any(offset != 0):
        allowed, is_causal = allowed & (ahead <= 0), False
    if left >= 0:
        allowed = allowed & (ahead >= -left)
    if right >= 0:
        allowed = allowed & (ahead <= right)

    mask = inputs.get("attn_mask")
    if mask is None:
        return (None if allowed.all() else allowed), is_causal
    missing = [(0, 0)] * (mask.ndim - 1) + [(0, key_length - mask.shape[-1])]
    if mask.dtype == bool:
        return np.pad(mask, missing, constant_values=False) & allowed, is_causal
    mask = np.pad(mask, missing, constant_values=-math.inf)
    return np.where(allowed, mask, -math.inf), is_causal
