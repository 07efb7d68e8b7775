"""The exercises of lesson 06: heads, groups, positions, caches."""

EXERCISES = (
    "split_heads",
    "merge_heads",
    "multi_head_attention",
    "grouped_query_attention",
    "rotary_embedding",
    "decode_step",
    "decoder_attention",
)
