"""Lesson 04's functions, held to central differences, to autograd and to what must sum to zero."""

import tracemalloc

import mpmath
import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from attention_lib import (
    attention,
    attention_backward,
    cross_entropy_grad,
    normalize_by_sum,
    normalize_vjp,
    numerical_gradient,
    softmax,
    softmax_jacobian,
    softmax_vjp,
)

DTYPES = (np.float16, np.float32, np.float64)

few_cases = settings(max_examples=40)  # each takes many evaluations


def drawn(dtype, *shape, seed=0):
    return np.random.default_rng(seed).normal(size=shape).astype(dtype)


def random_shaped(shapes, seed):
    rng = np.random.default_rng(seed)
    return [rng.normal(size=shape) for shape in shapes]


def assert_near(got, expected, relative):
    """Hold a gradient to another one, relative to the size of its largest entry."""
    assert got.shape == expected.shape
    size = max(np.abs(expected).max(initial=0), 1e-3)
    np.testing.assert_allclose(got, expected, rtol=0, atol=relative * size)


def difference_gradient(loss, x):
    """Take central differences of fourth order, right to about 1e-11 of the loss."""
    fine, coarse = (numerical_gradient(loss, x, eps=eps) for eps in (1e-3, 2e-3))
    return (4 * fine - coarse) / 3


class TestSoftmaxJacobian:
    @given(hnp.array_shapes(max_dims=3, max_side=5), st.integers(0, 99))
    @few_cases
    def test_holds_the_derivatives(self, shape, seed):
        (scores,) = random_shaped([shape], seed)
        jacobian = softmax_jacobian(softmax(scores))
        for index in np.ndindex(shape):
            row = difference_gradient(lambda s, index=index: softmax(s)[index], scores)
            expected = np.zeros(shape)
            expected[index[:-1]] = jacobian[index]
            assert_near(row, expected, 1e-7)

    @pytest.mark.parametrize("dtype", [np.float16, np.float32])
    def test_narrow_types_are_rounded_once(self, ulps, dtype):
        weights = softmax(drawn(dtype, 9) * dtype(3))
        exact = [mpmath.mpf(float(w)) for w in weights]
        exact = [p * ((i == k) - q) for i, p in enumerate(exact) for k, q in enumerate(exact)]
        jacobian = softmax_jacobian(weights)
        assert jacobian.dtype == dtype
        assert ulps(jacobian, exact) <= 0.51

    def test_a_number_is_no_row(self):
        with pytest.raises(ValueError, match="weights must have at least one dimension"):
            softmax_jacobian(1.0)


class TestSoftmaxVjp:
    @given(hnp.array_shapes(max_dims=4, max_side=5), st.integers(0, 99), st.floats(0.1, 30))
    def test_is_autograds(self, shape, seed, spread):
        scores, grad_weights = random_shaped([shape, shape], seed)
        scores = torch.tensor(scores * spread, requires_grad=True)
        weights = torch.softmax(scores, -1)
        weights.backward(torch.tensor(grad_weights))
        got = softmax_vjp(weights.detach().numpy(), grad_weights)
        np.testing.assert_allclose(got, scores.grad.numpy(), rtol=0, atol=2e-15)

    def test_memory_grows_with_n(self):
        n = 20_000
        weights, grad_weights = np.full(n, 1 / n), drawn(np.float64, n)
        tracemalloc.start()
        try:
            softmax_vjp(weights, grad_weights)
            _, peak = tracemalloc.get_traced_memory()
        finally:
            tracemalloc.stop()
        assert peak < 10 * weights.nbytes

    @pytest.mark.parametrize("dtype", DTYPES)
    def test_dtype_is_kept(self, dtype):
        assert softmax_vjp(softmax(drawn(dtype, 2, 5)), drawn(dtype, 2, 5)).dtype == dtype

    @pytest.mark.parametrize(("weights", "grad"), [((5,), (4,)), ((2, 5), (5,)), ((), ())])
    def test_shapes_that_differ_are_named(self, weights, grad):
        with pytest.raises(
            ValueError, match="weights and grad_weights must have one shape"
        ) as caught:
            softmax_vjp(np.ones(weights), np.ones(grad))
        assert f"shapes {weights} and {grad}" in str(caught.value)


class TestNormalizeVjp:
    @given(hnp.array_shapes(max_dims=4, max_side=5), st.integers(0, 99))
    @few_cases
    def test_is_the_derivative_of_a_loss(self, shape, seed):
        scores, grad_shares = random_shaped([shape, shape], seed)
        scores = 1 + np.abs(scores)
        expected = difference_gradient(lambda s: np.sum(normalize_by_sum(s) * grad_shares), scores)
        assert_near(normalize_vjp(scores, grad_shares), expected, 1e-7)

    def test_a_share_of_zero_has_a_slope(self):
        got = normalize_vjp(np.array([0.0, 2.0]), np.array([1.0, 0.0]))
        assert got.tolist() == [0.5, 0.0]

    @pytest.mark.parametrize("dtype", DTYPES)
    def test_dtype_is_kept(self, dtype):
        scores = 1 + np.abs(drawn(dtype, 2, 5))
        assert normalize_vjp(scores, drawn(dtype, 2, 5)).dtype == dtype

    @pytest.mark.parametrize(("scores", "grad"), [((5,), (4,)), ((2, 5), (5,)), ((), ())])
    def test_shapes_that_differ_are_named(self, scores, grad):
        with pytest.raises(
            ValueError, match="scores and grad_shares must have one shape"
        ) as caught:
            normalize_vjp(np.ones(scores), np.ones(grad))
        assert f"shapes {scores} and {grad}" in str(caught.value)


class TestNumericalGradient:
    @given(hnp.array_shapes(min_dims=0, max_dims=3, max_side=4), st.integers(0, 99))
    def test_of_a_function_whose_gradient_is_known(self, shape, seed):
        (x,) = random_shaped([shape], seed)
        got = numerical_gradient(lambda x: np.sum(np.sin(x) * x), x)
        np.testing.assert_allclose(got, np.cos(x) * x + np.sin(x), atol=1e-8)
        assert got.shape == shape

    def test_x_comes_back_unchanged_also_from_a_function_that_fails(self):
        x = drawn(np.float64, 3, 2)
        before = x.copy()

        def fails(x):
            if x[1, 1] != before[1, 1]:
                raise RuntimeError("seen")
            x_is_finite = np.isfinite(x).all()
            return float(x_is_finite)

        with pytest.raises(RuntimeError, match="seen"):
            numerical_gradient(fails, x)
        np.testing.assert_array_equal(x, before)
        x.flags.writeable = False
        numerical_gradient(np.sum, x.T)

    def test_the_error_falls_with_the_square_of_the_step(self):
        x = np.array([1.0])
        errors = [abs(numerical_gradient(np.exp, x, eps)[0] - np.e) for eps in (1e-2, 1e-3, 1e-4)]
        np.testing.assert_allclose(errors[0] / errors[1], 100, rtol=0.01)
        np.testing.assert_allclose(errors[1] / errors[2], 100, rtol=0.01)

    def test_integers_are_computed_in_float64(self):
        np.testing.assert_allclose(numerical_gradient(lambda x: x @ x, np.array([1, 2])), [2, 4])

    def test_bad_input_is_named(self):
        with pytest.raises(TypeError, match=r"f must return one number; it returned shape \(3,\)"):
            numerical_gradient(lambda x: x, np.zeros(3))
        with pytest.raises(ValueError, match="eps must be positive and finite"):
            numerical_gradient(np.sum, np.zeros(3), eps=0)
        with pytest.raises(TypeError, match="x must hold real numbers"):
            numerical_gradient(np.sum, np.zeros(3, complex))


class TestCrossEntropyGrad:
    @given(st.integers(1, 5), st.integers(1, 6), st.integers(0, 99), st.floats(0.1, 30))
    def test_is_autograds(self, n, c, seed, spread):
        rng = np.random.default_rng(seed)
        scores, targets = rng.normal(size=(n, c)) * spread, rng.integers(c, size=n)
        learned = torch.tensor(scores, requires_grad=True)
        torch.nn.functional.cross_entropy(learned, torch.tensor(targets)).backward()
        got = cross_entropy_grad(scores, targets)
        np.testing.assert_allclose(got, learned.grad.numpy(), rtol=0, atol=1e-14)
        np.testing.assert_allclose(got.sum(axis=1), 0, atol=1e-15)

    @pytest.mark.parametrize("gap", [10.0, 50.0, 700.0])
    def test_is_right_where_the_answer_is_almost_certain(self, ulps, gap):
        got = cross_entropy_grad(np.array([[0.0, -gap]]), np.array([0]))
        share = 1 / (1 + mpmath.exp(gap))
        assert ulps(got, [-share, share]) <= 2

    @pytest.mark.parametrize("dtype", [np.float16, np.float32])
    def test_narrow_types_are_right_to_one_unit(self, ulps, dtype):
        scores, targets = drawn(dtype, 3, 7), np.array([6, 0, 2])
        exact = []
        for row, target in zip(scores, targets, strict=True):
            exponentials = [mpmath.exp(mpmath.mpf(float(s))) for s in row]
            total = mpmath.fsum(exponentials)
            exact += [(e / total - (k == target)) / 3 for k, e in enumerate(exponentials)]
        got = cross_entropy_grad(scores, targets)
        assert got.dtype == dtype
        assert ulps(got, exact) <= 1

    def test_bad_input_is_named(self):
        with pytest.raises(ValueError, match=r"they have shapes \(3, 5\) and \(2,\)"):
            cross_entropy_grad(np.zeros((3, 5)), [0, 1])
        with pytest.raises(ValueError, match="targets must lie between 0 and 4"):
            cross_entropy_grad(np.zeros((1, 5)), [7])


@st.composite
def attention_shapes(draw):
    """Draw shapes of queries, keys and values whose leading dimensions broadcast."""
    leading = draw(hnp.mutually_broadcastable_shapes(num_shapes=3, max_dims=2, max_side=3))
    length, keys, d_k, d_v = (draw(st.integers(1, 4)) for _ in range(4))
    query, key, value = leading.input_shapes
    shapes = [(*query, length, d_k), (*key, keys, d_k), (*value, keys, d_v)]
    return shapes, (*leading.result_shape, length, d_v)


class TestAttentionBackward:
    @given(attention_shapes(), st.integers(0, 99), st.floats(-2.0, 2.0))
    @few_cases
    def test_mask_and_scale_are_those_of_attention(self, drawn_shapes, seed, scale):
        shapes, output_shape = drawn_shapes
        *inputs, grad_output = random_shaped([*shapes, output_shape], seed)
        size = (*output_shape[:-1], inputs[1].shape[-2])
        mask = np.random.default_rng(seed).random(size) < 0.5  # some rows allow nothing
        gradients = attention_backward(*inputs, grad_output, mask, scale)
        for position, got in enumerate(gradients):

            def loss(x, position=position):
                changed = [*inputs[:position], x, *inputs[position + 1 :]]
                return np.sum(attention(*changed, mask, scale)[0] * grad_output)

            assert_near(got, difference_gradient(loss, inputs[position]), 1e-7)

    def test_mask_of_numbers_is_refused(self):
        inputs = [drawn(np.float64, n, 3) for n in (5, 7, 7, 5)]
        with pytest.raises(TypeError, match="mask must hold booleans"):
            attention_backward(*inputs, np.zeros((5, 7)))

    @given(attention_shapes(), st.integers(0, 99), st.floats(0.1, 3.0))
    def test_is_autograds(self, drawn_shapes, seed, spread):
        shapes, output_shape = drawn_shapes
        *inputs, grad_output = random_shaped([*shapes, output_shape], seed)
        inputs = [array * spread for array in inputs]
        query, key, value = (torch.tensor(array, requires_grad=True) for array in inputs)
        scores = query @ key.mT / query.shape[-1] ** 0.5
        (torch.softmax(scores, -1) @ value).backward(torch.tensor(grad_output))
        expected = [tensor.grad.numpy() for tensor in (query, key, value)]
        for got, autograd in zip(attention_backward(*inputs, grad_output), expected, strict=True):
            assert_near(got, autograd, 1e-12)

    @pytest.mark.parametrize("dtype", DTYPES)
    def test_each_gradient_has_its_arguments_dtype(self, dtype):
        query, key, value = (drawn(dtype, 2, n, 3, seed=n) for n in (5, 7, 7))
        grad_output = drawn(dtype, 2, 5, 3, seed=9)
        wide = [a.astype(np.float64) for a in (query, key, value, grad_output)]
        exact = attention_backward(*wide)
        for got, expected in zip(
            attention_backward(query, key, value, grad_output), exact, strict=True
        ):
            assert got.dtype == dtype
            np.testing.assert_array_equal(got, expected.astype(dtype))
        mixed = attention_backward(query, *wide[1:])
        assert [gradient.dtype for gradient in mixed] == [dtype, np.float64, np.float64]

    def test_arguments_stay_as_they_were(self):
        inputs = [drawn(np.float64, 2, n, 3) for n in (5, 7, 7, 5)]
        before = [array.copy() for array in inputs]
        for array in inputs:
            array.flags.writeable = False
        attention_backward(*inputs)
        for array, old in zip(inputs, before, strict=True):
            np.testing.assert_array_equal(array, old)

    @pytest.mark.parametrize(
        ("shapes", "sentence"),
        [
            (
                [(5, 3), (7, 4), (7, 2), (5, 2)],
                r"query of shape \(5, 3\) and key of shape \(7, 4\)",
            ),
            (
                [(5, 3), (7, 3), (6, 2), (5, 2)],
                r"key of shape \(7, 3\) and value of shape \(6, 2\)",
            ),
            ([(5, 3), (7, 3), (7,), (5, 2)], r"value needs at least two dimensions.*\(7,\)"),
            ([(2, 5, 3), (4, 7, 3), (7, 2), (2, 5, 2)], r"query \(2, 5, 3\), key \(4, 7, 3\)"),
            ([(5, 3), (7, 3), (7, 2), (5, 3)], r"output's shape \(5, 2\); it has shape \(5, 3\)"),
        ],
    )
    def test_shapes_that_do_not_fit_are_named(self, shapes, sentence):
        with pytest.raises(ValueError, match=sentence):
            attention_backward(*(np.zeros(shape) for shape in shapes))
