"""Lesson 06's functions, held to PyTorch, to each other and to what heads and positions must do."""

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch.nn.functional import scaled_dot_product_attention

from attention_lib import (
    attention,
    causal_mask,
    decode_step,
    decoder_attention,
    grouped_query_attention,
    merge_heads,
    multi_head_attention,
    rotary_embedding,
    split_heads,
)

DTYPES = (np.float16, np.float32, np.float64)
sizes = st.integers(1, 4)


def drawn(*shapes, dtype=np.float64, seed=0):
    rng = np.random.default_rng(seed)
    return [rng.normal(size=shape).astype(dtype) for shape in shapes]


def as_torch(*arrays):
    return [torch.from_numpy(array) for array in arrays]


class TestSplitAndMergeHeads:
    @given(st.lists(sizes, max_size=2), sizes, sizes, sizes, st.sampled_from(["f2", "f8", "i8"]))
    def test_head_h_holds_its_columns(self, leading, length, heads, size, dtype):
        x = drawn((*leading, length, heads * size))[0].astype(dtype)
        split = split_heads(x, heads)
        assert split.shape == (*leading, heads, length, size)
        assert split.dtype == x.dtype
        for h in range(heads):
            np.testing.assert_array_equal(split[..., h, :, :], x[..., h * size : (h + 1) * size])

    @given(st.lists(sizes, max_size=2), sizes, sizes, sizes)
    def test_merging_undoes_splitting(self, leading, length, heads, size):
        (x,) = drawn((*leading, length, heads * size))
        np.testing.assert_array_equal(merge_heads(split_heads(x, heads)), x)

    @pytest.mark.parametrize("shape", [(3, 4), (1, 4), (2, 3, 4)])
    @pytest.mark.parametrize("heads", [1, 2])
    def test_the_results_are_no_views(self, shape, heads):
        (x,) = drawn(shape)
        split = split_heads(x, heads)
        assert not np.shares_memory(split, x)
        assert not np.shares_memory(merge_heads(split), split)

    @pytest.mark.parametrize(
        ("x", "heads", "error", "sentence"),
        [
            (np.ones((2, 6)), 4, ValueError, r"x of shape \(2, 6\) .* not a multiple of 4"),
            (np.ones(6), 2, ValueError, r"x needs at least two dimensions.*\(6,\)"),
            (np.ones((2, 6)), 0, ValueError, "num_heads must be at least 1; it is 0"),
            (np.ones((2, 6)), 2.0, TypeError, "num_heads must be an integer; it is 2.0"),
        ],
    )
    def test_what_cannot_be_split_is_refused(self, x, heads, error, sentence):
        with pytest.raises(error, match=sentence):
            split_heads(x, heads)

    def test_what_has_no_heads_is_refused(self):
        with pytest.raises(ValueError, match=r"x must have shape \(..., H, L, d\).*\(2, 6\)"):
            merge_heads(np.ones((2, 6)))


class TestMultiHeadAttention:
    @pytest.mark.parametrize("heads", [1, 2, 3, 6])
    @pytest.mark.parametrize("masked", [False, True])
    def test_is_pytorchs(self, heads, masked):
        x, w_q, w_k, w_v, w_o = drawn((2, 5, 6), *[(6, 6)] * 4)
        theirs = torch.nn.MultiheadAttention(6, heads, bias=False, batch_first=True).double()
        with torch.no_grad():
            theirs.in_proj_weight.copy_(torch.from_numpy(np.concatenate((w_q, w_k, w_v), 1).T))
            theirs.out_proj.weight.copy_(torch.from_numpy(w_o.T))
            forbidden = torch.from_numpy(~causal_mask(5)) if masked else None
            expected, _ = theirs(*as_torch(x, x, x), attn_mask=forbidden)
        mask = causal_mask(5) if masked else None
        got = multi_head_attention(x, w_q, w_k, w_v, w_o, heads, mask)
        np.testing.assert_allclose(got, expected, rtol=1e-12, atol=1e-12)

    def test_the_same_mask_serves_every_head(self):
        x, *weights = drawn((2, 3, 5, 6), *[(6, 6)] * 4)
        masks = np.random.default_rng(1).random((2, 3, 5, 5)) < 0.6
        together = multi_head_attention(x, *weights, 2, masks)
        for item in np.ndindex(2, 3):
            alone = multi_head_attention(x[item], *weights, 2, masks[item])
            np.testing.assert_allclose(together[item], alone, rtol=1e-12, atol=1e-14)

    def test_a_float_mask_is_added(self):
        x, *weights = drawn((5, 6), *[(6, 6)] * 4)
        allowed = causal_mask(5)
        added = np.where(allowed, 0.0, -np.inf)
        np.testing.assert_array_equal(
            multi_head_attention(x, *weights, 3, added),
            multi_head_attention(x, *weights, 3, allowed),
        )

    @pytest.mark.parametrize("dtype", DTYPES)
    def test_keeps_the_dtype_and_the_inputs(self, dtype):
        arrays = drawn((5, 6), *[(6, 6)] * 4, dtype=dtype)
        before = [array.copy() for array in arrays]
        got = multi_head_attention(*arrays, 2)
        assert got.dtype == dtype
        for array, old in zip(arrays, before, strict=True):
            np.testing.assert_array_equal(array, old)
        wide = multi_head_attention(*(array.astype(np.float64) for array in arrays), 2)
        np.testing.assert_array_equal(got, wide.astype(dtype))

    def test_integers_give_float64(self):
        ones = np.ones((4, 4), int)
        got = multi_head_attention(ones, ones, ones, ones, ones, 2)
        assert got.dtype == np.float64
        np.testing.assert_allclose(got, np.full((4, 4), 16.0))

    @pytest.mark.parametrize(
        ("name", "replacement", "sentence"),
        [
            ("w_k", np.ones((6, 5)), r"w_k of shape \(6, 5\) does not fit x of shape \(5, 6\)"),
            ("w_o", np.ones((5, 5)), r"w_o of shape \(5, 5\) does not fit x of shape \(5, 6\)"),
            ("x", np.ones(6), r"x needs at least two dimensions.*\(6,\)"),
            ("num_heads", 4, "not a multiple of 4"),
            ("mask", np.ones((3, 3), bool), r"mask of shape \(3, 3\) does not broadcast"),
        ],
    )
    def test_what_does_not_fit_is_refused(self, name, replacement, sentence):
        weights = {name: np.eye(6) for name in ("w_q", "w_k", "w_v", "w_o")}
        arguments = {"x": np.ones((5, 6)), **weights, "num_heads": 2, name: replacement}
        with pytest.raises(ValueError, match=sentence):
            multi_head_attention(**arguments)


class TestGroupedQueryAttention:
    @given(st.data())
    def test_is_attention_over_repeated_heads(self, data):
        groups, share, length, keys, d_k, d_v = (data.draw(sizes) for _ in range(6))
        leading = [data.draw(st.sampled_from([(), (1,), (3,), (2, 1), (2, 3)])) for _ in range(3)]
        query, key, value = drawn(
            (*leading[0], groups * share, length, d_k),
            (*leading[1], groups, keys, d_k),
            (*leading[2], groups, keys, d_v),
        )
        batch = np.broadcast_shapes(*leading)
        shape = data.draw(
            st.sampled_from(
                [
                    (length, keys),
                    (groups * share, 1, keys),
                    (1, length, 1),
                    (*batch, 1, length, keys),
                    (*batch, groups * share, length, keys),
                ]
            )
        )
        mask = np.random.default_rng(data.draw(st.integers(0, 9))).random(shape) < 0.7
        got = grouped_query_attention(query, key, value, mask)
        for h in range(groups * share):
            own = np.broadcast_to(mask, (*batch, groups * share, length, keys))[..., h, :, :]
            group = h // share
            expected, _ = attention(
                query[..., h, :, :], key[..., group, :, :], value[..., group, :, :], own
            )
            np.testing.assert_allclose(got[..., h, :, :], expected, rtol=1e-12, atol=1e-14)

    @pytest.mark.parametrize("dtype", DTYPES)
    def test_keeps_the_dtype(self, dtype):
        query, key, value = drawn((4, 3, 2), (2, 5, 2), (2, 5, 6), dtype=dtype)
        assert grouped_query_attention(query, key, value).dtype == dtype

    @pytest.mark.parametrize(
        "shapes",
        [
            [(6, 5, 8), (4, 7, 8), (4, 7, 3)],  # 4 does not divide 6
            [(2, 5, 8), (4, 7, 8), (4, 7, 3)],
            [(6, 5, 8), (0, 7, 8), (0, 7, 3)],
            [(6, 5, 8), (3, 7, 8), (2, 7, 3)],
            [(6, 5, 8), (3, 7, 9), (3, 7, 3)],
            [(6, 5, 8), (3, 7, 8), (3, 6, 3)],
            [(5, 8), (3, 7, 8), (3, 7, 3)],
            [(2, 6, 5, 8), (3, 3, 7, 8), (3, 7, 3)],
        ],
    )
    def test_what_does_not_group_is_refused(self, shapes):
        with pytest.raises(ValueError, match=r"do not fit.* G a divisor of H") as refusal:
            grouped_query_attention(*map(np.ones, shapes))
        assert all(str(shape) in str(refusal.value) for shape in shapes)

    def test_a_mask_of_another_shape_is_refused(self):
        with pytest.raises(ValueError, match=r"mask of shape \(5, 8\) does not broadcast"):
            grouped_query_attention(
                np.ones((6, 5, 8)), np.ones((3, 7, 8)), np.ones((3, 7, 3)), np.ones((5, 8), bool)
            )


def pairs_as_complex(x):
    return x[..., ::2] + 1j * x[..., 1::2]


class TestRotaryEmbedding:
    @pytest.mark.parametrize("base", [10000.0, 7.0])
    def test_turns_each_pair_as_a_complex_number(self, base):
        (x,) = drawn((3, 5, 8))
        positions = np.array([0, 1, 4, 100, 7])
        speeds = np.array([base ** (-2 * i / 8) for i in range(4)])
        expected = pairs_as_complex(x) * np.exp(1j * positions[:, None] * speeds)
        got = rotary_embedding(x, positions, base)
        np.testing.assert_allclose(pairs_as_complex(got), expected, atol=1e-12)

    @given(st.integers(0, 5000), st.integers(0, 5000), st.integers(-2000, 2000))
    def test_only_relative_positions_matter(self, m, n, shift):
        query, key = drawn((1, 6), (1, 6))

        def score(*positions):
            turned = (
                rotary_embedding(x, np.array([p]))
                for x, p in zip((query, key), positions, strict=True)
            )
            return float(np.vdot(*turned))

        assert score(m, n) == pytest.approx(score(m + shift, n + shift), abs=1e-10)

    @pytest.mark.parametrize("dtype", DTYPES)
    def test_is_rounded_once(self, dtype):
        (x,) = drawn((4, 6), dtype=dtype)
        before, positions = x.copy(), np.array([1, 50, 1000, 100_000])
        got = rotary_embedding(x, positions)
        wide = rotary_embedding(x.astype(np.float64), positions)
        assert got.dtype == dtype
        np.testing.assert_array_equal(got, wide.astype(dtype))
        np.testing.assert_array_equal(x, before)

    def test_integers_give_float64(self):
        x = np.arange(12).reshape(3, 4)
        got = rotary_embedding(x, [0, 1, 2])
        expected = rotary_embedding(x.astype(float), [0, 1, 2])
        assert got.dtype == np.float64
        np.testing.assert_array_equal(got, expected)

    @pytest.mark.parametrize(
        ("arguments", "error", "sentence"),
        [
            ((np.ones((3, 5)), [0, 1, 2]), ValueError, r"even size; it has shape \(3, 5\)"),
            ((np.ones((3, 4)), [0, 1]), ValueError, r"positions must have shape \(L,\) with L = 3"),
            ((np.ones((3, 4)), 1), ValueError, r"positions must have shape \(L,\)"),
            ((np.ones((3, 4)), np.zeros((2, 3))), ValueError, r"it has shape \(2, 3\)"),
            ((np.ones((3, 4)), ["a", "b", "c"]), TypeError, "positions must hold real numbers"),
            ((np.ones((3, 4)), [0, 1, 2], -1.0), ValueError, "base must be positive"),
            ((np.ones(4), [0]), ValueError, "x needs at least two dimensions"),
        ],
    )
    def test_what_does_not_fit_is_refused(self, arguments, error, sentence):
        with pytest.raises(error, match=sentence):
            rotary_embedding(*arguments)


def layer_arguments(leading, length, heads, groups, size, dtype=np.float64):
    """Draw x and the four projections of a decoder's layer, and add the numbers of heads."""
    width = heads * size
    shapes = (width, width), (width, groups * size), (width, groups * size), (width, width)
    return [*drawn((*leading, length, width), *shapes, dtype=dtype), heads, groups]


class TestDecoderAttention:
    @given(
        st.lists(sizes, max_size=2),
        st.lists(sizes, min_size=1, max_size=4),
        st.sampled_from([(1, 1), (2, 1), (4, 2), (3, 3)]),
        st.sampled_from([2, 4]),
    )
    def test_a_text_in_pieces_gives_what_it_gives_at_once(self, leading, pieces, heads, size):
        x, *layer = layer_arguments(leading, sum(pieces), *heads, size)
        positions = np.arange(sum(pieces)) + 3
        whole, expected = decoder_attention(x, *layer, positions)
        cache, outputs, begin = None, [], 0
        for piece in pieces:
            words = slice(begin, begin + piece)
            output, cache = decoder_attention(x[..., words, :], *layer, positions[words], cache)
            outputs.append(output)
            begin += piece
        np.testing.assert_allclose(np.concatenate(outputs, axis=-2), whole, rtol=1e-9, atol=1e-11)
        for part, right in zip(cache, expected, strict=True):
            np.testing.assert_allclose(part, right, rtol=1e-12, atol=1e-12)

    def test_is_pytorchs_attention_over_its_parts(self):
        x, w_q, w_k, w_v, w_o, heads, groups = layer_arguments((2,), 5, 4, 2, 6)
        positions = np.array([4, 1, 9, 9, 30])
        query, key = split_heads(x @ w_q, heads), split_heads(x @ w_k, groups)
        query, key = (rotary_embedding(part, positions) for part in (query, key))
        value = split_heads(x @ w_v, groups)
        mixed = scaled_dot_product_attention(
            *as_torch(query, key, value), is_causal=True, enable_gqa=True
        )
        output, cache = decoder_attention(x, w_q, w_k, w_v, w_o, heads, groups, positions)
        np.testing.assert_allclose(output, merge_heads(mixed.numpy()) @ w_o, rtol=1e-10, atol=1e-11)
        np.testing.assert_array_equal(cache[0], key)
        np.testing.assert_array_equal(cache[1], value)

    @pytest.mark.parametrize("dtype", DTYPES)
    def test_keeps_the_dtype_and_the_cache_passed_in(self, dtype):
        x, *layer = layer_arguments((2,), 5, 4, 2, 2, dtype)
        _, cache = decoder_attention(x, *layer, np.arange(5))
        before = [part.copy() for part in cache]
        output, grown = decoder_attention(x[:, :2], *layer, np.array([5, 6]), cache)
        assert {output.dtype, grown[0].dtype, grown[1].dtype} == {np.dtype(dtype)}
        for part, old, new in zip(cache, before, grown, strict=True):
            np.testing.assert_array_equal(part, old)
            assert not np.shares_memory(part, new)

    @pytest.mark.parametrize(
        ("name", "replacement", "sentence"),
        [
            ("w_q", np.ones((8, 4)), r"w_q of shape \(8, 4\) does not fit x of shape \(3, 8\)"),
            ("w_k", np.ones((8, 8)), r"w_k must have shape \(8, 4\).*it has shape \(8, 8\)"),
            ("w_v", np.ones((8, 2)), r"w_v must have shape \(8, 4\).*it has shape \(8, 2\)"),
            ("num_heads", 3, "not a multiple of 3"),
            ("num_heads", 8, r"w_k must have shape \(8, 2\)"),
            ("positions", np.arange(2), r"positions must have shape \(L,\) with L = 3"),
            ("cache", (np.ones((4, 2, 2)),) * 2, "does not continue cached keys"),
        ],
    )
    def test_what_does_not_fit_is_refused(self, name, replacement, sentence):
        values = layer_arguments((), 3, 4, 2, 2)
        names = "x", "w_q", "w_k", "w_v", "w_o", "num_heads", "num_groups"
        arguments = dict(zip(names, values, strict=True))
        arguments |= {"positions": np.arange(3), name: replacement}
        with pytest.raises(ValueError, match=sentence):
            decoder_attention(**arguments)


class TestDecodeStep:
    @given(st.lists(sizes, max_size=2), st.integers(1, 6), sizes, sizes)
    def test_a_loop_of_steps_is_causal_attention(self, leading, length, d_k, d_v):
        query, key, value = drawn(
            (*leading, length, d_k), (*leading, length, d_k), (*leading, length, d_v)
        )
        expected, _ = attention(query, key, value, causal_mask(length))
        cache, outputs = None, []
        for t in range(length):
            token = (array[..., t : t + 1, :] for array in (query, key, value))
            output, cache = decode_step(*token, cache)
            outputs.append(output)
        got = np.concatenate(outputs, axis=-2)
        np.testing.assert_allclose(got, expected, rtol=1e-12, atol=1e-14)
        np.testing.assert_array_equal(cache[0], key)
        np.testing.assert_array_equal(cache[1], value)

    @pytest.mark.parametrize("steps", [0, 2])
    def test_the_cache_is_new_and_the_old_one_unchanged(self, steps):
        token = drawn((1, 2), (1, 2), (1, 3))
        cache = tuple(drawn((steps, 2), (steps, 3))) if steps else None
        before = [array.copy() for array in cache] if steps else []
        _, grown = decode_step(*token, cache)
        for array in (*token, *(cache or ())):
            assert not any(np.shares_memory(array, new) for new in grown)
        for array, old in zip(cache or (), before, strict=True):
            np.testing.assert_array_equal(array, old)

    @pytest.mark.parametrize("dtype", DTYPES)
    def test_keeps_the_dtype(self, dtype):
        token = drawn((1, 2), (1, 2), (1, 3), dtype=dtype)
        output, cache = decode_step(*token)
        output, cache = decode_step(*token, list(cache))
        assert {output.dtype, cache[0].dtype, cache[1].dtype} == {np.dtype(dtype)}

    @pytest.mark.parametrize(
        ("arguments", "error", "sentence"),
        [
            ([(2, 3), (1, 3), (1, 3)], ValueError, r"query must hold one token.*\(2, 3\)"),
            ([(1, 3), (3,), (1, 3)], ValueError, r"key must hold one token.*\(3,\)"),
            ([(1, 3), (1, 4), (1, 3)], ValueError, "no dot product"),
            (
                [(1, 3), (1, 3), (1, 3), [(4, 2), (4, 3)]],
                ValueError,
                r"key of shape \(1, 3\) does not continue cached keys of shape \(4, 2\)",
            ),
            (
                [(1, 3), (1, 3), (1, 3), [(4, 3), (2, 4, 3)]],
                ValueError,
                r"value of shape \(1, 3\) does not continue cached values of shape \(2, 4, 3\)",
            ),
            ([(1, 3), (1, 3), (1, 3), [(4, 3), (5, 3)]], ValueError, "differ in their number"),
            ([(1, 3), (1, 3), (1, 3), [(4, 3)]], TypeError, "cache must be None or a pair"),
        ],
    )
    def test_what_does_not_fit_is_refused(self, arguments, error, sentence):
        token, cache = [np.ones(shape) for shape in arguments[:3]], None
        if len(arguments) > 3:
            cache = tuple(np.ones(shape) for shape in arguments[3])
        with pytest.raises(error, match=sentence):
            decode_step(*token, cache)
