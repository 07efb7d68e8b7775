"""A known mistake is recognized by the numbers it gives, on all calls or on some."""

import dataclasses
import logging

import numpy as np
import pytest

from attention_lib import attention, log_softmax, masked_softmax, softmax
from attention_lib.checks import resolve
from attention_lib.checks.judging import HIDDEN_NUMBERS, judge
from attention_lib.checks.patch import patches
from attention_lib.exercises import EXERCISES
from attention_lib.lessons.multihead import merge_heads, split_heads
from benchmarks.answers import defined
from tests.checks.judged import said_of_numbers
from tests.exercises.answers import as_a_learner_writes_it
from tests.exercises.multihead.decoder_attention import right_textbook


def test_an_entropy_in_place_of_a_temperature_is_named():
    sentence = said_of_numbers(lambda scores, target: target, "temperature_for_entropy")
    assert sentence.endswith("you returned an entropy. Return the temperature that leads to it.")


def softmax_down_the_columns_over_all_classes(scores, targets):
    one_hot = np.eye(scores.shape[-1])[targets]
    return (softmax(scores, axis=0) - one_hot) / scores.size


(with_values_rotated_and_groups_in_turn,) = patches(
    right_textbook,
    "values = split(x @ w_v, num_groups) => values = rotate(split(x @ w_v, num_groups), positions, base) && "
    "keys, values, mask) => *(np.tile(a, (num_heads // num_groups, 1, 1)) for a in (keys, values)), mask)",
)


def hidden_where_allowed_and_summed_along_the_last(scores, mask, axis=-1):
    seen = np.where(mask, -np.inf, scores)
    top = seen.max(axis=axis, keepdims=True)
    powers = np.exp(seen - np.where(np.isneginf(top), 0, top).astype(seen.dtype))
    total = powers.sum(axis=-1, keepdims=True)
    return powers / np.where(total == 0, 1, total)


@pytest.mark.parametrize(
    ("exercise", "answer", "first", "second"),
    [
        (
            "masked_softmax",
            hidden_where_allowed_and_summed_along_the_last,
            "The mask is inverted",
            "sum along the last axis",
        ),
        (
            "cross_entropy_grad",
            softmax_down_the_columns_over_all_classes,
            "You divide by N × C, all entries",
            "Softmax runs down the columns",
        ),
        (
            "decoder_attention",
            with_values_rotated_and_groups_in_turn,
            "The values are rotated too",
            "take turns through the query heads",
        ),
    ],
)
def test_two_faults_at_once_are_both_named(exercise, answer, first, second):
    sentence = said_of_numbers(answer, exercise)
    assert sentence.startswith("Two faults explain these numbers: ")
    assert first in sentence
    assert second in sentence


def test_wrong_numbers_are_explained_beside_an_error_that_is_missing():
    def answer(scores, temperature, axis=-1):
        if temperature < 0:
            raise ValueError
        with np.errstate(all="ignore"):
            weights = np.exp(scores / temperature - scores.max(axis=axis, keepdims=True))
            return weights / weights.sum(axis=axis, keepdims=True)

    sentence = judge(EXERCISES["softmax_with_temperature"], answer, 0).sentence
    assert "should raise ValueError for temperature = 0;" in sentence
    assert "Besides: The maximum subtracted is that of the scores" in sentence


def test_an_explanation_that_fails_takes_away_no_verdict(monkeypatch):
    def answer(scores, temperature, axis=-1):
        if temperature < 0:
            raise ValueError
        with np.errstate(all="ignore"):
            weights = np.exp(scores / temperature - scores.max(axis=axis, keepdims=True))
            return weights / weights.sum(axis=axis, keepdims=True)

    def fail(*arguments):
        raise RuntimeError

    monkeypatch.setattr(resolve, "log", logging.getLogger("expected"))
    for part in ("EXPLAINING", "known_everywhere", "sides"):
        monkeypatch.setattr(resolve, part, (fail,) if part == "EXPLAINING" else fail)
        assert judge(EXERCISES["softmax_with_temperature"], answer, 0).outcome == "wrong"


def test_a_warning_of_a_right_call_is_named_beside_a_wrong_shape():
    def answer(scores, axis=-1, keepdims=False):
        top = scores.max(axis=axis, keepdims=True)
        top = np.where(np.isfinite(top), top, 0)
        result = top + np.log(np.exp(scores - top).sum(axis=axis, keepdims=True))
        return result if keepdims else result.squeeze()

    sentence = judge(EXERCISES["logsumexp"], answer, 0).sentence
    assert 'Besides: logsumexp warns: "divide by zero encountered in log".' in sentence


def test_of_two_statements_in_a_line_the_one_that_writes_is_named():
    text = "def softmax(scores, axis=-1):\n    scores[...] += 1; scores = np.exp(scores)\n    return scores"
    answer = defined("softmax", text)
    sentence = judge(EXERCISES["softmax"], answer, 0).sentence
    assert "In line 2, `scores[...] += 1` writes into it" in sentence


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("scores[...] = scores - scores.max(axis=axis, keepdims=True)", "work on a copy."),
        ("scores = np.subtract(scores, 1, out=scores)", "without `out=` it makes a new array."),
    ],
)
def test_a_changed_input_is_named_with_its_line_beside_wrong_numbers(line, said):
    text = f"def softmax(scores, axis=-1):\n    {line}\n    return np.exp(scores)"
    answer = defined("softmax", text)
    sentence = judge(EXERCISES["softmax"], answer, 0).sentence
    assert sentence.startswith(("You divide by the largest", "softmax gives"))
    assert (
        f"Besides: softmax changes its input scores. In line 2, `{line}` writes into it" in sentence
    )
    assert sentence.endswith(said)


def layer_backward_with(change):
    from attention_lib import attention_layer_backward

    def answer(x, w_q, w_k, w_v, w_o, grad_output):
        gradients = list(attention_layer_backward(x, w_q, w_k, w_v, w_o, grad_output))
        gradients[0] = gradients[0] - grad_output
        gradients[4] = change(gradients[4], x, w_v, grad_output)
        return tuple(gradients)

    return answer


def values_in_place_of_the_mixture(of_w_o, x, w_v, grad_output):
    product = (x @ w_v).mT @ grad_output
    return product.reshape(-1, *of_w_o.shape).sum(axis=0)


def test_mistakes_in_different_results_are_both_named():
    answer = layer_backward_with(values_in_place_of_the_mixture)
    sentence = said_of_numbers(answer, "attention_layer_backward")
    assert "the residual is forgotten" in sentence
    assert "grad_w_o is made from x or from the values" in sentence


def test_one_known_mistake_among_results_is_not_joined_with_an_unknown_one():
    answer = layer_backward_with(lambda of_w_o, *_: of_w_o**2)
    assert "Two faults" not in said_of_numbers(answer, "attention_layer_backward")


# Answers that look alike and are not


def shifted_by_the_middle(scores, axis=-1):
    """Overflow where one that subtracts the mean does, which for two scores is the middle."""
    middle = (scores.max(axis=axis, keepdims=True) + scores.min(axis=axis, keepdims=True)) / 2
    with np.errstate(all="ignore"):
        exponentials = np.exp(scores - middle)
        return exponentials / exponentials.sum(axis=axis, keepdims=True)


def test_nan_in_the_same_places_is_no_recognition():
    assert "mean" not in said_of_numbers(shifted_by_the_middle, "stable_softmax")


def heads_scaled_by_2(x, w_q, w_k, w_v, w_o, num_heads, mask=None):
    query, key, value = (split_heads(x @ w, num_heads) for w in (w_q, w_k, w_v))
    mask = mask if mask is None or mask.ndim < 3 else mask[..., None, :, :]
    return merge_heads(attention(query, key, value, mask, 0.5)[0]) @ w_o


def test_mistake_that_fits_where_a_size_happens_to_be_equal_is_not_named():
    sentence = said_of_numbers(heads_scaled_by_2, "multi_head_attention")
    assert "D/H" not in sentence


def last_key_left_out(query, key, value, block_size):
    from attention_lib import tiled_attention

    return tiled_attention(query, key[..., :-1, :], value[..., :-1, :], block_size)


def test_last_block_is_not_blamed_where_the_last_key_is_left_out():
    assert "the last block is short" not in said_of_numbers(last_key_left_out, "tiled_attention")


def one_loss_in_an_array(scores, targets):
    return np.array([-log_softmax(scores)[np.arange(len(targets)), targets].mean()])


def test_calls_of_size_1_are_not_enough_to_name_a_mistake():
    sentence = said_of_numbers(one_loss_in_an_array, "cross_entropy")
    assert sentence.startswith("cross_entropy returned shape (1,); it should be (). Its axis 0")


def left_alone_at_position_0(x, positions, base=10000.0):
    from attention_lib import rotary_embedding

    return rotary_embedding(x, np.full_like(positions, positions[0]), base)


def test_mistake_in_few_of_the_wrong_calls_is_not_named():
    sentence = said_of_numbers(left_alone_at_position_0, "rotary_embedding")
    assert "x is returned unchanged" not in sentence


@pytest.mark.parametrize(
    ("exercise", "mistake", "never"),
    [
        # The places are counted from 1: where one more is known than used, they are the last ones.
        ("embed", "The places are counted from 1", "last rows"),
        # Both parts may be exchanged: that is no fault beside the other.
        ("merge_softmax_stats", "Only the right total is rescaled", "exchanged"),
        # Booleans have two values: a few faults together give any of them.
        ("causal_mask", "The mask is inverted", "Two faults"),
        ("causal_mask", "The diagonal is missing", "Two faults"),
        # Without the scale, and with it taken twice, the scores are as they should be.
        ("decoder_attention", "The scores are divided by √D", "Two faults"),
        # A sum over L places is a mean, multiplied by L.
        ("induction_score", "Weights are added up over the rows", "Two faults"),
        ("scaled_scores", "This is the root of L, the number of queries", "number of keys"),
    ],
)
def test_mistake_that_is_not_known_is_not_taken_for_others(exercise, mistake, never):
    whole = EXERCISES[exercise]
    (unknown,) = [one for one in whole.mistakes if one.sentence.startswith(mistake)]
    others = tuple(one for one in whole.mistakes if one is not unknown)
    answer = as_a_learner_writes_it(unknown.variants[0])
    report = judge(dataclasses.replace(whole, mistakes=others), answer, 0, HIDDEN_NUMBERS)
    assert report.outcome != "right"
    assert never not in report.sentence


def weights_over_the_keys_alone(scores, mask, axis=-1):
    return masked_softmax(scores, np.broadcast_to(mask, scores.shape)[..., ::-1], axis)


def test_answer_with_an_error_first_is_left_to_the_error():
    def stops(scores, mask, axis=-1):
        if scores.ndim < 3:
            raise ValueError("three axes, please")
        return weights_over_the_keys_alone(scores, mask, axis)

    assert "three axes, please" in said_of_numbers(stops, "masked_softmax")
