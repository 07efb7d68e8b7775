"""ONNX's cases of rotated pairs, and of attention with grouped heads and with a cache."""

import numpy as np
import onnx
import pytest
from onnx.reference import ReferenceEvaluator

from attention_lib import grouped_query_attention
from tests.peers.adapters import causal_too, grouped_step, rotary, rotate
from tests.peers.onnx_cases import (
    assert_close,
    heads_of,
    mask_of,
    pack_heads,
    published,
    unpack_heads,
    with_past,
)

PARAMETERS = ("inputs", "outputs", "options")


def tables(inputs):
    """Return a case's cosines and sines of each position, with an axis for the heads."""
    cos, sin = inputs["cos_cache"], inputs["sin_cache"]
    if "position_ids" in inputs:
        cos, sin = cos[inputs["position_ids"]], sin[inputs["position_ids"]]
    return cos[:, None], sin[:, None]


def rotated_part(inputs, options):
    """Return a case's vectors with an axis for heads, and how many of their entries turn."""
    x = inputs["input"]
    x = x if x.ndim == 4 else unpack_heads(x, options["num_heads"])
    return x, options.get("rotary_embedding_dim", 0) or x.shape[-1]


class TestRotaryEmbedding:
    @pytest.mark.parametrize(PARAMETERS, published("RotaryEmbedding"))
    def test_pairs_turn_as_published(self, inputs, outputs, options):
        x, size = rotated_part(inputs, options)
        interleaved = bool(options.get("interleaved", 0))
        turned = rotate(x[..., :size], *tables(inputs), interleaved=interleaved)
        got = np.concatenate((turned, x[..., size:]), axis=-1)
        assert_close(got if inputs["input"].ndim == 4 else pack_heads(got), outputs["output"])

    # The published tables hold random numbers; here ONNX's own evaluator is given true angles.
    @pytest.mark.parametrize("interleaved", [0, 1])
    @pytest.mark.parametrize("base", [10000.0, 500.0])
    def test_angles_are_those_of_the_tables(self, interleaved, base):
        rng = np.random.default_rng(3)
        x = rng.normal(size=(2, 3, 5, 6)).astype(np.float32)
        positions = rng.integers(0, 50, (2, 5))
        angles = np.arange(50)[:, None] * base ** (-np.arange(0, 6, 2) / 6)
        node = onnx.helper.make_node(
            "RotaryEmbedding", ["x", "cos", "sin", "positions"], ["y"], interleaved=interleaved
        )
        (expected,) = ReferenceEvaluator(node).run(
            None,
            {
                "x": x,
                "cos": np.cos(angles).astype(np.float32),
                "sin": np.sin(angles).astype(np.float32),
                "positions": positions,
            },
        )
        got = rotary(x, positions, base, interleaved=bool(interleaved))
        assert_close(got, expected)


class TestAttention:
    @pytest.mark.parametrize(
        PARAMETERS, published("Attention", lambda inputs, options: not options.get("softcap"))
    )
    def test_grouped_heads(self, inputs, outputs, options):
        query, key, value = heads_of(inputs, options)
        if "scale" in options:
            query = query * np.float32(options["scale"] * query.shape[-1] ** 0.5)
        key, value = with_past(inputs, key, value)
        mask, is_causal = mask_of(inputs, options, query.shape[2], key.shape[2])
        if is_causal:
            mask = causal_too(mask, query.shape[2], key.shape[2])
        output = grouped_query_attention(query, key, value, mask)
        assert_close(output if inputs["Q"].ndim == 4 else pack_heads(output), outputs["Y"])

    @pytest.mark.parametrize(
        PARAMETERS, published("Attention", lambda inputs, options: "past_key" in inputs)
    )
    def test_a_cache_grown_token_by_token(self, inputs, outputs, options):
        query, key, value = heads_of(inputs, options)
        cache, steps = (inputs["past_key"], inputs["past_value"]), []
        for t in range(key.shape[2]):
            token = slice(t, t + 1)
            asking = query[:, :, token] if t < query.shape[2] else query[:, :, :1]
            output, cache = grouped_step(asking, key[:, :, token], value[:, :, token], cache)
            steps.append(output)
        assert_close(cache[0], outputs["present_key"])
        assert_close(cache[1], outputs["present_value"])
        restricted = "attn_mask" in inputs or "left_window_size" in options
        if options.get("is_causal") and not restricted:
            assert_close(np.concatenate(steps, axis=2), outputs["Y"])

    @pytest.mark.parametrize(
        PARAMETERS,
        published(
            "Attention",
            lambda inputs, options: "nonpad_kv_seqlen" in inputs and inputs["Q"].shape[-2] == 1,
        ),
    )
    def test_a_step_from_a_cache_of_any_length(self, inputs, outputs, options):
        for item, length in enumerate(inputs["nonpad_kv_seqlen"]):
            key, value = inputs["K"][item, :, :length], inputs["V"][item, :, :length]
            cache = key[:, :-1], value[:, :-1]
            output, _ = grouped_step(inputs["Q"][item], key[:, -1:], value[:, -1:], cache)
            assert_close(output, outputs["Y"][item])
