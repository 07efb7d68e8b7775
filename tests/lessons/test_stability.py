"""Lesson 02's functions, held to exact values, to SciPy, and to the rules they promise."""

import math

import mpmath
import numpy as np
import pytest
import scipy.special
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from attention_lib import (
    cross_entropy,
    largest_exponent,
    log_softmax,
    logsumexp,
    masked_softmax,
    merge_softmax_stats,
    softmax,
    stable_softmax,
)

DTYPES = (np.float16, np.float32, np.float64)
SPREADS = (1e-3, 1.0, 10.0, 100.0, 1e3, 1e4)
SPECIAL = (0.0, 1.0, -1e300, np.inf, -np.inf, np.nan)

scores_2d = hnp.arrays(
    np.float64, hnp.array_shapes(min_dims=2, max_dims=2, max_side=6), elements=st.floats(-1e3, 1e3)
)


@st.composite
def arrays_and_axes(draw):
    """Draw an array of any floating dtype and what `axis` may be for it."""
    shape = draw(hnp.array_shapes(min_dims=1, max_dims=4, max_side=4))
    elements = st.floats(-1e4, 1e4, width=16)
    array = draw(hnp.arrays(draw(st.sampled_from(DTYPES)), shape, elements=elements))
    one = st.integers(-len(shape), len(shape) - 1)
    several = st.sets(st.integers(0, len(shape) - 1), min_size=1).map(tuple)
    return array, draw(st.none() | one | several)


def exact_log_softmax(row):
    scores = [mpmath.mpf(float(score)) for score in row]
    shifted = [score - max(scores) for score in scores]
    count = shifted.count(0)
    rest = mpmath.fsum(mpmath.exp(score) for score in shifted if score)
    # log1p keeps what sixty digits would lose beside 1: an entry of exp(-700), say.
    total = mpmath.log(count) + mpmath.log1p(rest / count)
    return [score - total for score in shifted]


def exact_logsumexp(row):
    return mpmath.mpf(float(row[0])) - exact_log_softmax(row)[0]


def drawn_rows(dtype, spread, length=40, rows=4):
    rng = np.random.default_rng(int(spread * 1000))
    return (rng.normal(size=(rows, length)) * spread).astype(dtype)


class TestAccuracy:
    @pytest.mark.parametrize("spread", SPREADS)
    @pytest.mark.parametrize("dtype", [np.float16, np.float32])
    def test_narrow_types_are_right_to_one_unit(self, ulps, spread, dtype):
        for row in drawn_rows(dtype, spread):
            assert ulps(log_softmax(row), exact_log_softmax(row)) <= 1
            assert ulps(logsumexp(row), [exact_logsumexp(row)]) <= 1

    @pytest.mark.parametrize("spread", SPREADS)
    def test_float64_is_no_worse_than_scipy(self, ulps, spread):
        rows = drawn_rows(np.float64, spread)
        exact = [entry for row in rows for entry in exact_log_softmax(row)]
        theirs = scipy.special.log_softmax(rows, axis=-1)
        assert ulps(log_softmax(rows), exact) <= ulps(theirs, exact)
        exact = [exact_logsumexp(row) for row in rows]
        assert ulps(logsumexp(rows), exact) <= ulps(scipy.special.logsumexp(rows, axis=-1), exact)

    @pytest.mark.parametrize("row", [[0.0, -40.0], [0.0, 0.0, -800.0], [3.0, -1e4], [0.0, -700.0]])
    def test_what_is_lost_beside_one_is_kept(self, ulps, row):
        assert ulps(log_softmax(np.array(row)), exact_log_softmax(row)) <= 2

    @pytest.mark.parametrize("spread", [1.0, 10.0])
    def test_a_row_a_million_long(self, ulps, spread):
        row = drawn_rows(np.float32, spread, length=1_000_000, rows=1)[0]
        shift = float(row.max())
        # Exponentials of float64 and their error-free sum are right to one part in 1e15.
        total = float(np.sum(np.exp(row.astype(np.longdouble) - shift)))
        exact = shift + mpmath.log(total)
        assert ulps(logsumexp(row), [exact]) <= 1
        some = np.linspace(0, row.size - 1, 300).astype(int)
        assert ulps(log_softmax(row)[some], [float(score) - exact for score in row[some]]) <= 1


class TestLargestExponent:
    @pytest.mark.parametrize("dtype", ["float16", np.float32, np.dtype("f8")])
    def test_the_next_score_overflows(self, dtype):
        largest = largest_exponent(dtype)
        scalar = np.dtype(dtype).type
        with np.errstate(over="ignore"):
            assert np.isfinite(np.exp(scalar(largest * 0.999)))
            assert np.isinf(np.exp(scalar(largest * 1.001)))

    def test_a_dtype_without_exponentials(self):
        with pytest.raises(TypeError, match="needs a floating dtype; int64"):
            largest_exponent("int64")


class TestLogarithms:
    @given(arrays_and_axes(), st.booleans())
    def test_any_axis_is_scipys(self, drawn, keepdims):
        array, axis = drawn
        wide = array.astype(np.float64)
        resolution = np.finfo(array.dtype)
        for got, expected in [
            (log_softmax(array, axis), scipy.special.log_softmax(wide, axis)),
            (
                logsumexp(array, axis, keepdims),
                scipy.special.logsumexp(wide, axis, keepdims=keepdims),
            ),
        ]:
            assert got.dtype == array.dtype
            assert got.shape == expected.shape
            np.testing.assert_allclose(
                got.astype(np.float64), expected, rtol=resolution.eps, atol=1e-12 + resolution.tiny
            )

    def test_special_values_as_scipy(self):
        rows = np.array(np.meshgrid(SPECIAL, SPECIAL, SPECIAL)).reshape(3, -1).T
        with np.errstate(all="ignore"):
            log_weights = scipy.special.log_softmax(rows, axis=-1)
            totals = scipy.special.logsumexp(rows, axis=-1)
        np.testing.assert_allclose(log_softmax(rows), log_weights, rtol=1e-15)
        np.testing.assert_allclose(logsumexp(rows), totals, rtol=1e-15)

    @pytest.mark.parametrize("shape", [(0,), (3, 0), (0, 3)])
    @pytest.mark.parametrize("axis", [-1, 0])
    def test_an_empty_sum_as_scipy(self, shape, axis):
        expected = scipy.special.logsumexp(np.zeros(shape), axis=axis)
        np.testing.assert_array_equal(logsumexp(np.zeros(shape), axis=axis), expected)

    def test_an_empty_row_has_no_log_weights(self):
        with pytest.raises(ValueError, match=r"scores has shape \(3, 0\): no entry along axis -1"):
            log_softmax(np.zeros((3, 0)))

    @pytest.mark.parametrize("dtype", DTYPES)
    def test_the_largest_scores(self, dtype):
        half = dtype(float(np.finfo(dtype).max) / 2)
        np.testing.assert_array_equal(log_softmax(np.array([half, -half])), [0, -2 * half])
        assert logsumexp(np.array([half, half])) == half
        np.testing.assert_array_equal(stable_softmax(np.array([half, half, -half])), [0.5, 0.5, 0])

    @pytest.mark.parametrize("function", [log_softmax, logsumexp])
    def test_integers_numbers_and_bad_input(self, function):
        assert function(np.array([3, 3], dtype=np.int16)).dtype == np.float64
        assert function(np.float32(0)) == 0
        with pytest.raises(TypeError, match="scores must hold real numbers; it has dtype complex"):
            function([1j])


class TestCrossEntropy:
    @given(scores_2d, st.data())
    def test_is_the_mean_of_its_rows(self, scores, data):
        classes = st.integers(0, scores.shape[1] - 1)
        targets = data.draw(hnp.arrays(np.int64, len(scores), elements=classes))
        expected = -np.mean(log_softmax(scores)[np.arange(len(scores)), targets])
        np.testing.assert_allclose(cross_entropy(scores, targets), expected, rtol=1e-12)

    @pytest.mark.parametrize("dtype", DTYPES)
    def test_knowing_nothing_costs_log_c(self, dtype):
        loss = cross_entropy(np.zeros((3, 7), dtype), np.array([0, 6, 2]))
        assert loss.dtype == dtype
        np.testing.assert_allclose(float(loss), math.log(7), rtol=np.finfo(dtype).eps)

    def test_stays_finite_where_losses_are_huge(self):
        scores = np.array([[0.0, 8e307]] * 5)
        np.testing.assert_allclose(cross_entropy(scores, np.zeros(5, int)), 8e307)

    @pytest.mark.parametrize(
        ("scores", "targets", "error", "sentence"),
        [
            (np.zeros((3, 5)), [0, 1], ValueError, r"have shapes \(3, 5\) and \(2,\)"),
            (np.zeros(5), 1, ValueError, r"shapes \(5,\) and \(\)"),
            (np.zeros((0, 5)), np.zeros(0, int), ValueError, "N of at least 1"),
            (np.zeros((2, 5)), [0.0, 1.0], TypeError, "targets must hold integer class indices"),
            (np.zeros((2, 5)), [0, 5], ValueError, "targets must lie between 0 and 4"),
            (np.zeros((2, 5)), [-1, 0], ValueError, "targets must lie between 0 and 4"),
        ],
    )
    def test_bad_input_is_named(self, scores, targets, error, sentence):
        with pytest.raises(error, match=sentence):
            cross_entropy(scores, targets)


class TestMaskedSoftmax:
    @given(scores_2d, st.data())
    def test_is_softmax_of_what_is_allowed(self, scores, data):
        mask = data.draw(hnp.arrays(bool, scores.shape))
        weights = masked_softmax(scores, mask)
        for row, allowed, got in zip(scores, mask, weights, strict=True):
            np.testing.assert_array_equal(got[~allowed], 0)
            if allowed.any():
                np.testing.assert_allclose(got[allowed], softmax(row[allowed]), rtol=1e-14)

    def test_an_axis_and_a_mask_that_broadcasts(self):
        scores = np.random.default_rng(0).normal(size=(2, 5, 3))
        mask = np.array([True, False, True, True, False])[:, None]
        expected = masked_softmax(scores.swapaxes(1, 2), mask.T).swapaxes(1, 2)
        np.testing.assert_allclose(masked_softmax(scores, mask, axis=1), expected, rtol=1e-15)

    @pytest.mark.parametrize("hidden", [np.inf, -np.inf, np.nan, 1e300])
    def test_forbidden_scores_are_never_looked_at(self, hidden):
        got = masked_softmax(np.array([1.0, hidden, 1.0]), np.array([True, False, True]))
        np.testing.assert_array_equal(got, [0.5, 0, 0.5])

    @pytest.mark.parametrize("seen", [np.inf, np.nan])
    def test_allowed_scores_without_a_softmax_give_nan(self, seen):
        got = masked_softmax(np.array([1.0, seen, 1.0]), np.array([True, True, False]))
        assert np.isnan(got).all()

    @pytest.mark.parametrize("dtype", DTYPES)
    def test_dtype_is_kept(self, dtype):
        got = masked_softmax(np.array([0, 0, 9], dtype), np.array([True, True, False]))
        assert got.dtype == dtype
        np.testing.assert_array_equal(got, [0.5, 0.5, 0])

    def test_bad_input_is_named(self):
        with pytest.raises(TypeError, match=r"mask must hold booleans.*it has dtype int64"):
            masked_softmax(np.zeros((2, 3)), np.ones(3, int))
        with pytest.raises(
            ValueError, match=r"mask of shape \(2,\) does not broadcast to scores of shape \(2, 3\)"
        ):
            masked_softmax(np.zeros((2, 3)), np.ones(2, bool))
        with pytest.raises(ValueError, match=r"scores has shape \(2, 0\): no entry along axis -1"):
            masked_softmax(np.zeros((2, 0)), np.ones((2, 0), bool))


class TestMergeSoftmaxStats:
    EMPTY = (np.array([-np.inf]), np.array([0.0]))

    @staticmethod
    def stats(row):
        maximum = np.max(row, initial=-np.inf, keepdims=True)
        return maximum, np.exp(row - maximum).sum(keepdims=True)

    @given(
        hnp.arrays(np.float64, st.integers(0, 9), elements=st.floats(-900, 900)),
        st.integers(0, 9),
        st.integers(0, 9),
    )
    def test_parts_in_any_order_give_the_whole(self, row, first, second):
        first, second = sorted((first, second))
        parts = [self.stats(part) for part in np.split(row, [first, second])]
        maximum, total = self.stats(row)
        for a, b, c in [(0, 1, 2), (2, 0, 1), (1, 2, 0)]:
            merged = merge_softmax_stats(merge_softmax_stats(parts[a], parts[b]), parts[c])
            regrouped = merge_softmax_stats(parts[a], merge_softmax_stats(parts[b], parts[c]))
            for got in (merged, regrouped):
                np.testing.assert_array_equal(got[0], maximum)
                np.testing.assert_allclose(got[1], total, rtol=1e-12)

    def test_an_empty_part_changes_nothing(self):
        some = (np.array([3.0]), np.array([1.5]))
        for pair in [(some, self.EMPTY), (self.EMPTY, some)]:
            np.testing.assert_array_equal(merge_softmax_stats(*pair), some)
        np.testing.assert_array_equal(merge_softmax_stats(self.EMPTY, self.EMPTY), self.EMPTY)

    @pytest.mark.parametrize("dtype", DTYPES)
    def test_dtype_is_kept(self, dtype):
        part = (np.zeros((2, 3), dtype), np.ones((2, 3), dtype))
        for got in merge_softmax_stats(part, part):
            assert got.dtype == dtype
            assert got.shape == (2, 3)

    def test_shapes_that_differ_are_named(self):
        with pytest.raises(ValueError, match=r"it got shapes \(2,\), \(2,\), \(3,\), \(3,\)"):
            merge_softmax_stats((np.zeros(2), np.ones(2)), (np.zeros(3), np.ones(3)))


@pytest.mark.parametrize("dtype", DTYPES)
def test_arguments_stay_as_they_were(dtype):
    scores = drawn_rows(dtype, 3.0, length=5)
    mask = scores > 0
    part = (scores, np.abs(scores))
    for array in (scores, mask, part[1]):
        array.flags.writeable = False
    before = scores.copy()
    stable_softmax(scores)
    log_softmax(scores, axis=0)
    logsumexp(scores)
    masked_softmax(scores, mask)
    cross_entropy(scores, np.array([0, 4, 1, 2]))
    merge_softmax_stats(part, part)
    np.testing.assert_array_equal(scores, before)
