"""Every known mistake fails its own check, and is recognized as itself."""

import numpy as np
import pytest

from attention_lib.checks.judging import judge
from attention_lib.exercises import EXERCISES
from attention_lib.lessons import module_of
from tests.exercises.answers import as_a_learner_writes_it
from tests.exercises.chosen import chosen, in_one_worker, seeds

SLOW = ("flash_kernel", "flash_program")  # a second each


def pytest_generate_tests(metafunc):
    if metafunc.function is not test_mistake_is_recognized_as_itself:
        return
    # `make check` tries the first variant of a mistake on two seeds.
    of_first = 2 if metafunc.config.getoption("--exercise") not in (None, "", *SLOW) else 1
    variants = [
        pytest.param(
            *(exercise, mistake, variant, seeds(1 if number else of_first)),
            id=f"{exercise.name}: {mistake.id}, variant {number}",
            # Of several variants make quick tries the first, on one seed, and it measures nothing.
            marks=in_one_worker(exercise.name)
            + [pytest.mark.slow] * (number > 0 or mistake.measured or exercise.name in SLOW),
        )
        for exercise in chosen(metafunc.config).values()
        for mistake in exercise.mistakes
        for number, variant in enumerate(mistake.variants)
    ]
    metafunc.parametrize(("exercise", "mistake", "variant", "seeds"), variants)


def test_mistake_is_recognized_as_itself(exercise, mistake, variant, seeds):
    for seed in seeds:
        report = judge(exercise, as_a_learner_writes_it(variant), seed)
        named = (
            mistake.sentence in report.sentence
            if mistake.measured
            else (mistake.sentence == report.sentence)
        )
        if report.outcome == "wrong" and named:
            continue
        what_to_do = {
            "right": "its patch changes no number: let it make the mistake.",
            "error": "its patch stops with an error that the sentence does not name.",
        }.get(
            report.outcome,
            "give it numbers of its own, or put it above the mistake that has this sentence.",
        )
        pytest.fail(
            f'Who makes the mistake "{mistake.sentence}" reads "{report.sentence}": in '
            f"attention_lib/exercises/{module_of(exercise.lesson)}/{exercise.name}.py, {what_to_do}"
        )


def plain_attention(query, key, value, mask=None):
    scores = query @ key.swapaxes(-1, -2) / query.shape[-1] ** 0.5
    if mask is not None:
        scores = np.where(mask, scores, -np.inf) if mask.dtype == bool else scores + mask
    with np.errstate(invalid="ignore"):
        exponentials = np.exp(scores - scores.max(axis=-1, keepdims=True))
        weights = exponentials / exponentials.sum(axis=-1, keepdims=True)
    return np.nan_to_num(weights) @ value


def values_of_x(x, context, w_q, w_k, w_v, mask=None):
    return plain_attention(x @ w_q, context @ w_k, x @ w_v, mask)


def attention_within_x(x, context, w_q, w_k, w_v, mask=None):
    return plain_attention(x @ w_q, x @ w_k, x @ w_v, mask)


@pytest.mark.parametrize(
    ("answer", "said"),
    [(values_of_x, "The values come from x"), (attention_within_x, "context is ignored")],
)
def test_a_mistake_is_recognized_where_the_answer_stops_in_words_of_its_own(answer, said):
    report = judge(EXERCISES["cross_attention"], answer, seed=0)
    assert report.sentence.startswith(said)


@pytest.mark.parametrize("seed", [0, 5])
def test_one_result_of_two_is_compared_by_the_rounding_of_one(seed):
    def output_alone(query, key, value, mask=None, scale=None):
        scale = query.shape[-1] ** -0.5 if scale is None else scale
        return plain_attention(query * (scale * query.shape[-1] ** 0.5), key, value, mask)

    report = judge(EXERCISES["attention"], output_alone, seed)
    assert report.sentence == "Only the output is returned: return the pair (output, weights)."
