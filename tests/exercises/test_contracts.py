"""docs/contracts.md says what the exercises' modules say."""

import pytest

from attention_lib.exercises.contracts import COMMAND, PAGE, page


def test_the_page_of_contracts_is_fresh():
    if PAGE.read_text(encoding="utf-8") != page():
        pytest.fail(f"docs/contracts.md is not what the exercises' docstrings say: run {COMMAND}")
