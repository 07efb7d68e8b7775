"""Lesson 05's functions, held to a plain loop, to PyTorch, and to what attention must always do."""

import math

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from torch.nn.functional import scaled_dot_product_attention

from attention_lib import (
    attention,
    causal_mask,
    cross_attention,
    document_mask,
    padding_mask,
    self_attention,
    sliding_window_mask,
)

DTYPES = (np.float16, np.float32, np.float64)


def drawn(dtype, *shapes, seed=0):
    rng = np.random.default_rng(seed)
    return [rng.normal(size=shape).astype(dtype) for shape in shapes]


@st.composite
def drawn_attention(draw):
    """Draw queries, keys and values of any shape that attention takes, and a mask or none."""
    leading = draw(hnp.mutually_broadcastable_shapes(num_shapes=3, max_dims=2, max_side=3))
    length, keys, d_k, d_v = (draw(st.integers(1, 5)) for _ in range(4))
    query, key, value = leading.input_shapes
    shapes = (*query, length, d_k), (*key, keys, d_k), (*value, keys, d_v)
    inputs = drawn(np.float64, *shapes, seed=draw(st.integers(0, 99)))
    full = (*leading.result_shape, length, keys)
    stretched = [draw(st.sampled_from([1, size])) for size in full]
    mask_shape = stretched[draw(st.integers(0, len(full) - 2)) :]
    return inputs, draw(st.none() | hnp.arrays(bool, tuple(mask_shape))), full


class TestAttention:
    @given(drawn_attention(), st.booleans())
    def test_is_pytorchs(self, drawn_case, is_causal):
        inputs, mask, full = drawn_case
        allowed = np.tri(*full[-2:], dtype=bool) if is_causal else np.ones(full[-2:], bool)
        if mask is not None:
            allowed = allowed & mask
        output, weights = attention(*inputs, mask=None if allowed.all() else allowed)
        query, key, value = (
            torch.tensor(np.broadcast_to(array, (*full[:-2], *array.shape[-2:])))
            for array in inputs
        )
        expected = scaled_dot_product_attention(query, key, value, torch.tensor(allowed)).numpy()
        assert output.shape == expected.shape
        np.testing.assert_allclose(output, expected, rtol=0, atol=1e-13)
        assert weights.shape == full
        np.testing.assert_allclose(weights @ inputs[2], output, rtol=0, atol=1e-14)
        np.testing.assert_array_equal(weights > 0, np.broadcast_to(allowed, full))

    @pytest.mark.parametrize("dtype", [np.float16, np.float32])
    @pytest.mark.parametrize("spread", [1.0, 5.0])
    def test_narrow_types_are_rounded_once(self, dtype, spread):
        inputs = [a * dtype(spread) for a in drawn(dtype, (2, 5, 8), (2, 7, 8), (2, 7, 3))]
        exact = attention(*(array.astype(np.float64) for array in inputs))
        for got, expected in zip(attention(*inputs), exact, strict=True):
            assert got.dtype == dtype
            np.testing.assert_array_equal(got, expected.astype(dtype))

    def test_integers_lists_and_mixed_dtypes(self):
        output, weights = attention([[0, 0]], [[1, 2], [3, 4]], [[2], [4]])
        np.testing.assert_array_equal(output, [[3.0]])
        np.testing.assert_array_equal(weights, [[0.5, 0.5]])
        query, key, value = drawn(np.float16, (5, 3), (7, 3), (7, 2))
        assert attention(query, key.astype(np.float32), value)[0].dtype == np.float32

    def test_scale_by_position_and_by_name(self):
        query, key, value = drawn(np.float64, (5, 4), (7, 4), (7, 2))
        by_position = attention(query, key, value, None, 0.3)
        by_name = attention(query, key, value, scale=0.3)
        default = attention(query, key, value)
        np.testing.assert_array_equal(by_position[0], by_name[0])
        np.testing.assert_allclose(attention(query, key, value, scale=0.5)[0], default[0])
        assert not np.allclose(by_name[0], default[0])

    def test_a_float_mask_is_added_to_the_scaled_scores(self):
        query, key, value = drawn(np.float64, (5, 3), (7, 3), (7, 2))
        mask = np.random.default_rng(1).normal(size=(5, 7)) * 9
        mask[0, 3] = -np.inf
        exponentials = np.exp(query @ key.T / math.sqrt(3) + mask)
        expected = exponentials / exponentials.sum(axis=-1, keepdims=True)
        _, weights = attention(query, key, value, mask)
        np.testing.assert_allclose(weights, expected, rtol=1e-13)
        assert weights[0, 3] == 0

    def test_scores_of_any_size(self):
        query = np.array([[1e150, 0.0], [-1e150, 0.0], [0.0, 1.0]])
        key = np.array([[1e150, 0.0], [0.0, 1.0], [1e150, 0.0]])
        _, weights = attention(query, key, key, scale=1.0)
        np.testing.assert_allclose(weights[:2], [[0.5, 0, 0.5], [0, 1, 0]], atol=1e-300)


class TestMasks:
    @pytest.mark.parametrize("dtype", DTYPES)
    @pytest.mark.parametrize("fill", [False, -np.inf])
    def test_a_row_with_nothing_allowed_gives_zeros(self, dtype, fill):
        query, key, value = drawn(dtype, (2, 5, 3), (2, 7, 3), (2, 7, 2))
        mask = np.zeros((2, 5, 7), dtype) if fill else np.ones((2, 5, 7), bool)
        mask[1, 2] = fill
        output, weights = attention(query, key, value, mask)
        np.testing.assert_array_equal(output[1, 2], 0)
        np.testing.assert_array_equal(weights[1, 2], 0)
        others = [0, 1, 3, 4]
        unmasked, _ = attention(query, key, value)
        np.testing.assert_array_equal(output[0], unmasked[0])
        np.testing.assert_array_equal(output[1, others], unmasked[1, others])

    def test_no_keys_at_all_give_zeros(self):
        output, weights = attention(np.ones((5, 3)), np.ones((0, 3)), np.ones((0, 2)))
        np.testing.assert_array_equal(output, np.zeros((5, 2)))
        assert weights.shape == (5, 0)
        assert attention(np.ones((0, 3)), np.ones((7, 3)), np.ones((7, 2)))[0].shape == (0, 2)

    @pytest.mark.parametrize("garbage", [np.nan, np.inf, 1e300])
    def test_scores_of_forbidden_keys_do_not_matter(self, garbage):
        query, key, value = drawn(np.float64, (5, 3), (7, 3), (7, 2))
        expected = attention(query, key[:4], value[:4])[0]
        key[4:] = garbage
        for mask in (np.arange(7) < 4, np.where(np.arange(7) < 4, 0.0, -np.inf)):
            np.testing.assert_allclose(attention(query, key, value, mask)[0], expected, rtol=1e-14)

    def test_a_wide_float_mask_does_not_widen_the_result(self):
        query, key, value = drawn(np.float16, (5, 3), (7, 3), (7, 2))
        output, weights = attention(query, key, value, np.zeros((5, 7)))
        assert output.dtype == weights.dtype == np.float16


class TestBadInput:
    @pytest.mark.parametrize(
        ("query", "key", "value", "sentence"),
        [
            (
                (5, 3),
                (7, 4),
                (7, 2),
                r"query of shape \(5, 3\) and key of shape \(7, 4\) have no dot",
            ),
            ((5, 3), (7, 3), (6, 2), r"key of shape \(7, 3\) and value of shape \(6, 2\) differ"),
            ((3,), (7, 3), (7, 2), r"query needs at least two dimensions.*it has shape \(3,\)"),
            ((5, 3), (7, 3), (7,), r"value needs at least two dimensions.*it has shape \(7,\)"),
            (
                (2, 5, 3),
                (4, 7, 3),
                (7, 2),
                r"must be equal, or 1.*query \(2, 5, 3\), key \(4, 7, 3\)",
            ),
            ((2, 5, 3), (7, 3), (4, 7, 2), r"must be equal, or 1.*value \(4, 7, 2\)"),
            ((6, 5, 3), (4, 7, 3), (4, 7, 2), r"must be equal, or 1.*query \(6, 5, 3\)"),
            ((2, 5, 3), (6, 7, 3), (6, 7, 2), r"must be equal, or 1.*query \(2, 5, 3\)"),
        ],
    )
    def test_shapes_that_do_not_fit_are_named(self, query, key, value, sentence):
        with pytest.raises(ValueError, match=sentence):
            attention(np.zeros(query), np.zeros(key), np.zeros(value))

    @pytest.mark.parametrize("shape", [(7, 5), (4,), (2, 5, 7), (1, 5, 7)])
    def test_a_mask_that_does_not_broadcast(self, shape):
        with pytest.raises(ValueError, match="does not broadcast to scores of shape") as caught:
            attention(np.zeros((5, 3)), np.zeros((7, 3)), np.zeros((7, 2)), np.ones(shape, bool))
        assert f"mask of shape {shape}" in str(caught.value)
        assert "(5, 7)" in str(caught.value)

    @pytest.mark.parametrize("dtype", [int, complex, object, "U1"])
    def test_a_mask_of_neither_booleans_nor_floats(self, dtype):
        with pytest.raises(
            TypeError, match="mask must hold booleans, True where allowed, or floats"
        ):
            attention(*(np.zeros((2, 2)) for _ in range(3)), np.ones((2, 2), dtype))

    @pytest.mark.parametrize("position", [0, 1, 2])
    def test_what_is_no_number_is_named(self, position):
        inputs = [np.zeros((2, 2)) for _ in range(3)]
        inputs[position] = inputs[position].astype(complex)
        name = ("query", "key", "value")[position]
        with pytest.raises(
            TypeError, match=f"{name} must hold real numbers; it has dtype complex128"
        ):
            attention(*inputs)


class TestSelfAndCrossAttention:
    def test_are_attention_of_projections(self):
        x, context, w_q, w_k, w_v = drawn(np.float64, (2, 5, 4), (2, 7, 4), (4, 3), (4, 3), (4, 6))
        mask = np.random.default_rng(1).random((5, 7)) > 0.3
        expected, _ = attention(x @ w_q, context @ w_k, context @ w_v, mask)
        np.testing.assert_allclose(cross_attention(x, context, w_q, w_k, w_v, mask), expected)
        expected, _ = attention(x @ w_q, x @ w_k, x @ w_v, causal_mask(5))
        np.testing.assert_allclose(self_attention(x, w_q, w_k, w_v, causal_mask(5)), expected)

    @pytest.mark.parametrize("dtype", [np.float16, np.float32])
    def test_narrow_types_are_rounded_once(self, dtype):
        inputs = drawn(dtype, (2, 5, 4), (4, 3), (4, 3), (4, 6))
        exact = self_attention(*(array.astype(np.float64) for array in inputs))
        got = self_attention(*inputs)
        assert got.dtype == dtype
        np.testing.assert_array_equal(got, exact.astype(dtype))

    def test_leading_dimensions_that_differ_are_named(self):
        x, context, w_q, w_k, w_v = drawn(np.float64, (4, 5, 3), (2, 7, 3), (3, 3), (3, 3), (3, 3))
        with pytest.raises(ValueError, match=r"got x \(4, 5, 3\), context \(2, 7, 3\)"):
            cross_attention(x, context, w_q, w_k, w_v)
        assert cross_attention(x, context[0], w_q, w_k, w_v).shape == (4, 5, 3)

    @pytest.mark.parametrize(
        ("shapes", "sentence"),
        [
            ([(5, 4), (3, 3), (4, 3), (4, 2)], r"x of shape \(5, 4\) and w_q of shape \(3, 3\)"),
            ([(5, 4), (4, 3), (3, 3), (4, 2)], r"x of shape \(5, 4\) and w_k of shape \(3, 3\)"),
            ([(5, 4), (4, 3), (4, 3), (5, 2)], r"x of shape \(5, 4\) and w_v of shape \(5, 2\)"),
            ([(5, 4), (4, 3), (4, 2), (4, 2)], r"have shapes \(4, 3\) and \(4, 2\)"),
            ([(5, 4), (4,), (4, 3), (4, 2)], r"w_q must be one matrix; it has shape \(4,\)"),
            ([(4,), (4, 3), (4, 3), (4, 2)], r"x needs at least two dimensions"),
        ],
    )
    def test_shapes_that_do_not_fit_are_named(self, shapes, sentence):
        x, *projections = (np.zeros(shape) for shape in shapes)
        with pytest.raises(ValueError, match=sentence):
            self_attention(x, *projections)
        with pytest.raises(
            ValueError, match=r"context of shape \(7, 9\) and w_k of shape \(4, 3\)"
        ):
            cross_attention(
                np.zeros((5, 4)), np.zeros((7, 9)), *(np.zeros((4, 3)) for _ in range(3))
            )


class TestMaskMakers:
    @given(st.integers(0, 9))
    def test_causal_allows_the_past_and_the_present(self, length):
        mask = causal_mask(length)
        assert mask.dtype == bool
        assert mask.shape == (length, length)
        for query, key in np.ndindex(length, length):
            assert mask[query, key] == (key <= query)

    @given(st.integers(0, 9), st.integers(1, 12))
    def test_window_allows_the_newest_positions(self, length, window):
        mask = sliding_window_mask(length, window)
        assert (mask.dtype, mask.shape) == (bool, (length, length))
        for query, key in np.ndindex(length, length):
            assert mask[query, key] == (key <= query < key + window)

    @given(st.lists(st.integers(-2, 2), max_size=8))
    def test_documents_are_kept_apart(self, documents):
        mask = document_mask(documents)
        assert (mask.dtype, mask.shape) == (bool, (len(documents), len(documents)))
        for query, key in np.ndindex(mask.shape):
            assert mask[query, key] == (documents[query] == documents[key])

    @given(st.integers(0, 9), st.data())
    def test_padding_marks_the_first_tokens(self, max_length, data):
        lengths = data.draw(st.lists(st.integers(0, max_length), max_size=5))
        mask = padding_mask(lengths, max_length)
        assert mask.dtype == bool
        assert mask.shape == (len(lengths), max_length)
        for row, length in zip(mask, lengths, strict=True):
            np.testing.assert_array_equal(row, [True] * length + [False] * (max_length - length))

    @pytest.mark.parametrize(
        ("function", "arguments", "error", "sentence"),
        [
            (causal_mask, (-1,), ValueError, "length must be at least 0; it is -1"),
            (causal_mask, (2.0,), TypeError, r"length must be an integer; it is 2\.0"),
            (padding_mask, ([1, 5], 4), ValueError, "lengths must lie between 0 and max_length, 4"),
            (padding_mask, ([-1, 2], 4), ValueError, "they reach from -1 to 2"),
            (padding_mask, ([1.0], 4), TypeError, "lengths must hold integers"),
            (
                padding_mask,
                ([[1]], 4),
                ValueError,
                r"must have shape \(B,\); it has shape \(1, 1\)",
            ),
            (padding_mask, ([1], None), TypeError, "max_length must be an integer; it is None"),
            (sliding_window_mask, (3, 0), ValueError, "window must be at least 1; it is 0"),
            (document_mask, ([[1]],), ValueError, r"must have shape \(L,\); it has shape \(1, 1\)"),
            (document_mask, ([0.5],), TypeError, "documents must hold integers"),
        ],
    )
    def test_bad_input_is_named(self, function, arguments, error, sentence):
        with pytest.raises(error, match=sentence):
            function(*arguments)


@pytest.mark.parametrize("dtype", DTYPES)
def test_arguments_stay_as_they_were(dtype):
    x, weight, bias = drawn(dtype, (2, 5, 3), (3, 3), (5, 5))
    before = [array.copy() for array in (x, weight, bias)]
    for array in (x, weight, bias):
        array.flags.writeable = False
    attention(x, x, x, bias)
    self_attention(x, weight, weight, weight, bias > 0)
    cross_attention(x, x, weight, weight, weight, bias)
    for array, old in zip((x, weight, bias), before, strict=True):
        np.testing.assert_array_equal(array, old)
