"""In place of lesson 07's tuned engine while that lesson is graded: the learner's own functions."""

from __future__ import annotations

from typing import Any

from attention_lib.edition import calls
from attention_lib.edition.lookups import NotRecorded

__all__ = ["attend"]

_named: set[str] = set()


def attend(
    query: Any, key: Any, value: Any, block_size: int = 128, is_causal: bool = False
) -> tuple[Any]:
    """Compute attention's output, in a tuple, by the learner's own tiles, and say so once.

    Raises
    ------
    NotRecorded
        If their exercise has not been solved yet.
    """
    name = "tiled_causal_attention" if is_causal else "tiled_attention"
    own_one = calls.own_function(name)
    if own_one is None:
        raise NotRecorded(calls.advice(name))
    if name not in _named:
        _named.add(name)
        print(f"The tuned engine comes when lesson 07_flash is over. This is your own {name}.")
    return (own_one(query, key, value, block_size),)
