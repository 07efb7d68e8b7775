"""docs/contracts.md says what the exercises' modules say."""

from attention_lib.exercises.contracts import COMMAND, PAGE, page


def test_the_page_of_contracts_is_fresh():
    assert PAGE.read_text(encoding="utf-8") == page(), f"docs/contracts.md is old: run {COMMAND}"
