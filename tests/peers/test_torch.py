"""PyTorch's OpInfo samples: its operators and its autograd, against this library.

PyTorch computes each sample in float64, from the sample's own numbers. What this library gives
in the sample's dtype must be that result to within one unit in the last place.
"""

import functools
import inspect
import warnings
from unittest import mock

import hypothesis
import numpy as np
import pytest
import torch

from attention_lib import (
    cross_entropy,
    cross_entropy_grad,
    log_softmax,
    logsumexp,
    softmax,
    softmax_vjp,
)
from tests.peers.adapters import along_axes, attend, attend_backward, over_axes

DTYPES = ["float64", "float32", "float16"]

# The samples take seconds to import and to make, so one process does it, once a test runs.
pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("opinfo")]


@functools.cache
def _operators():
    """Import PyTorch's table of operators, and undo what the import does to later tests."""
    profile = hypothesis.settings.get_current_profile_name()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from torch.testing._internal.common_methods_invocations import op_db
    # It has hypothesis draw ten cases where ours draws more, and lets no test set a flag of
    # torch.backends.
    hypothesis.settings.load_profile(profile)
    torch.backends.__allow_nonbracketed_mutation_flag = True
    return op_db


def _samples(name, dtype, applies):
    """Return an operator with each of its samples that apply to this library."""
    # For each sample PyTorch looks for its own test case in all callers, which takes seconds.
    without_callers = mock.patch.object(inspect, "stack", return_value=[])
    with torch.random.fork_rng(devices=[]), without_callers:
        torch.manual_seed(0)
        samples = [
            (operator, sample)
            for operator in _operators()
            if operator.name == name
            for sample in operator.sample_inputs("cpu", getattr(torch, dtype), False)
            if applies(sample)
        ]
    assert samples, f"PyTorch has no samples for {name}"
    return samples


def on_samples(name, applies=lambda sample: True):
    """Make a test of what holds for each sample of an operator."""

    def decorate(holds):
        @pytest.mark.parametrize("dtype", DTYPES)
        def test(dtype, record_property):
            samples = _samples(name, dtype, applies)
            record_property("cases", len(samples))
            for number, (operator, sample) in enumerate(samples):
                try:
                    holds(operator, sample)
                except Exception as error:
                    error.add_note(f"sample {number} of {name} {operator.variant_test_name}")
                    raise

        return test

    return decorate


def _run(operator, sample):
    """Return PyTorch's output, a gradient of some loss with respect to it, and autograd's own."""
    arguments = [_in_float64(a) for a in (sample.input, *sample.args)]
    learned = [
        a.requires_grad_() for a in arguments if torch.is_tensor(a) and a.is_floating_point()
    ]
    output = operator(*arguments, **{k: _in_float64(v) for k, v in sample.kwargs.items()})
    generator = torch.Generator().manual_seed(0)
    grad_output = torch.randint(-8, 9, output.shape, generator=generator).double()
    gradients = torch.autograd.grad(output, learned, grad_output)
    return output.detach().numpy(), grad_output.numpy(), [g.numpy() for g in gradients]


def _in_float64(argument):
    is_floating = torch.is_tensor(argument) and argument.is_floating_point()
    return argument.detach().double() if is_floating else argument


def _scores(sample):
    """Return the sample's scores as an array, in the dtype it asks to compute in."""
    return sample.input.to(sample.kwargs.get("dtype") or sample.input.dtype).numpy()


def _assert_close(got, expected, dtype, size=1.0):
    """Hold `got` to `expected`: one ulp, and what float64 loses at numbers of this size."""
    assert got.dtype == dtype
    assert got.shape == expected.shape
    resolution = np.finfo(dtype)
    float64_error = 64 * np.finfo(np.float64).eps * max(size, np.abs(expected).max(initial=0.0))
    np.testing.assert_allclose(
        got.astype(np.float64),
        expected,
        rtol=resolution.eps,
        atol=float64_error + resolution.smallest_subnormal,
    )


def _has_entries(sample):
    """Say whether no row is empty: such a row is refused, as in SciPy."""
    return sample.input.ndim == 0 or sample.input.shape[sample.args[0]] > 0


def _has_classes_alone(sample):
    """Say whether targets are classes, not probabilities, and all classes weigh the same."""
    return not sample.args[0].is_floating_point() and "weight" not in sample.kwargs


@on_samples("softmax", _has_entries)
def test_softmax(operator, sample):
    scores, (axis,) = _scores(sample), sample.args
    output, grad_output, (gradient,) = _run(operator, sample)
    weights = softmax(scores, axis=axis)
    _assert_close(weights, output, scores.dtype)
    rows = [np.moveaxis(np.atleast_1d(a), axis, -1) for a in (output, grad_output)]
    ours = np.moveaxis(softmax_vjp(*rows), -1, axis).reshape(scores.shape)
    _assert_close(ours, gradient, np.float64)


@on_samples("log_softmax", _has_entries)
def test_log_softmax(operator, sample):
    scores, (axis,) = _scores(sample), sample.args
    output, _, _ = _run(operator, sample)
    _assert_close(log_softmax(scores, axis=axis), output, scores.dtype)


# A single number has no axis 0 in NumPy.
@on_samples("logsumexp", lambda sample: sample.input.ndim > 0)
def test_logsumexp(operator, sample):
    scores, (axis, keepdims) = _scores(sample), sample.args
    output, grad_output, (gradient,) = _run(operator, sample)
    _assert_close(over_axes(logsumexp, scores, axis, keepdims), output, scores.dtype)
    if not keepdims:
        grad_output = np.expand_dims(grad_output, axis)
    ours = along_axes(softmax, scores.astype(np.float64), axis) * grad_output
    _assert_close(ours, gradient, np.float64, size=float(np.abs(scores).max()))


@on_samples("nn.functional.cross_entropy", _has_classes_alone)
def test_cross_entropy(operator, sample):
    scores, (targets,) = _scores(sample), sample.args
    output, grad_output, (gradient,) = _run(operator, sample)
    reduction = sample.kwargs.get("reduction", "mean")
    if reduction != "mean":  # one row at a time: the wide sum of losses is PyTorch's own matter
        scores = scores.astype(np.float64)
    rows = np.moveaxis(scores, 1, -1).reshape(-1, scores.shape[1])
    classes = targets.numpy().ravel()
    kept = np.flatnonzero(classes != sample.kwargs.get("ignore_index", -100))

    gradients = np.zeros_like(rows)
    if reduction == "mean":
        loss = cross_entropy(rows[kept], classes[kept])
        gradients[kept] = cross_entropy_grad(rows[kept], classes[kept])
    else:
        losses = np.zeros(classes.size)
        for i in kept:
            losses[i] = cross_entropy(rows[[i]], classes[[i]])
            gradients[i] = cross_entropy_grad(rows[[i]], classes[[i]])[0]
        loss = losses.sum() if reduction == "sum" else losses.reshape(targets.shape)
    _assert_close(loss, output, scores.dtype)
    gradients = gradients.reshape(*targets.shape, -1) * grad_output[..., None].astype(scores.dtype)
    _assert_close(np.moveaxis(gradients, -1, 1), gradient, scores.dtype)


@on_samples(
    "nn.functional.scaled_dot_product_attention", lambda sample: not sample.kwargs["dropout_p"]
)
def test_attention(operator, sample):
    options = {k: v.numpy() if torch.is_tensor(v) else v for k, v in sample.kwargs.items()}
    del options["dropout_p"]
    query, key, value = (a.numpy() for a in (sample.input, *sample.args))
    mask = options.pop("attn_mask", None)
    output, grad_output, gradients = _run(operator, sample)
    size = float(np.abs(query).max() * np.abs(key).max() * query.shape[-1])
    ours, _ = attend(query, key, value, mask, **options)
    _assert_close(ours, output, query.dtype, size)

    saved = None
    if mask is not None or options.get("is_causal"):
        wide = [a.astype(np.float64) for a in (query, key, value)]
        _, saved = attend(*wide, mask, **options)
    grad_output = grad_output.astype(query.dtype)  # small integers, so the same in each dtype
    ours = attend_backward(query, key, value, grad_output, saved)
    for got, expected in zip(ours, gradients, strict=True):
        _assert_close(got, expected, query.dtype, size)
