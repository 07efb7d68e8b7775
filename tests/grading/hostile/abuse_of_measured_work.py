"""Computes every block, those in the future too, and attention with the whole matrix of scores.

The values are right; the measured memory and work are not. The two deserve nothing, the others keep
their points.
"""

LESSON = "07_flash"
DESERVES = {"tiled_attention": 0, "tiled_causal_attention": 0}
ANSWERS = {
    "tiled_attention": """
def tiled_attention(query, key, value, block_size):
    scores = query @ key.mT / math.sqrt(query.shape[-1])
    weights = np.exp(scores - scores.max(axis=-1, keepdims=True))
    return weights / weights.sum(axis=-1, keepdims=True) @ value
""",
    "tiled_causal_attention": """
def tiled_causal_attention(query, key, value, block_size):
    scores = query @ key.mT / math.sqrt(query.shape[-1])
    scores = np.where(np.tri(scores.shape[-1], dtype=bool), scores, -np.inf)
    weights = np.exp(scores - scores.max(axis=-1, keepdims=True))
    return weights / weights.sum(axis=-1, keepdims=True) @ value
""",
}
