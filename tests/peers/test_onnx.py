"""ONNX's node cases of the operators that this library has functions for.

ONNX publishes each case a second time for the same operator written out in smaller ones, under a
name with `_expanded`: the same inputs and outputs, which are not counted twice here.

What ONNX says in other words is translated by the caller, never by the library: heads packed in
the last axis are unpacked, a cache is put before the keys, and cache lengths, windows and causal
offsets become masks.
"""

import importlib
import math
import warnings

import numpy as np
import pytest
from onnx import helper
from onnx.backend.test.case import node as onnx_cases

from attention_lib import (
    attention,
    cross_entropy,
    log_softmax,
    logsumexp,
    padding_mask,
    scaled_scores,
    softcap,
    softmax,
)

MODULES = ["attention", "softmax", "logsoftmax", "reduce_log_sum_exp", "softmax_cross_entropy_loss"]
TOLERANCE = {np.float16: 2e-3, np.float32: 1e-5, np.float64: 1e-12}  # of their own arithmetic

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    for module in MODULES:
        importlib.import_module(f"onnx.backend.test.case.node.{module}")


def _cases(operator):
    cases = list(_generate_cases(operator))
    assert cases, f"ONNX has no cases for {operator}"
    return cases


def _generate_cases(operator):
    for case in onnx_cases._NodeTestCases:
        node = case.model.graph.node[0]
        if node.op_type == operator and "_expanded" not in case.name:
            inputs, outputs = case.data_sets[0]
            yield pytest.param(
                dict(zip(filter(None, node.input), inputs, strict=True)),
                dict(zip(filter(None, node.output), outputs, strict=True)),
                {a.name: helper.get_attribute_value(a) for a in node.attribute},
                id=case.name.removeprefix("test_"),
            )


def _assert_close(got, expected):
    tolerance = TOLERANCE[expected.dtype.type]
    assert got.dtype == expected.dtype
    assert got.shape == expected.shape
    np.testing.assert_allclose(got, expected, rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize(("inputs", "outputs", "options"), _cases("Softmax"))
def test_softmax(inputs, outputs, options):
    _assert_close(softmax(inputs["x"], **options), outputs["y"])


@pytest.mark.parametrize(("inputs", "outputs", "options"), _cases("LogSoftmax"))
def test_log_softmax(inputs, outputs, options):
    _assert_close(log_softmax(inputs["x"], **options), outputs["y"])


@pytest.mark.parametrize(("inputs", "outputs", "options"), _cases("ReduceLogSumExp"))
def test_logsumexp(inputs, outputs, options):
    axes = tuple(inputs["axes"].tolist()) or None
    got = logsumexp(inputs["data"], axis=axes, keepdims=bool(options["keepdims"]))
    _assert_close(got, outputs["reduced"])


@pytest.mark.parametrize(("inputs", "outputs", "options"), _cases("SoftmaxCrossEntropyLoss"))
def test_cross_entropy(inputs, outputs, options):
    if "w" in inputs:
        pytest.skip("cross_entropy has no class weights")
    scores, targets = inputs["x"], inputs["y"]
    rows = np.moveaxis(scores, 1, -1).reshape(-1, scores.shape[1])
    kept = targets.ravel() != options.get("ignore_index", -1)
    if options["reduction"] == b"mean":
        loss = cross_entropy(rows[kept], targets.ravel()[kept])
    else:
        loss = np.zeros(targets.size, scores.dtype)
        for i in np.flatnonzero(kept):
            loss[i] = cross_entropy(rows[[i]], targets.ravel()[[i]])
        loss = loss.sum() if options["reduction"] == b"sum" else loss.reshape(targets.shape)
    _assert_close(loss, np.asarray(outputs["z"]))
    if "log_prob" in outputs:
        _assert_close(log_softmax(scores, axis=1), outputs["log_prob"])


@pytest.mark.parametrize(("inputs", "outputs", "options"), _cases("Attention"))
def test_attention(inputs, outputs, options):
    if any(str(array.dtype) == "bfloat16" for array in inputs.values()):
        pytest.skip("NumPy has no bfloat16")
    query, key, value = inputs["Q"], inputs["K"], inputs["V"]
    packed = query.ndim == 3
    if packed:
        query = _split_heads(query, options["q_num_heads"])
        key = _split_heads(key, options["kv_num_heads"])
        value = _split_heads(value, options["kv_num_heads"])
    if "past_key" in inputs:
        key = np.concatenate((inputs["past_key"], key), axis=2)
        value = np.concatenate((inputs["past_value"], value), axis=2)
    mask, is_causal = _mask(inputs, options, query.shape[2], key.shape[2])
    scale, cap = options.get("scale"), options.get("softcap") or None

    output, weights = attention(
        query, key, value, mask, scale=scale, is_causal=is_causal, softcap=cap
    )
    if packed:
        output = output.swapaxes(1, 2).reshape(*output.shape[::2], -1)
    _assert_close(output, outputs["Y"])
    if "qk_matmul_output" in outputs:
        mode = options.get("qk_matmul_output_mode", 0)
        scores = scaled_scores(query, key, scale) if mode < 3 else weights
        if mode in (1, 2) and cap:
            scores = softcap(scores, cap)
        if mode == 2:
            scores = scores + np.where(mask, 0, -np.inf) if mask.dtype == bool else scores + mask
            if is_causal:
                scores = np.where(np.tri(*scores.shape[-2:], dtype=bool), scores, -np.inf)
        _assert_close(scores.astype(query.dtype), outputs["qk_matmul_output"])


def _split_heads(x, num_heads):
    batch, length, size = x.shape
    return x.reshape(batch, length, num_heads, size // num_heads).swapaxes(1, 2)


def _mask(inputs, options, length, key_length):
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
