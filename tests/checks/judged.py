"""The verdict on an answer, and an answer of softmax that is right."""

import numpy as np

from attention_lib.checks.judges import (
    forbidden_calls,
    probes,
    results,
    second_readings,
    side_effects,
)
from attention_lib.checks.judging import GRADER, HIDDEN_NUMBERS, LEARNER, Policy, judge
from attention_lib.exercises import EXERCISES


def right(scores, axis=-1):
    exponentials = np.exp(scores)
    return exponentials / exponentials.sum(axis=axis, keepdims=True)


# What decides whether an answer is right, and nothing that only explains why it is not.
VERDICT_ALONE = Policy((forbidden_calls, second_readings, results, side_effects, probes))
WITHOUT_SOURCE = GRADER  # reads no source of answers


def verdict(answer, name="softmax", seed=0, policy=LEARNER):
    return judge(EXERCISES[name], answer, seed, policy)


def sentence_of(answer, name="softmax", policy=LEARNER):
    report = verdict(answer, name, policy=policy)
    assert report.outcome != "right"
    assert "\n" not in report.sentence
    return report.sentence


def said_of_numbers(answer, name="softmax"):
    """Return the sentence on an answer that may call the course's own solution."""
    report = judge(EXERCISES[name], answer, 0, HIDDEN_NUMBERS)
    assert report.outcome != "right"
    return report.sentence
