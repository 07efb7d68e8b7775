"""Lesson 08's functions against central differences, PyTorch, and plain loops."""

import numpy as np
import pytest
import torch

from attention_lib import (
    adam_step,
    attention_layer,
    attention_layer_backward,
    copying_score,
    embed,
    induction_score,
    next_word_loss,
)

SHAPES = ((4, 5), (4, 5), (4, 6), (6, 4))  # of w_q, w_k, w_v and w_o


@pytest.fixture
def rng():
    return np.random.default_rng(8)


def draw_layer(rng, leading=(2,)):
    return [rng.normal(size=shape) for shape in ((*leading, 3, 4), *SHAPES)]


def layer_in_torch(x, w_q, w_k, w_v, w_o):
    attend = torch.nn.functional.scaled_dot_product_attention
    return x + attend(x @ w_q, x @ w_k, x @ w_v, is_causal=True) @ w_o


def test_embed_adds_word_and_place(rng):
    tokens, embedding, positions = rng.integers(7, size=(2, 3, 4)), *rng.normal(size=(2, 7, 5))
    vectors = embed(tokens, embedding, positions)
    assert vectors.shape == (2, 3, 4, 5)
    for index in np.ndindex(tokens.shape):
        np.testing.assert_array_equal(
            vectors[index], embedding[tokens[index]] + positions[index[-1]]
        )


@pytest.mark.parametrize("leading", [(), (2,), (2, 3)])
def test_attention_layer_agrees_with_torch(rng, leading):
    arguments = draw_layer(rng, leading)
    expected = layer_in_torch(*map(torch.from_numpy, arguments))
    np.testing.assert_allclose(attention_layer(*arguments), expected.numpy(), rtol=1e-12)


def test_later_places_do_not_change_earlier_ones(rng):
    x, *matrices = draw_layer(rng)
    before = attention_layer(x, *matrices)
    x[:, -1] += 100.0
    np.testing.assert_array_equal(attention_layer(x, *matrices)[:, :-1], before[:, :-1])


def test_attention_layer_backward_agrees_with_torch(rng):
    arguments = draw_layer(rng, (2, 3))
    grad_output = rng.normal(size=arguments[0].shape)
    tensors = [torch.from_numpy(array).requires_grad_() for array in arguments]
    layer_in_torch(*tensors).backward(torch.from_numpy(grad_output))
    for gradient, tensor in zip(
        attention_layer_backward(*arguments, grad_output), tensors, strict=True
    ):
        np.testing.assert_allclose(gradient, tensor.grad.numpy(), atol=1e-12)


def test_next_word_loss_agrees_with_torch(rng):
    scores, tokens = rng.normal(size=(2, 5, 7)), rng.integers(7, size=(2, 5))
    expected = torch.nn.functional.cross_entropy(
        torch.from_numpy(scores[:, :-1].reshape(-1, 7)), torch.from_numpy(tokens[:, 1:].ravel())
    )
    assert next_word_loss(scores, tokens) == pytest.approx(expected.item(), rel=1e-12)


def test_next_word_loss_does_not_look_at_last_rows(rng):
    scores, tokens = rng.normal(size=(2, 5, 7)), rng.integers(7, size=(2, 5))
    loss = next_word_loss(scores, tokens)
    scores[:, -1] = 1e6
    assert next_word_loss(scores, tokens) == loss


@pytest.mark.parametrize(
    "settings", [{}, {"rate": 0.1, "beta1": 0.5, "beta2": 0.8, "epsilon": 0.01}]
)
def test_steps_of_adam_agree_with_torch(rng, settings):
    names = {"rate": "lr", "epsilon": "eps"}
    options = {names[k]: v for k, v in settings.items() if k in names}
    if settings:
        options["betas"] = (settings["beta1"], settings["beta2"])
    parameter = rng.normal(size=(3, 4))
    tensor = torch.from_numpy(parameter.copy()).requires_grad_()
    optimizer = torch.optim.Adam([tensor], **options)
    mean, square = np.zeros((3, 4)), np.zeros((3, 4))
    for step in range(1, 8):
        gradient = rng.normal(size=(3, 4))
        tensor.grad = torch.from_numpy(gradient)
        optimizer.step()
        parameter, mean, square = adam_step(parameter, gradient, mean, square, step, **settings)
        np.testing.assert_allclose(parameter, tensor.detach().numpy(), rtol=1e-10)


def test_adam_keeps_the_parameters_dtype_and_its_arguments(rng):
    parameter = rng.normal(size=5).astype(np.float32)
    gradient, mean, square = rng.normal(size=5), np.zeros(5), np.zeros(5)
    copies = [array.copy() for array in (parameter, gradient, mean, square)]
    results = adam_step(parameter, gradient, mean, square, 1)
    assert [array.dtype for array in results] == [np.float32] * 3
    for array, copy in zip((parameter, gradient, mean, square), copies, strict=True):
        np.testing.assert_array_equal(array, copy)
        assert not any(np.shares_memory(array, result) for result in results)


def test_float32_stays_float32(rng):
    arguments = [array.astype(np.float32) for array in draw_layer(rng)]
    output = attention_layer(*arguments)
    gradients = attention_layer_backward(*arguments, output)
    assert {array.dtype for array in (output, *gradients)} == {np.dtype(np.float32)}
    assert next_word_loss(output, np.zeros((2, 3), int)).dtype == np.float32
    tables = np.ones((2, 5, 3), np.float32)
    assert embed([0, 4], *tables).dtype == np.float32


def test_induction_score_of_heads_made_by_hand():
    tokens = np.tile(np.arange(4), 3)
    weights = np.zeros((12, 12))
    weights[np.arange(12), np.maximum(np.arange(12) - 3, 0)] = 1  # one place after the last time
    assert induction_score(weights, tokens) == 1
    assert induction_score(np.eye(12), tokens) == 0
    assert induction_score(np.eye(3), [1, 2, 3]) == 0
    assert induction_score(np.eye(3), [5, 5, 5]) == 1  # twice in a row: the place itself


def test_induction_score_adds_all_earlier_places():
    weights = np.full((7, 7), 1 / 8)
    assert induction_score(weights, [0, 1, 0, 1, 0, 1, 0]) == pytest.approx(
        np.mean([1, 1, 2, 2, 3]) / 8
    )


def test_copying_score_counts_the_words_that_a_head_raises_most():
    words, turned = np.eye(4), np.roll(np.eye(4), 1, axis=0)
    assert copying_score(words, words, words, words) == 1.0
    assert copying_score(words, words, turned, words) == 0.0
    assert copying_score(words, words, words, words * [1, 1, -1, -1]) == 0.5


@pytest.mark.parametrize(
    ("call", "error", "said"),
    [
        (lambda: embed([0.5], np.eye(2), np.eye(2)), TypeError, "tokens must hold integers"),
        (lambda: embed([2], np.eye(2), np.eye(2)), ValueError, "between 0 and 1, the last word"),
        (lambda: embed([-1], np.eye(2), np.eye(2)), ValueError, "they reach from -1 to -1"),
        (lambda: embed(1, np.eye(2), np.eye(2)), ValueError, "it is one number"),
        (lambda: embed([0, 0, 0], np.eye(2), np.eye(2)), ValueError, "3 places in tokens, and 2"),
        (lambda: embed([0], np.eye(2), np.eye(3)), ValueError, r"shapes \(2, 2\) and \(3, 3\)"),
        (lambda: attention_layer(np.eye(2), *[np.eye(3)] * 4), ValueError, "x must have shape"),
        (lambda: attention_layer(np.ones(2), *[np.eye(2)] * 4), ValueError, "x must have shape"),
        (
            lambda: attention_layer_backward(np.eye(2), *[np.eye(2)] * 4, np.ones(2)),
            ValueError,
            r"grad_output must have the shape of x, \(2, 2\)",
        ),
        (lambda: next_word_loss(np.ones(3), [0]), ValueError, "must have shape"),
        (
            lambda: next_word_loss(np.ones((1, 3)), [0]),
            ValueError,
            "no next word in sequences of 1",
        ),
        (lambda: next_word_loss(np.ones((2, 3)), [0]), ValueError, r"tokens \(\.\.\., L\)"),
        (lambda: next_word_loss(np.ones((2, 3)), [0, 3]), ValueError, "from 0 to 3"),
        (lambda: adam_step([1.0], [1.0], [0.0], [0.0], 0), ValueError, "step must be at least 1"),
        (lambda: adam_step([1.0], [1.0, 2.0], [0.0], [0.0], 1), ValueError, "must have one shape"),
        (lambda: adam_step([1.0], [1.0], [0.0], [0.0], 1, rate=-1), ValueError, "rate must be"),
        (lambda: induction_score(np.eye(3), [0, 1]), ValueError, "weights must have shape"),
        (lambda: copying_score(*[np.eye(3)] * 3, np.ones((3, 2))), ValueError, r"\(D, V\); they"),
    ],
)
def test_arguments_that_do_not_fit_are_refused_in_a_sentence(call, error, said):
    with pytest.raises(error, match=said):
        call()
