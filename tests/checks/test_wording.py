"""How functions are named in sentences."""

import pytest

from attention_lib.checks.wording import known_name


@pytest.mark.parametrize(
    ("name", "known"),
    [
        ("scipy.special._logsumexp.softmax", "scipy.special.softmax"),
        ("scipy.stats._policy._policy_factory.<locals>.decorator.<locals>.wra", "scipy.stats"),
        ("torch._scaled_dot_product", "torch._scaled_dot_product"),
        ("attention_lib.lessons.softmax.softmax", "attention_lib.softmax"),
    ],
)
def test_calls_have_the_names_that_learners_know(name, known):
    assert known_name(name) == known
