"""Every known mistake fails its own check, and is recognized as itself."""

import numpy as np
import pytest

from attention_lib.checks.catalogue import EXERCISES
from attention_lib.checks.judging import judge

SLOW = ("flash_kernel",)  # in Triton's interpreter, a second each
VARIANTS = [
    pytest.param(exercise, mistake, variant, seed, id=f"{exercise.name}-{number}-{letter}-{seed}")
    for exercise in EXERCISES.values()
    for number, mistake in enumerate(exercise.mistakes)
    for letter, variant in enumerate(mistake.variants)
    for seed in ([0] if letter or exercise.name in SLOW else [0, 1])
]


@pytest.mark.parametrize(("exercise", "mistake", "variant", "seed"), VARIANTS)
def test_mistake_is_recognized_as_itself(exercise, mistake, variant, seed):
    report = judge(exercise, as_a_learner_writes_it(variant), seed)
    assert report.outcome == "wrong"
    if mistake.measured:
        assert mistake.sentence in report.sentence
    else:
        assert report.sentence == mistake.sentence


def as_a_learner_writes_it(variant):
    """Give the mistake as a learner would make it: in code of their own, warnings and all."""
    if not callable(variant):
        return np.asarray(variant).tolist()
    if hasattr(variant, "kernel"):  # Triton compiles a kernel's text, and no function around it
        return variant.kernel
    return lambda *args, **kwargs: variant(*args, **kwargs)
