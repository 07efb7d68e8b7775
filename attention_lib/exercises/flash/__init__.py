"""The exercises of the lesson on tiled attention: attention without the L × S matrix."""

EXERCISES = (
    "online_softmax_stats",
    "tiled_attention",
    "tiled_causal_attention",
    "merge_attention",
    "attention_bytes",
    "tiled_attention_backward",
)
