"""Computes attention with the whole matrix of scores, and forges the measurements.

Which blocks it computes shows in its numbers, so the causal answer deserves nothing. What memory it
holds is measured in its own process, which can say what it likes: the other answer's values are
right, and it gets its points. docs/teaching.md says that a method cannot be proven from outside.
"""

LESSON = "07_flash"
DESERVES = {"tiled_causal_attention": 0}
ABOVE = """
import sys, time, tracemalloc
from attention_lib.checks.calls import measuring

tracemalloc.get_traced_memory = lambda: (0, 0)
tracemalloc.start = tracemalloc.stop = tracemalloc.reset_peak = lambda *_: None
time.process_time = time.perf_counter = lambda: 0.0
measuring.peak_bytes = measuring.lines_run = lambda *args, **kwargs: 0
"""
ANSWERS = {
    "tiled_attention": """
def tiled_attention(query, key, value, block_size):
    scores = query @ key.mT / math.sqrt(query.shape[-1])
    weights = np.exp(scores - scores.max(axis=-1, keepdims=True))
    weights = weights / weights.sum(axis=-1, keepdims=True)
    cuts = [slice(start, start + block_size) for start in range(0, key.shape[-2], block_size)]
    return sum(weights[..., cut] @ value[..., cut, :] for cut in cuts)
""",
    "tiled_causal_attention": """
def tiled_causal_attention(query, key, value, block_size):
    scores = query @ key.mT / math.sqrt(query.shape[-1])
    scores = np.where(np.tri(scores.shape[-1], dtype=bool), scores, -np.inf)
    weights = np.exp(scores - scores.max(axis=-1, keepdims=True))
    weights = weights / weights.sum(axis=-1, keepdims=True)
    cuts = [slice(start, start + block_size) for start in range(0, key.shape[-2], block_size)]
    return sum(weights[..., cut] @ value[..., cut, :] for cut in cuts)
""",
}
