"""Let no sentence depend on how busy the machine is: the search for a small edit has more time."""

import pytest

from attention_lib.checks.source import search


@pytest.fixture(autouse=True)
def _time_for_every_trial(monkeypatch):
    monkeypatch.setattr(search, "BUDGET_SECONDS", 0.5)
