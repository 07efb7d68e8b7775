"""`attention_bytes(length, head_dim, itemsize)` counts the bytes that attention moves, naive and tiled.

→ `(naive, tiled)`: bytes to and from main memory for one head, L = S = `length`. Naive reads Q and K,
writes the scores, reads them, writes the weights, reads these and V, writes the output; tiled reads Q, K
and V once and writes the output.
"""

from __future__ import annotations

from collections.abc import Iterator

from numpy.random import Generator

from attention_lib.checks.calls.case import Answer, Case
from attention_lib.checks.exercise import Exercise, Mistake
from attention_lib.lessons.flash import attention_bytes

HINTS = (
    "Count arrays first. How many of shape (length, head_dim) are read or written, and how "
    "many of shape (length, length)?",
    "Naive: Q, K, V and the output are four arrays of length × head_dim numbers. The scores "
    "are written and read, and so are the weights. Tiled has no scores in main memory.",
    "Each number is itemsize bytes.",
)


def cases(rng: Generator) -> Iterator[Case]:
    yield Case(3, 2, 4)
    yield Case(5, 7, 8)
    yield Case(1, 3, 2)
    yield Case(8192, 64, 4)
    yield Case(length=1000, head_dim=80, itemsize=2)
    yield Case(65_536, 128, 2)  # more bytes than 32 bits count
    yield Case(int(rng.integers(10, 5000)), int(rng.integers(5, 300)), 8)


def counted(naive: tuple[int, int], tiled: tuple[int, int]) -> Answer:
    """Make an answer from how many n × d and n × n arrays are moved."""

    def answer(length: int, head_dim: int, itemsize: int) -> tuple[int, int]:
        return tuple(
            (vectors * length * head_dim + squares * length**2) * itemsize
            for vectors, squares in (naive, tiled)
        )

    return answer


MISTAKES = (
    Mistake(
        "The bytes of a number are missing: multiply by itemsize.",
        lambda length, head_dim, itemsize: attention_bytes(length, head_dim, 1),
    ),
    Mistake(
        "These are bits: multiply by itemsize, which is in bytes already.",
        lambda length, head_dim, itemsize: attention_bytes(length, head_dim, 8 * itemsize),
    ),
    Mistake(
        "The bytes of a number are counted twice: multiply by itemsize once.",
        lambda length, head_dim, itemsize: attention_bytes(length, head_dim, itemsize**2),
    ),
    Mistake(
        "Naive moves four arrays of length × length numbers: the scores are written and read, "
        "and the weights are written and read.",
        *(counted((4, squares), (4, 0)) for squares in (1, 2, 3, 5, 6)),
    ),
    Mistake(
        "Naive also moves the scores and the weights, arrays of length × length numbers.",
        counted((4, 0), (4, 0)),
    ),
    Mistake(
        "Naive moves Q, K, V and the output besides the scores and weights: four arrays of "
        "length × head_dim numbers.",
        counted((0, 4), (4, 0)),
        counted((2, 4), (4, 0)),
        counted((3, 4), (4, 0)),
        counted((3, 4), (3, 0)),
    ),
    Mistake(
        "Tiled writes the output too: four arrays of length × head_dim numbers.",
        counted((4, 4), (3, 0)),
    ),
    Mistake(
        "The scores of a tile never go to main memory: tiled moves no array of length × length "
        "numbers.",
        *(counted((4, 4), (4, squares)) for squares in (1, 2, 4)),
    ),
    Mistake(
        "The pair is reversed: return (naive, tiled).",
        lambda length, head_dim, itemsize: attention_bytes(length, head_dim, itemsize)[::-1],
    ),
    Mistake(
        "Only one of the two is returned: return the pair (naive, tiled).",
        lambda length, head_dim, itemsize: attention_bytes(length, head_dim, itemsize)[0],
        lambda length, head_dim, itemsize: attention_bytes(length, head_dim, itemsize)[1],
    ),
    Mistake(
        "These are numbers of operations: count the bytes that are read and written.",
        lambda length, head_dim, itemsize: (4 * length**2 * head_dim,) * 2,
    ),
)

EXERCISE = Exercise(
    name="attention_bytes",
    points=1,
    minutes=6,
    reference=attention_bytes,
    cases=cases,
    hints=HINTS,
    mistakes=MISTAKES,
)
