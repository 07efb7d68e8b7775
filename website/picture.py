"""Draw the README's picture, docs/picture.png: `python -m website.picture`."""

from __future__ import annotations

from pathlib import Path

import numpy as np

import attention_lib as lib
from attention_lib import plots
from attention_lib.plots.style import LessonFigure

PICTURE = Path(__file__).parents[1] / "docs" / "picture.png"
WORDS = ["please", "study", "man"]
# The queries, keys and values of lesson 05.
QUERY = np.array([[1.0, 0.0], [2.0, 2.0], [2.0, 1.0]])
KEY = np.array([[1.0, 0.0], [0.0, 2.0], [1.0, 1.0]])
VALUE = np.array([[2.0, 0.0], [4.0, 1.0], [1.0, 3.0]])


def draw() -> LessonFigure:
    """Draw how *study* listens: its scores, its weights, and the mixture that it hears."""
    output, weights = lib.attention(QUERY, KEY, VALUE)
    scores = lib.scaled_scores(QUERY, KEY)
    return plots.one_query(1, scores, weights, VALUE, output, WORDS)


if __name__ == "__main__":
    draw().savefig(PICTURE, dpi=150, metadata={"Software": None})
    print(draw().alt)
