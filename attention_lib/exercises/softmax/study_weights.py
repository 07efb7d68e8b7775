"""`study_weights` holds the three softmax weights of the scores `[2, 4, 4]`.

A value, not a function: three numbers, right to 3 decimals (more digits are fine). The published worked
example of these weights is wrong.
"""

from __future__ import annotations

import numpy as np

from attention_lib.checks.exercise import Exercise, known_mistakes
from attention_lib.lessons.softmax import softmax

HINTS = (
    "e^2 is about 7.389 and e^4 about 54.598. What is their sum, with two e^4 in it?",
    "Your own softmax gives all three: softmax(np.array([2.0, 4.0, 4.0])).",
)

STUDY_SCORES = np.array([2.0, 4.0, 4.0])

MISTAKES = known_mistakes(
    "published: These are the published numbers, and they are those of the scores [2, 4, 2]: the "
    "row of study is [2, 4, 4].",
    softmax(np.array([2.0, 4.0, 2.0])),
    "weights-of-1-0-1: These are the weights for [1, 0, 1]: the row of study is [2, 4, 4].",
    softmax(np.array([1.0, 0.0, 1.0])),
    "weights-of-2-2-3: These are the weights for [2, 2, 3]: the row of study is [2, 4, 4].",
    softmax(np.array([2.0, 2.0, 3.0])),
    "no-exponential: These are the scores divided by their sum: take exponentials first.",
    STUDY_SCORES / STUDY_SCORES.sum(),
    "not-divided: These are the exponentials: divide each by their sum.",
    np.exp(STUDY_SCORES),
    "percentages: These are percentages: write the weights as numbers that sum to 1.",
    100.0 * softmax(STUDY_SCORES),
    "another-order: The numbers are right, in another order: the first score, 2, is the smallest.",
    softmax(STUDY_SCORES)[::-1],
    softmax(STUDY_SCORES)[[1, 0, 2]],
    "base-2: These come from powers of 2: use powers of e.",
    np.array([1.0, 4.0, 4.0]) / 9.0,
)

EXERCISE = Exercise(
    name="study_weights",
    points=1,
    minutes=3,
    reference=softmax(STUDY_SCORES),
    tolerance=6e-4,
    hints=HINTS,
    mistakes=MISTAKES,
    built_on=("softmax",),
)
