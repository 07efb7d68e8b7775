"""What is made from the exercises is fresh: docs/contracts.md and the list of mistakes' ids."""

from attention_lib.exercises.contracts import COMMAND, PAGE, page
from attention_lib.exercises.ids import FILE, present_ids, published_ids


def test_the_page_of_contracts_is_fresh():
    fresh = PAGE.read_text(encoding="utf-8") == page()
    assert fresh, f"docs/contracts.md is not what the exercises' docstrings say: run {COMMAND}."


def test_the_list_of_ids_has_those_of_all_mistakes():
    missing = present_ids() - published_ids().keys()
    assert not missing, f"{FILE.name} lacks {', '.join(sorted(missing))}: run {COMMAND}."
