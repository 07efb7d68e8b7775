"""`rotary_embedding(x, positions, base=10000.0)` turns pairs of entries by angles of the positions.

`x` has shape `(..., L, d)`, with an even d, and `positions` holds L integers from 0 on, shape `(L,)`.
In row l the pair of entries (2i, 2i + 1) turns by the angle θ = `positions[l]` · `base`^(−2i/d):
(a, b) becomes (a cos θ − b sin θ, a sin θ + b cos θ). The result has the shape of `x`. `base` may be
given by position or by name.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.random import Generator

from attention_lib.checks.calls.case import Case
from attention_lib.checks.exercise import Exercise, known_mistakes
from attention_lib.exercises.parts.magnitudes import rotation_magnitude
from attention_lib.lessons.multihead import rotary_embedding

HINTS = (
    "There are d/2 speeds: base ** (-np.arange(0, d, 2) / d). The angles are positions times "
    "speeds, one for each position and pair, shape (L, d/2). Which of the two needs [:, None]?",
    "x[..., 0::2] has the first components of all pairs, x[..., 1::2] the second ones.",
    "With cos and sin of the angles, (a, b) becomes (a cos − b sin, a sin + b cos). Keep the "
    "old a until b is done.",
    "Write the results to their places: turned = np.empty(x.shape, np.result_type(x, np.float32)), "
    "then turned[..., 0::2] = ... and turned[..., 1::2] = .... That dtype is float32 for float32, "
    "and float64 for integers.",
)


def cases(rng: Generator) -> Iterator[Case]:
    yield Case(np.array([[1.0, 0.0], [1.0, 0.0], [0.0, 2.0]]), np.array([0, 1, 2]))
    yield Case(np.array([[1.0, 0.0, 2.0, 0.0], [0.0, 1.0, 0.0, 1.0]]), np.array([1, 2]))
    yield Case(rng.normal(size=(5, 6)), np.arange(5))
    yield Case(rng.normal(size=(3, 4)), np.array([7, 0, 3]))  # not the rows' own numbers
    yield Case(rng.normal(size=(6, 6)), np.arange(6) + 4)  # square: a wrong axis fits as well
    yield Case(rng.normal(size=(3, 6)), np.array([2, 5, 9]))  # as many positions as pairs
    yield Case(rng.normal(size=(2, 3, 8)), np.arange(3) + 11)
    yield Case(rng.normal(size=(2, 3, 5, 10)), np.array([4, 4, 1, 30, 2]))
    yield Case(rng.normal(size=(4, 6)), np.arange(4) + 1, base=100.0)
    yield Case(rng.normal(size=(2, 4, 8)), np.arange(4) + 1, 500.0)
    yield Case(rng.normal(size=(5, 8)).astype(np.float32), np.array([0, 1, 17, 3, 60]))
    yield Case(rng.integers(-4, 5, (3, 4)), np.array([1, 2, 5]))
    yield Case(rng.normal(size=(2, 6)), np.array([1000, 4096]))


def plain(x, positions, base=10000.0):
    size = x.shape[-1]
    pair = np.arange(size // 2)
    speeds = base ** (-2 * pair / size)
    place = positions
    angles = place[:, None] * speeds
    cos, sin = np.cos(angles), np.sin(angles)
    a, b = x[..., 0::2], x[..., 1::2]
    first = a * cos - b * sin
    second = a * sin + b * cos
    turned = np.stack([first, second], axis=-1).reshape(*first.shape[:-1], -1)
    return turned


HALVES = "x[..., 0::2], x[..., 1::2] => x[..., : size // 2], x[..., size // 2 :]"
SIDE_BY_SIDE = "np.stack => np.concatenate"
ONE, OTHER = "a * cos - b * sin", "a * sin + b * cos"

MISTAKES = known_mistakes(
    plain,
    "not-turned: x is returned unchanged: turn each pair by its angle.",
    lambda x, positions, base=10000.0: x,
    "pairs-of-halves: These pairs are (i, i + d/2), one from each half: here they are neighbors, "
    "(2i, 2i + 1).",
    f"{HALVES} && {SIDE_BY_SIDE}",
    "not-interleaved: The turned pairs are not put back in their places: first components belong "
    "in the columns 0, 2, 4, ..., second ones in 1, 3, 5, ...",
    SIDE_BY_SIDE,
    "halves-as-components: The halves of x are treated as the components of the pairs: pairs are "
    "neighbors, x[..., 0::2] and x[..., 1::2].",
    HALVES,
    "angles-side-by-side: The two columns of a pair get angles of two pairs: neighbors are a pair here, "
    "so each angle stands twice in a row, as np.repeat(angles, 2, axis=-1) has it.",
    "place[:, None] * speeds => np.tile(place[:, None] * speeds, 2) && "
    "np.cos(angles), np.sin(angles) => np.cos(angles[:, 0::2]), np.sin(angles[:, 0::2]) && "
    f"{OTHER} => a * np.sin(angles[:, 1::2]) + b * np.cos(angles[:, 1::2])",
    "wrong-way: The pairs turn the wrong way: (a, b) becomes (a cos − b sin, a sin + b cos).",
    f"{ONE} => a * cos + b * sin && {OTHER} => b * cos - a * sin",
    "sign-wrong: A sign is wrong: (a, b) becomes (a cos − b sin, a sin + b cos).",
    f"{ONE} => a * cos + b * sin",
    f"{OTHER} => b * cos - a * sin",
    f"{ONE} => a * cos + b * sin && {OTHER} => a * sin - b * cos",
    f"{OTHER} => a * sin - b * cos",
    "sine-cosine-exchanged: Sine and cosine have changed places: (a, b) becomes (a cos − b sin, a "
    "sin + b cos).",
    "cos, sin = => sin, cos =",
    "turned-component-reused: The second component is computed from the first one after it was "
    "turned: keep the old first component for both.",
    f"{OTHER} => first * sin + b * cos",
    "one-component: Only one component of each pair is right: the other must turn as well, (a cos "
    "− b sin, a sin + b cos).",
    f"{OTHER} => b",
    f"{ONE} => a",
    "row-numbers: The rows are turned by their own numbers 0, 1, 2, ...: use the positions given.",
    "place = positions => place = np.arange(len(positions))",
    "counted-from-first: The rows are counted from the first position given: turn each by its "
    "position itself.",
    "place = positions => place = positions - positions[0]",
    "off-by-one: The positions are off by one: position 0 is not turned at all.",
    "place = positions => place = positions {+|-} 1",
    "two-missing: The exponent lacks its 2: the speed of pair i is base ** (−2i/d).",
    "-2 * pair => -pair",
    "two-too-many: The exponent has a 2 too many: the speed of pair i is base ** (−2i/d), with i "
    "= 0, 1, 2, ..., which is np.arange(0, d, 2) / d.",
    "-2 * pair => -4 * pair",
    "exponent-sign: The exponent has the wrong sign: later pairs turn slower, base ** (−2i/d).",
    "-2 * pair => 2 * pair",
    "not-divided-by-d: The exponent is not divided by d: the speed of pair i is base ** (−2i/d).",
    "-2 * pair / size => {-2.0|-1.0} * pair",
    "pairs-from-one: The pairs are counted from 1: the first pair has i = 0 and the speed 1.",
    "-2 * pair => -2 * (pair + 1)",
    "exponents-to-minus-one: The exponents run all the way to −1: the speed of pair i is base ** "
    "(−2i/d), and the last i is d/2 − 1.",
    "-2 * pair / size => -pair / max(len(pair) - 1, 1)",
    "one-speed: All pairs turn at the same speed: that of pair i is base ** (−2i/d).",
    "-2 * pair => 0.0 * pair",
    "base-ignored: The base is always 10000: use the base you are given.",
    "speeds = base => speeds = 10000.0",
    "positions-speeds-exchanged: Positions and speeds have changed places: the angles have one "
    "row a position, one column a pair.",
    "place[:, None] * speeds => place * speeds[:, None]",
    "divided-by-speed: The angles are positions divided by the speeds: multiply them.",
    "place[:, None] * speeds => place[:, None] / speeds",
    "added-to-x: Sines and cosines are added to x: here each pair is turned, and keeps its length.",
    f"{ONE} => a + sin && {OTHER} => b + cos",
    "cut-to-integers: For integers the result is cut to whole numbers: an array of "
    "integers holds no others. Make a float array.",
    "return turned => return turned.astype(x.dtype)",
)

EXERCISE = Exercise(
    name="rotary_embedding",
    points=3,
    minutes=9,
    reference=rotary_embedding,
    signature="rotary_embedding(x, positions, base=10000.0)",
    cases=cases,
    magnitude=rotation_magnitude,
    hints=HINTS,
    mistakes=MISTAKES,
)
