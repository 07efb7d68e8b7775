"""ONNX's node cases of the operators that this library has functions for.

What ONNX says in other words is translated by the caller, never by the library: heads packed in
the last axis are unpacked, a cache is put before the keys, and cache lengths, windows and causal
offsets become masks. What ONNX has beyond the library is composed in `adapters`.
"""

import numpy as np
import pytest

from attention_lib import (
    cross_entropy,
    log_softmax,
    logsumexp,
    scaled_scores,
    softcap,
    softmax,
)
from tests.peers.adapters import attend, over_axes, share_heads
from tests.peers.onnx_cases import (
    assert_close,
    heads_of,
    mask_of,
    pack_heads,
    published,
    with_past,
)


@pytest.mark.parametrize(("inputs", "outputs", "options"), published("Softmax"))
def test_softmax(inputs, outputs, options):
    assert_close(softmax(inputs["x"], **options), outputs["y"])


@pytest.mark.parametrize(("inputs", "outputs", "options"), published("LogSoftmax"))
def test_log_softmax(inputs, outputs, options):
    assert_close(log_softmax(inputs["x"], **options), outputs["y"])


@pytest.mark.parametrize(("inputs", "outputs", "options"), published("ReduceLogSumExp"))
def test_logsumexp(inputs, outputs, options):
    axes = tuple(inputs["axes"].tolist()) or None
    got = over_axes(logsumexp, inputs["data"], axes, bool(options["keepdims"]))
    assert_close(got, outputs["reduced"])


@pytest.mark.parametrize(
    ("inputs", "outputs", "options"),
    published("SoftmaxCrossEntropyLoss", lambda inputs, options: "w" not in inputs),
)
def test_cross_entropy(inputs, outputs, options):
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
    assert_close(loss, np.asarray(outputs["z"]))
    if "log_prob" in outputs:
        assert_close(log_softmax(scores, axis=1), outputs["log_prob"])


@pytest.mark.parametrize(("inputs", "outputs", "options"), published("Attention"))
def test_attention(inputs, outputs, options):
    query, key, value = heads_of(inputs, options)
    key, value = with_past(inputs, key, value)
    mask, is_causal = mask_of(inputs, options, query.shape[2], key.shape[2])
    scale, cap = options.get("scale"), options.get("softcap") or None

    output, weights = attend(query, key, value, mask, scale, is_causal, cap)
    assert_close(output if inputs["Q"].ndim == 4 else pack_heads(output), outputs["Y"])
    if "qk_matmul_output" in outputs:
        mode = options.get("qk_matmul_output_mode", 0)
        key, _ = share_heads(query, key, value)
        scores = scaled_scores(query, key, scale) if mode < 3 else weights
        if mode in (1, 2) and cap:
            scores = softcap(scores, cap)
        if mode == 2:
            scores = scores + np.where(mask, 0, -np.inf) if mask.dtype == bool else scores + mask
            if is_causal:
                scores = np.where(np.tri(*scores.shape[-2:], dtype=bool), scores, -np.inf)
        assert_close(scores.astype(query.dtype), outputs["qk_matmul_output"])
