"""Lesson 01's functions, held to exact values, to SciPy and to what softmax must always do."""

import mpmath
import numpy as np
import pytest
import scipy.special
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from attention_lib import normalize_by_sum, softmax, stable_softmax, weighted_sum

DTYPES = (np.float16, np.float32, np.float64)
SPREADS = (1e-3, 1.0, 10.0, 100.0, 1e3, 1e4)
SPECIAL = (0.0, 1.0, -1e300, np.inf, -np.inf, np.nan)

floats = st.floats(-1e4, 1e4, width=16)


@st.composite
def arrays_and_axes(draw):
    """Draw an array of any floating dtype and one of its axes."""
    shape = draw(hnp.array_shapes(min_dims=1, max_dims=4, max_side=4))
    array = draw(hnp.arrays(draw(st.sampled_from(DTYPES)), shape, elements=floats))
    return array, draw(st.integers(-len(shape), len(shape) - 1))


def exact_softmax(row):
    exponentials = [mpmath.exp(mpmath.mpf(float(score))) for score in row]
    total = mpmath.fsum(exponentials)
    return [exponential / total for exponential in exponentials]


def drawn_rows(dtype, spread, length=40, rows=4):
    rng = np.random.default_rng(int(spread * 1000))
    return (rng.normal(size=(rows, length)) * spread).astype(dtype)


class TestAccuracy:
    @pytest.mark.parametrize("function", [softmax, stable_softmax])
    @pytest.mark.parametrize("spread", SPREADS)
    @pytest.mark.parametrize("dtype", [np.float16, np.float32])
    def test_narrow_types_are_right_to_one_unit(self, ulps, function, spread, dtype):
        for row in drawn_rows(dtype, spread):
            assert ulps(function(row), exact_softmax(row)) <= 1

    @pytest.mark.parametrize("spread", SPREADS)
    def test_float64_is_no_worse_than_scipy(self, ulps, spread):
        rows = drawn_rows(np.float64, spread)
        exact = [weight for row in rows for weight in exact_softmax(row)]
        assert ulps(softmax(rows), exact) <= ulps(scipy.special.softmax(rows, axis=-1), exact)

    @pytest.mark.parametrize("spread", [1.0, 10.0])
    def test_a_row_a_million_long(self, ulps, spread):
        row = drawn_rows(np.float32, spread, length=1_000_000, rows=1)[0]
        shift = float(row.max())
        # Exponentials of float64 and their error-free sum are right to one part in 1e15.
        total = mpmath.mpf(float(np.sum(np.exp(row.astype(np.longdouble) - shift))))
        some = np.linspace(0, row.size - 1, 300).astype(int)
        exact = [mpmath.exp(mpmath.mpf(float(score)) - shift) / total for score in row[some]]
        assert ulps(softmax(row)[some], exact) <= 1


class TestSoftmax:
    @given(arrays_and_axes())
    def test_any_axis_is_scipys(self, drawn):
        array, axis = drawn
        expected = scipy.special.softmax(array.astype(np.float64), axis=axis)
        tolerance = {"rtol": np.finfo(array.dtype).eps, "atol": np.finfo(array.dtype).tiny}
        got = softmax(array, axis=axis)
        assert got.dtype == array.dtype
        np.testing.assert_allclose(got.astype(np.float64), expected, **tolerance)

    @pytest.mark.parametrize("function", [softmax, stable_softmax])
    def test_special_values_as_scipy(self, function):
        rows = np.array(np.meshgrid(SPECIAL, SPECIAL, SPECIAL)).reshape(3, -1).T
        with np.errstate(all="ignore"):
            expected = scipy.special.softmax(rows, axis=-1)
        np.testing.assert_allclose(function(rows), expected, rtol=1e-15)

    @pytest.mark.parametrize("shape", [(0,), (3, 0), (0, 3), (2, 0, 3)])
    @pytest.mark.parametrize("axis", [-1, 0, None])
    def test_nothing_to_normalize_as_scipy(self, shape, axis):
        empty = np.zeros(shape)
        try:
            expected = scipy.special.softmax(empty, axis=axis)
        except ValueError:
            with pytest.raises(ValueError, match=r"scores has shape \(.*no entry along axis"):
                softmax(empty, axis=axis)
        else:
            assert softmax(empty, axis=axis).shape == expected.shape

    @pytest.mark.parametrize("function", [softmax, stable_softmax])
    def test_integers_lists_and_numbers(self, function):
        np.testing.assert_allclose(function([[1, 0, 1]]), [[0.42231880, 0.15536240, 0.42231880]])
        assert function(np.array([3, 3], dtype=np.int8)).dtype == np.float64
        assert function(np.float32(7)) == 1

    @pytest.mark.parametrize("dtype", DTYPES)
    def test_the_argument_stays_as_it_was(self, dtype):
        scores = drawn_rows(dtype, 3.0)
        before = scores.copy()
        scores.flags.writeable = False
        softmax(scores)
        stable_softmax(scores, axis=0)
        np.testing.assert_array_equal(scores, before)

    @pytest.mark.parametrize("scores", [["a", "b"], [1j], [None], np.array([object()])])
    def test_what_is_no_number_is_named(self, scores):
        with pytest.raises(TypeError, match=r"^scores must hold real numbers; it has dtype .*\.$"):
            softmax(scores)

    def test_a_missing_axis(self):
        with pytest.raises(np.exceptions.AxisError, match="axis 2 is out of bounds"):
            softmax(np.zeros((3, 5)), axis=2)


class TestNormalizeBySum:
    @given(hnp.arrays(np.float64, hnp.array_shapes(), elements=st.floats(0.5, 100)))
    def test_rows_sum_to_one_in_proportion(self, scores):
        shares = normalize_by_sum(scores)
        np.testing.assert_allclose(shares.sum(axis=-1), 1, rtol=1e-14)
        np.testing.assert_allclose(shares * scores.sum(axis=-1, keepdims=True), scores, rtol=1e-14)

    def test_negative_scores_become_negative_shares(self):
        np.testing.assert_array_equal(normalize_by_sum([-1, 3]), [-0.5, 1.5])

    def test_a_sum_of_zero_warns(self):
        with pytest.warns(RuntimeWarning, match="divide by zero"):
            normalize_by_sum([1.0, -1.0])


class TestWeightedSum:
    @given(hnp.mutually_broadcastable_shapes(num_shapes=2, max_dims=2, max_side=3))
    def test_leading_dimensions_broadcast(self, shapes):
        left, right = shapes.input_shapes
        result = weighted_sum(np.ones((*left, 5, 3)), np.ones((*right, 3, 7)))
        assert result.shape == (*shapes.result_shape, 5, 7)

    @pytest.mark.parametrize(
        ("weights", "values"),
        [((5, 3), (4, 7)), ((3,), (3, 7)), ((5, 3), (3,)), ((2, 5, 3), (4, 3, 7))],
    )
    def test_shapes_that_do_not_fit_are_named(self, weights, values):
        with pytest.raises(ValueError, match=r"^[^\n]*weights") as caught:
            weighted_sum(np.zeros(weights), np.zeros(values))
        assert str(weights) in str(caught.value)
        assert str(values) in str(caught.value)
