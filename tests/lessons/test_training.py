"""Models of lesson 08 are trained by the gradients of what they compute, and read by the best there is."""

import math

import numpy as np
import pytest

import attention_lib as lib
from attention_lib.lessons.learning import training

SMALL = {"words": 6, "length": 7, "width": 5, "head": 4}
BEFORE = np.eye(7, k=-1, dtype=bool) | np.eye(7, dtype=bool) & (np.arange(7) == 0)


def model_of(layers, more=()):
    rng = np.random.default_rng(layers)
    arrays = [*training.start(rng, layers, **SMALL), *(rng.normal(size=shape) for shape in more)]
    return [array.astype(float) for array in arrays]


@pytest.mark.parametrize(
    ("form", "layers", "more"),
    [
        (training.stacked, 2, ()),
        (training.side_by_side, 2, ()),
        (training.key_of_two_words, 1, [(5, 4)]),
        (training.guided(), 2, ()),
        (training.guided(BEFORE), 2, ()),
    ],
    ids=["stacked", "side by side", "key of two words", "guided by nothing", "guided"],
)
def test_gradients_are_those_of_the_loss(form, layers, more):
    model = model_of(layers, more)
    tokens, _ = training.draw(np.random.default_rng(3), 3, 6, 7)
    _, found = training.gradients(model, tokens, form)
    for number, (array, gradient) in enumerate(zip(model, found, strict=True)):

        def loss(moved, number=number):
            return training.gradients([*model[:number], moved, *model[number + 1 :]], tokens, form)[
                0
            ]

        assert np.abs(lib.numerical_gradient(loss, array) - gradient).max() < 1e-7


def test_forms_that_do_the_same_agree():
    model, (tokens, _) = model_of(2), training.draw(np.random.default_rng(3), 3, 6, 7)
    stacked = training.vectors_of(model, tokens, training.stacked)
    assert np.allclose(stacked, training.vectors_of(model, tokens, training.guided()))
    assert np.allclose(stacked @ model[2], training.scores_of(model, tokens)[1])
    guided = training.vectors_of(model, tokens, training.guided(BEFORE))
    replaced = training.scores_of(model, tokens, [lambda own: 0 * own + BEFORE])[1]
    assert np.allclose(guided @ model[2], replaced)
    assert np.allclose(replaced, training.scores_of(model, tokens, masks=[BEFORE])[1])


def test_a_key_of_two_words_sees_the_word_before():
    model = model_of(1, [(5, 4)])
    tokens = np.array([[1, 2, 3, 4], [0, 2, 3, 4]])
    form = training.key_of_two_words
    (first, other), without = (
        training.vectors_of(m, tokens, form) for m in (model, [*model[:-1], 0 * model[-1]])
    )
    assert not np.allclose(first[3], other[3])
    assert np.allclose(without, training.vectors_of(model[:-1], tokens, training.stacked))


def test_sequences_repeat_after_their_period_and_not_before():
    tokens, periods = training.draw(np.random.default_rng(0), 50)
    assert set(periods) <= set(range(3, 17))
    for row, period in zip(tokens, periods, strict=True):
        assert len(set(row[:period])) == period
        assert (row[period:] == row[:-period]).all()


def test_the_best_reader_gives_all_words_together_the_chance_1():
    for seen in range(1, 17):
        again = math.exp(-training.best_loss(seen, seen)) if seen >= 3 else 0
        new = (32 - seen) * math.exp(-training.best_loss(seen, 17)) if seen < 16 else 0
        assert again + new == pytest.approx(1)
    assert training.best_loss(9, 8) == 0


def test_a_learners_functions_are_used_and_what_has_no_rate_stays():
    called = []

    def adam_step(*arguments):
        called.append(arguments)
        return lib.adam_step(*arguments)

    model = training.start(np.random.default_rng(0), **SMALL)
    rates = [0.01] * 10 + [0.0]
    parts = training.Parts(adam_step=adam_step)
    trained, losses = training.train(
        model, np.random.default_rng(0), 3, rate=rates, count=2, parts=parts
    )
    assert len(losses) == 3
    assert len(called) == 3 * 10
    same = [np.array_equal(*pair) for pair in zip(model, trained, strict=True)]
    assert same == [False] * 10 + [True]
    assert {array.dtype for array in trained} == {np.dtype(np.float32)}
