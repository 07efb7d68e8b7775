"""Lesson 03's functions, held to exact values, to SciPy, and to the statistics they predict."""

import math

import mpmath
import numpy as np
import pytest
import scipy.special
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from attention_lib import (
    dot_product_scores,
    entropy,
    scaled_scores,
    score_std,
    softcap,
    softmax,
    softmax_with_temperature,
    temperature_for_entropy,
)

DTYPES = (np.float16, np.float32, np.float64)


def drawn(dtype, *shape, seed=0):
    return np.random.default_rng(seed).normal(size=shape).astype(dtype)


class TestScores:
    @given(hnp.mutually_broadcastable_shapes(num_shapes=2, max_dims=2, max_side=3))
    def test_leading_dimensions_broadcast(self, shapes):
        left, right = shapes.input_shapes
        for function in (dot_product_scores, scaled_scores):
            scores = function(np.ones((*left, 5, 3)), np.ones((*right, 7, 3)))
            assert scores.shape == (*shapes.result_shape, 5, 7)

    @pytest.mark.parametrize("dtype", [np.float16, np.float32])
    def test_narrow_types_are_rounded_once(self, ulps, dtype):
        query, key = drawn(dtype, 3, 512), drawn(dtype, 4, 512, seed=1)
        exact = [mpmath.fdot(map(float, q), map(float, k)) for q in query for k in key]
        assert ulps(dot_product_scores(query, key), exact) <= 0.51
        scaled = [score / mpmath.sqrt(512) for score in exact]
        assert ulps(scaled_scores(query, key), scaled) <= 0.51

    @pytest.mark.parametrize("dtype", DTYPES)
    def test_beyond_the_dtype_a_score_is_infinite(self, dtype):
        large = np.full((1, 3), np.finfo(dtype).max)
        assert dot_product_scores(large, large) == np.inf
        assert dot_product_scores(large, large).dtype == dtype

    def test_the_default_scale_is_of_the_keys_size(self):
        query, key = drawn(np.float64, 5, 9), drawn(np.float64, 7, 9)
        scores = dot_product_scores(query, key)
        np.testing.assert_allclose(scaled_scores(query, key), scores / 3, rtol=1e-14)
        np.testing.assert_allclose(scaled_scores(query, key, -0.5), scores * -0.5, rtol=1e-14)

    def test_no_components_and_no_rows(self):
        np.testing.assert_array_equal(
            scaled_scores(np.ones((2, 0)), np.ones((3, 0))), np.zeros((2, 3))
        )
        assert scaled_scores(np.ones((0, 5)), np.ones((3, 5))).shape == (0, 3)

    def test_integers_and_mixed_dtypes(self):
        assert dot_product_scores([[1, 2]], [[3, 4]]) == 11
        assert dot_product_scores([[1, 2]], [[3, 4]]).dtype == np.float64
        half, single = np.ones((2, 3), np.float16), np.ones((4, 3), np.float32)
        assert scaled_scores(half, single).dtype == np.float32

    @pytest.mark.parametrize("function", [dot_product_scores, scaled_scores])
    @pytest.mark.parametrize(
        ("query", "key", "sentence"),
        [
            ((5, 3), (7, 4), "have no dot product"),
            ((3,), (7, 3), "query needs at least two dimensions"),
            ((5, 3), (), "key needs at least two dimensions"),
            ((2, 5, 3), (4, 7, 3), "before the last two must be equal, or 1"),
        ],
    )
    def test_shapes_that_do_not_fit_are_named(self, function, query, key, sentence):
        with pytest.raises(ValueError, match=sentence) as caught:
            function(np.zeros(query), np.zeros(key))
        assert any(str(shape) in str(caught.value) for shape in (query, key))

    def test_what_is_no_number_is_named(self):
        with pytest.raises(TypeError, match="query must hold real numbers"):
            scaled_scores([["a"]], [[1.0]])
        with pytest.raises(TypeError, match="key must hold real numbers"):
            dot_product_scores([[1.0]], [[1j]])


class TestScoreStd:
    @pytest.mark.parametrize(("d_k", "component_std"), [(2, 1.0), (64, 1.0), (200, 0.3), (7, 2.5)])
    def test_predicts_what_is_measured(self, d_k, component_std):
        rng = np.random.default_rng(d_k)
        vectors = rng.normal(scale=component_std, size=(2, 40_000, d_k))
        measured = np.sum(vectors[0] * vectors[1], axis=-1).std()
        np.testing.assert_allclose(score_std(d_k, component_std), measured, rtol=0.03)

    def test_many_sizes_at_once(self):
        np.testing.assert_array_equal(score_std(np.array([4, 64])), [2, 8])

    @pytest.mark.parametrize("arguments", [(-1,), (64, -1.0)])
    def test_nothing_negative(self, arguments):
        with pytest.raises(ValueError, match="d_k and component_std must not be negative"):
            score_std(*arguments)


class TestEntropy:
    @given(
        hnp.arrays(
            np.float64, hnp.array_shapes(max_dims=3, max_side=5), elements=st.floats(-50, 50)
        ),
        st.data(),
    )
    def test_is_scipys(self, scores, data):
        axis = data.draw(st.integers(-scores.ndim, scores.ndim - 1))
        weights = softmax(scores, axis=axis)
        expected = scipy.special.entr(weights).sum(axis=axis)
        np.testing.assert_allclose(entropy(weights, axis=axis), expected, rtol=1e-10, atol=1e-14)

    @pytest.mark.parametrize("dtype", DTYPES)
    def test_from_certain_to_even(self, dtype):
        got = entropy(np.array([[1, 0, 0, 0], [0.25, 0.25, 0.25, 0.25]], dtype))
        assert got.dtype == dtype
        np.testing.assert_array_equal(got, [0, dtype(math.log(4))])
        assert not np.signbit(got[0])

    def test_smallest_weights_add_almost_nothing(self, ulps):
        weights = np.array([1.0, 5e-324, 1e-300])
        exact = -mpmath.fsum(mpmath.mpf(w) * mpmath.log(w) for w in weights.tolist())
        assert ulps(entropy(weights), [exact]) <= 2

    def test_bad_input_is_named(self):
        with pytest.raises(
            ValueError, match=r"weights must not be negative; the smallest is -0\.5"
        ):
            entropy([1.5, -0.5])
        with pytest.raises(TypeError, match="weights must hold real numbers"):
            entropy(["a"])


class TestSoftmaxWithTemperature:
    @given(
        hnp.arrays(
            np.float64, hnp.array_shapes(max_dims=3, max_side=5), elements=st.floats(-50, 50)
        ),
        st.floats(0.01, 100),
        st.data(),
    )
    def test_is_softmax_of_the_quotient(self, scores, temperature, data):
        axis = data.draw(st.integers(-scores.ndim, scores.ndim - 1))
        got = softmax_with_temperature(scores, temperature, axis=axis)
        expected = softmax(scores / temperature, axis=axis)
        np.testing.assert_allclose(got, expected, rtol=1e-10, atol=1e-300)

    @pytest.mark.parametrize("dtype", [np.float16, np.float32])
    @pytest.mark.parametrize("temperature", [1e-3, 0.3, 1.0, 7.0, 1e4])
    def test_narrow_types_are_right_to_one_unit(self, ulps, dtype, temperature):
        row = drawn(dtype, 40)
        exponentials = [mpmath.exp(mpmath.mpf(float(s)) / temperature) for s in row]
        total = mpmath.fsum(exponentials)
        got = softmax_with_temperature(row, temperature)
        assert got.dtype == dtype
        assert ulps(got, [e / total for e in exponentials]) <= 1

    @pytest.mark.parametrize("dtype", DTYPES)
    @pytest.mark.parametrize("temperature", [5e-324, 1e-300, 1e-10, 1e-3])
    def test_cold_is_arg_max_and_ties_share(self, dtype, temperature):
        half = np.finfo(dtype).max / 2
        rows = np.array([[3, 1, 3, -9], [half, 1, -half, half]], dtype)
        expected = [[0.5, 0, 0.5, 0], [0.5, 0, 0, 0.5]]
        np.testing.assert_array_equal(softmax_with_temperature(rows, temperature), expected)

    def test_hot_is_uniform(self):
        got = softmax_with_temperature(np.array([3.0, -1.0, 0.0]), 1e300)
        np.testing.assert_array_equal(got, np.full(3, 1 / 3))

    def test_minus_infinity_gets_nothing(self):
        got = softmax_with_temperature(np.array([1.0, -np.inf, 1.0]), 0.1)
        np.testing.assert_array_equal(got, [0.5, 0, 0.5])

    @pytest.mark.parametrize("temperature", [0, 0.0, -1.0, -np.inf, np.inf, np.nan])
    def test_a_temperature_that_is_none(self, temperature):
        with pytest.raises(ValueError, match="temperature must be positive and finite; it is"):
            softmax_with_temperature(np.array([1.0, 2.0]), temperature)

    @pytest.mark.parametrize("temperature", [None, "1", [1.0, 2.0], 1j])
    def test_a_temperature_that_is_no_number(self, temperature):
        with pytest.raises(TypeError, match="temperature must be one number; it is"):
            softmax_with_temperature(np.array([1.0, 2.0]), temperature)


class TestTemperatureForEntropy:
    @staticmethod
    def reached(scores, temperature):
        return float(entropy(softmax_with_temperature(np.float64(scores), temperature)))

    @given(
        st.lists(st.floats(-1, 1, width=32), min_size=2, max_size=30, unique=True),
        st.floats(1e-4, 1 - 1e-4),
        st.integers(-8, 8),
    )
    @settings(max_examples=40)  # each takes many evaluations
    def test_any_scores_of_any_size(self, scores, share, power):
        scores = np.array(scores) * 10.0**power
        target = share * math.log(len(scores))
        temperature = temperature_for_entropy(scores, target)
        assert abs(self.reached(scores, temperature) - target) <= 1e-6

    @pytest.mark.parametrize("spread", [1e-100, 1e-8, 1.0, 1e8, 1e100])
    @pytest.mark.parametrize("n", [2, 3, 1000])
    @pytest.mark.parametrize("distance", [1e-3, 1e-6, 1e-9, 1e-12])
    def test_targets_at_both_ends(self, spread, n, distance):
        scores = drawn(np.float64, n) * spread
        for target in (distance, math.log(n) - distance):
            temperature = temperature_for_entropy(scores, target)
            assert abs(self.reached(scores, temperature) - target) <= 1e-9

    def test_almost_tied_scores(self):
        scores = np.array([1.0, np.nextafter(1.0, 0), 0.0, -1e8])
        for target in (0.01, math.log(2), 1.0, 1.3):
            temperature = temperature_for_entropy(scores, target)
            assert abs(self.reached(scores, temperature) - target) <= 1e-9

    def test_far_from_zero(self):
        scores = 1e8 + np.arange(5.0)
        temperature = temperature_for_entropy(scores, 0.7)
        np.testing.assert_allclose(temperature, temperature_for_entropy(np.arange(5.0), 0.7))

    def test_narrow_types(self):
        scores = drawn(np.float16, 9)
        assert abs(self.reached(scores, temperature_for_entropy(scores, 1.0)) - 1.0) <= 1e-9

    @pytest.mark.parametrize("target", [0, -1.0, math.log(3), 5.0, np.nan])
    def test_a_target_no_temperature_reaches(self, target):
        with pytest.raises(ValueError, match="target must"):
            temperature_for_entropy(np.array([1.0, 2.0, 4.0]), target)

    def test_ties_for_the_first_place_hold_the_entropy_up(self):
        scores = np.array([1.0, 1.0, 0.0])
        assert abs(self.reached(scores, temperature_for_entropy(scores, 0.8)) - 0.8) <= 1e-9
        with pytest.raises(ValueError, match=r"between 0\.693147 and 1\.09861.*it is 0\.5"):
            temperature_for_entropy(scores, 0.5)

    @pytest.mark.parametrize("scores", [np.zeros((2, 3)), 1.0, [], [1.0, np.inf], [np.nan, 1.0]])
    def test_scores_that_are_no_row(self, scores):
        with pytest.raises(ValueError, match=r"scores must be one row \(n,\) of finite numbers"):
            temperature_for_entropy(scores, 0.5)


class TestSoftcap:
    @given(
        hnp.arrays(np.float64, hnp.array_shapes(), elements=st.floats(-1e6, 1e6)),
        st.floats(1e-3, 1e6),
    )
    def test_bounds_scores_and_keeps_their_order(self, scores, cap):
        capped = softcap(scores, cap)
        assert np.all(np.abs(capped) <= cap)
        assert np.all(np.abs(capped) <= np.abs(scores) * (1 + 1e-15) + 1e-300)
        order = np.argsort(scores, axis=None)
        assert np.all(np.diff(capped.ravel()[order]) >= 0)

    @pytest.mark.parametrize("dtype", [np.float16, np.float32])
    def test_narrow_types_are_rounded_once(self, ulps, dtype):
        scores = drawn(dtype, 50) * dtype(30)
        exact = [20 * mpmath.tanh(mpmath.mpf(float(s)) / 20) for s in scores]
        assert ulps(softcap(scores, 20.0), exact) <= 0.51

    def test_the_limits(self):
        scores = np.array([-np.inf, 0.0, 1e308, np.inf])
        np.testing.assert_array_equal(softcap(scores, 1e-3), [-1e-3, 0, 1e-3, 1e-3])
        np.testing.assert_allclose(softcap(np.array([3, -7]), 1e300), [3, -7], rtol=1e-15)

    @pytest.mark.parametrize("cap", [0, -50.0, np.inf, np.nan])
    def test_a_cap_that_is_none(self, cap):
        with pytest.raises(ValueError, match="cap must be positive and finite; it is"):
            softcap(np.array([1.0]), cap)


@pytest.mark.parametrize("dtype", DTYPES)
def test_arguments_stay_as_they_were(dtype):
    scores = drawn(dtype, 4, 6)
    before = scores.copy()
    scores.flags.writeable = False
    dot_product_scores(scores, scores)
    scaled_scores(scores, scores)
    entropy(np.abs(scores))
    softmax_with_temperature(scores, 0.5)
    temperature_for_entropy(scores[0], 1.0)
    softcap(scores, 2.0)
    np.testing.assert_array_equal(scores, before)
