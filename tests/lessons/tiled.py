"""What the tests of the plain and of the tuned tiled attention share."""

import tracemalloc

import numpy as np

TOLERANCE = {np.float16: 2e-3, np.float32: 2e-6, np.float64: 1e-13}

# L, S, block size: short last blocks, blocks longer than all keys, one key at a time, whole
# blocks, and sizes on both sides of what one matrix product and one tile take.
SIZES = [
    (5, 7, 3),
    (4, 6, 2),
    (7, 5, 1),
    (3, 4, 100),
    (1, 1, 1),
    (33, 130, 128),
    (129, 65, 32),
    (64, 64, 64),
    (70, 300, 7),
]


def drawn(*shapes, dtype=np.float64, seed=0):
    rng = np.random.default_rng(seed)
    return [rng.normal(size=shape).astype(dtype) for shape in shapes]


def peak_bytes(function, *arguments):
    """Return the most memory that NumPy held at a time during a call, and the result."""
    tracemalloc.start()
    try:
        before = tracemalloc.get_traced_memory()[0]
        result = function(*arguments)
        return tracemalloc.get_traced_memory()[1] - before, result
    finally:
        tracemalloc.stop()


def mask_of(is_causal, query, key):
    """Return the mask that shows query i the keys 0 to i, if causal."""
    return np.tri(query.shape[-2], key.shape[-2], dtype=bool) if is_causal else None
