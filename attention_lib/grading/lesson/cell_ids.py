"""Make the ids of a lesson's plain cells: digests of their texts, so that copies are recognized."""

from __future__ import annotations

import hashlib


def id_of(lesson: str, kind: str, text: str) -> str:
    """Return the id for a code or markdown cell with this text in a lesson."""
    return hashlib.sha256(f"{lesson}\n{kind}\n{text}".encode()).hexdigest()[:12]
