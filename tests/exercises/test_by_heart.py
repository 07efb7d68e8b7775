"""Points are not bought by heart: a table of the visible results with a wrong formula behind it fails."""

import copy
import pickle

import pytest

from attention_lib.checks import judging
from attention_lib.checks.calls.case import Stream
from attention_lib.checks.compare.cases import cases_of
from attention_lib.checks.judging import judge
from tests.checks.judged import VERDICT_ALONE
from tests.exercises.answers import answers_of, as_a_learner_writes_it
from tests.exercises.chosen import chosen, in_one_worker

VISIBLE, UNSEEN = 0, 20_260_101  # seeds: of a learner's cases, and of others
THREE_ARGUMENTS_IN_ALL = "largest_exponent"
# Whose arguments are a few whole numbers, or whose results are shares: a seed may draw the same.
OF_FEW_NUMBERS = (
    *("causal_mask", "padding_mask", "sliding_window_mask", "document_mask", "score_std"),
    *("attention_bytes", "copying_score", "induction_score"),
)


def pytest_generate_tests(metafunc):
    exercises = [
        pytest.param(exercise, id=name, marks=in_one_worker(name))
        for name, exercise in chosen(metafunc.config).items()
        if exercise.kind == "function" and not exercise.accelerated
        if name != THREE_ARGUMENTS_IN_ALL
    ]
    metafunc.parametrize("exercise", exercises)


def wrong_answers(exercise):
    yield from answers_of(exercise.name, "WRONG").items()
    for mistake in exercise.mistakes:
        if not mistake.measured:  # such answers are right but for memory or work
            for number, variant in enumerate(mistake.variants):
                yield f"{mistake.id}, variant {number}", as_a_learner_writes_it(variant)


def key_of(args, kwargs):
    args = [one.items if isinstance(one, Stream) else one for one in args]
    return pickle.dumps(([id(one) if callable(one) else one for one in args], kwargs))


def table_of(exercise):
    """Return what the visible calls should give, or raise, by their arguments."""
    table = {}
    for case in cases_of(exercise, VISIBLE):
        key, (args, kwargs) = (
            key_of(case.args, case.kwargs),
            copy.deepcopy((case.args, case.kwargs)),
        )
        table[key] = case.raises or exercise.reference(*args, **kwargs)
    return table


def by_heart(table, wrong):
    def answer(*args, **kwargs):
        key = key_of(args, kwargs)
        if key not in table:
            return wrong(*args, **kwargs)
        if isinstance(table[key], type):
            raise table[key]("as the table has it")
        return copy.deepcopy(table[key])

    return answer


@pytest.mark.slow
def test_visible_results_by_heart_do_not_pass_on_unseen_numbers(exercise, monkeypatch):
    monkeypatch.setattr(judging, "MOST_SECONDS", -1)  # the first call that fails is the last
    table = table_of(exercise)
    seeds = range(UNSEEN, UNSEEN + (12 if exercise.name in OF_FEW_NUMBERS else 1))
    passed = [
        what
        for what, wrong in wrong_answers(exercise)
        for seed in seeds
        if judge(exercise, by_heart(table, wrong), seed, VERDICT_ALONE).outcome == "right"
    ]
    if passed:
        pytest.fail(
            f"{exercise.name} passes with the visible results by heart and, behind them, {passed}: "
            "draw what makes those cases hard, as drawn_again in exercises/parts/cases.py does."
        )
