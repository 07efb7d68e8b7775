"""The verdict on an answer, and an answer of softmax that is right."""

import numpy as np

from attention_lib.checks import resolve
from attention_lib.checks.judging import GRADER, HIDDEN_NUMBERS, LEARNER, Policy, judge
from attention_lib.checks.verdict import sentences
from attention_lib.exercises import EXERCISES


def right(scores, axis=-1):
    exponentials = np.exp(scores)
    return exponentials / exponentials.sum(axis=axis, keepdims=True)


# What decides whether an answer is right, and nothing that only explains why it is not.
VERDICT_ALONE = Policy(is_own=True, explains=False)
WITHOUT_SOURCE = GRADER  # reads no source of answers


def verdict(answer, name="softmax", seed=0, policy=LEARNER):
    return judge(EXERCISES[name], answer, seed, policy)


def sentence_of(answer, name="softmax", policy=LEARNER):
    report = verdict(answer, name, policy=policy)
    assert report.outcome != "right"
    said = sentences(report.sentence, report.edit)
    assert "\n" not in said
    return said


def said_of_numbers(answer, name="softmax"):
    """Return the sentence on an answer that may call the course's own solution."""
    report = judge(EXERCISES[name], answer, 0, HIDDEN_NUMBERS)
    assert report.outcome != "right"
    return report.sentence


def explain_only_by(monkeypatch, *steps):
    """Leave out all other ways to explain wrong results, whole known mistakes too."""
    monkeypatch.setattr(resolve, "EXPLAINING", steps)
    monkeypatch.setattr(resolve, "known_everywhere", lambda attempt: iter(()))
